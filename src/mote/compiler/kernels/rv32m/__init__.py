"""Kernels for RISC-V with the M extension."""
