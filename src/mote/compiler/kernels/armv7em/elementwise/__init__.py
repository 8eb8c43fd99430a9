"""Element-wise kernels for Armv7E-M DSP cores, and kernels along the last axis."""
