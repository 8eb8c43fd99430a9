"""Kernels for cores with Helium, the vectors of Armv8.1-M (Cortex-M55, M85), with portable twins in their C."""

from mote.kernels.helium import arithmetic, depthwise, gemm, pool, vector
from mote.kernels.pack.affine_layers import affines
from mote.kernels.pack.patch import patched

PATCHED = tuple(patched(k) for k in (*vector.KERNELS, *gemm.KERNELS, *depthwise.KERNELS))
AFFINE = affines(*vector.KERNELS, *gemm.KERNELS, *depthwise.KERNELS)
KERNELS = (*vector.KERNELS, *gemm.KERNELS, *depthwise.KERNELS, *arithmetic.KERNELS, *pool.KERNELS, *PATCHED, *AFFINE)
