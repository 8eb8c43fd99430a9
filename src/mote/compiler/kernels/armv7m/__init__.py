"""Kernels for cores with Thumb-2 and 64-bit products but without DSP instructions (Cortex-M3)."""

from mote.compiler.kernels.swar import gemm, lists, vector

KERNELS = (
    *gemm.kernels(gemm.LONG, "armv7m"),
    *lists.kernels(gemm.LONG, "armv7m"),
    *vector.kernels(gemm.LONG, "armv7m"),
)
