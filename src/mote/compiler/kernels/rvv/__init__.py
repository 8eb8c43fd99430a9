"""Kernels for RISC-V cores with integer vectors (Zve32x) of at least 128 bits."""
