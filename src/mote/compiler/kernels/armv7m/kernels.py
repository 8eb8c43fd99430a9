"""Kernels for cores with Thumb-2, 64-bit products and no DSP instructions (Cortex-M3)."""

from mote.compiler.kernels.swar import gemm, lists, vector

KERNELS = (
    *gemm.kernels(gemm.LONG, "armv7m"),
    *lists.kernels(gemm.LONG, "armv7m"),
    *vector.kernels(gemm.LONG, "armv7m"),
)
