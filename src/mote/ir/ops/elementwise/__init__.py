"""Element-wise operators: arithmetic, activations, comparisons, type conversions."""
