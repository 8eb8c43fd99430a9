"""Element-wise operators: arithmetic, activations, comparisons, conversions of types."""
