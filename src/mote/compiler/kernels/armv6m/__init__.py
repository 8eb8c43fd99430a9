"""Kernels for cores with 16-bit Thumb instructions, few registers and 32-bit products (Cortex-M0, M0+, M23)."""
