"""Kernels for cores with 16-bit Thumb instructions, few registers and 32-bit products (Cortex-M0, M0+, M23)."""

from mote.compiler.kernels.pack.transposed import transposed
from mote.compiler.kernels.swar import gemm, lists, vector

GEMM = gemm.kernels(gemm.SHORT_PRODUCT, "armv6m")
KERNELS = (
    *GEMM,
    transposed(GEMM, "armv6m", frozenset({"armv6m"})),
    *lists.kernels(gemm.SHORT_PRODUCT, "armv6m"),
    *vector.kernels(gemm.SHORT_PRODUCT, "armv6m"),
)
