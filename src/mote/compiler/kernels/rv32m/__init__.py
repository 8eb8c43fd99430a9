"""Kernels for RISC-V cores with the M extension (multiplication)."""
