"""Kernels for cores with 16-bit Thumb instructions, few registers and 32-bit products (Cortex-M0, M0+, M23)."""

from mote.compiler.kernels.swar import gemm, lists, vector

KERNELS = (
    *gemm.kernels(gemm.SHORT_PRODUCT, "armv6m"),
    *lists.kernels(gemm.SHORT_PRODUCT, "armv6m"),
    *vector.kernels(gemm.SHORT_PRODUCT, "armv6m"),
)
