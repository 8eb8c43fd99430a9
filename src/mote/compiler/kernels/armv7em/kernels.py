"""Kernels for cores with the Armv7E-M DSP instructions (Cortex-M4, M7, M33, M55); their headers have portable C that
computes the same."""

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.armv7em.depthwise import (
    depthwise_column,
    depthwise_gemm,
    depthwise_nhwc,
    depthwise_planar,
    depthwise_time,
)
from mote.compiler.kernels.armv7em.elementwise import arithmetic, lines
from mote.compiler.kernels.armv7em.elementwise import pairs as pairs_simd
from mote.compiler.kernels.armv7em.gemm import gemm3, gemm4x2, gemm_add, grouped4x2, matmul_pairs, winograd
from mote.compiler.kernels.armv7em.int16 import conv4x2, depthwise4x2, fully_connected8
from mote.compiler.kernels.armv7em.training import learned_convs, pairs, planar_masks
from mote.compiler.kernels.armv7em.vector import recurrent, vector4, vector6, vector8, vector_nibbles
from mote.compiler.kernels.pack.affine_layers import affines
from mote.compiler.kernels.pack.requantize.patch import patched
from mote.compiler.kernels.pack.transposed import transposed
from mote.compiler.kernels.portable.windows.nibbles_conv import nibbles

MVE = frozenset({"mve"})
LAYERS = (*gemm4x2.KERNELS, *gemm3.KERNELS, *vector4.KERNELS, *depthwise_planar.KERNELS)
KERNELS = (
    *gemm4x2.FPU_KERNELS,
    *gemm4x2.KERNELS,
    *gemm4x2.SHORT_KERNELS,
    *gemm3.KERNELS,
    *depthwise_gemm.KERNELS,
    *gemm_add.KERNELS,
    *grouped4x2.KERNELS,
    transposed((*gemm4x2.FPU_KERNELS, *gemm4x2.KERNELS, *gemm3.KERNELS), "fpu", DSP | {"fpu"}, MVE),
    transposed((*gemm4x2.KERNELS, *gemm3.KERNELS), "dsp", DSP, MVE | {"fpu"}),
    *winograd.KERNELS,
    *vector6.KERNELS,
    *vector8.KERNELS,
    *vector4.KERNELS,
    *depthwise_planar.KERNELS,
    *depthwise_nhwc.KERNELS,
    *depthwise_time.KERNELS,
    *depthwise_column.KERNELS,
    *arithmetic.KERNELS,
    *pairs_simd.KERNELS,
    *lines.KERNELS,
    *matmul_pairs.KERNELS,
    *learned_convs.KERNELS,
    *pairs.KERNELS,
    *planar_masks.KERNELS,
    *recurrent.KERNELS,
    *vector_nibbles.KERNELS,
    *conv4x2.KERNELS,
    *depthwise4x2.KERNELS,
    *fully_connected8.KERNELS,
    *gemm3.CODED,
    *(entry for kernel in gemm4x2.KERNELS if kernel.name.endswith("_pair") for entry in nibbles(kernel)),
    *(patched(kernel) for kernel in LAYERS if "sparse" not in kernel.name),
    *affines(*LAYERS),
)
