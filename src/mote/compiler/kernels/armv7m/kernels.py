"""Kernels for cores with Thumb-2, 64-bit products and no DSP instructions (Cortex-M3)."""

from mote.compiler.kernels.pack.transposed import transposed
from mote.compiler.kernels.swar import gemm, lists, vector

GEMM = gemm.kernels(gemm.LONG, "armv7m")
KERNELS = (
    *GEMM,
    transposed(GEMM, "armv7m", frozenset({"armv7m"})),
    *lists.kernels(gemm.LONG, "armv7m"),
    *vector.kernels(gemm.LONG, "armv7m"),
)
