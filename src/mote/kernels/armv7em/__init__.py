"""Kernels for cores with the Armv7E-M DSP instructions (Cortex-M4, M7, M33, M55), with portable twins in their C."""

from mote.kernels.armv7em import (
    arithmetic,
    depthwise_column,
    depthwise_gemm,
    depthwise_planar,
    depthwise_time,
    gemm,
    gemm4x2,
    gemm_add,
    lines,
    recurrent,
    vector,
    vector8,
    winograd,
)
from mote.kernels.pack.affine_layers import affines
from mote.kernels.pack.patch import patched

PATCHED = tuple(
    patched(kernel)
    for kernel in (*gemm4x2.KERNELS, *gemm.KERNELS, *vector.KERNELS, *depthwise_planar.KERNELS)
    if "sparse" not in kernel.name
)
AFFINE = affines(*gemm4x2.KERNELS, *gemm.KERNELS, *vector.KERNELS, *depthwise_planar.KERNELS)
KERNELS = (
    *gemm4x2.KERNELS,
    *gemm4x2.SHORT_KERNELS,
    *gemm.KERNELS,
    *depthwise_gemm.KERNELS,
    *gemm_add.KERNELS,
    *winograd.KERNELS,
    *vector8.KERNELS,
    *vector.KERNELS,
    *depthwise_planar.KERNELS,
    *depthwise_time.KERNELS,
    *depthwise_column.KERNELS,
    *arithmetic.KERNELS,
    *lines.KERNELS,
    *recurrent.KERNELS,
    *gemm.CODED,
    *PATCHED,
    *AFFINE,
)
