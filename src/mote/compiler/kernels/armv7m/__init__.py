"""Kernels for cores with Thumb-2, products of 64 bits and no DSP instructions (Cortex-M3)."""
