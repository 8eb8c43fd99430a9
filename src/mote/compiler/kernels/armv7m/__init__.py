"""Kernels for cores with Thumb-2, 64-bit products and no DSP instructions (Cortex-M3)."""
