"""Integer arithmetic of kernels, in Python: fixed-point multiplication, thresholds of requantization, binary heaps."""
