"""Kernels for cores with 16-bit instructions, few registers and products of 32 bits (Cortex-M0, M0+, M23)."""
