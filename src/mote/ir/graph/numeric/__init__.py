"""Integer arithmetic of kernels, in Python: fixed-point multiplication, staircases, heaps."""
