"""Element-wise kernels, and those along the last axis."""
