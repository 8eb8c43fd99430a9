"""Kernels for cores with Helium (MVE), the vector extension of Armv8.1-M (Cortex-M55, M85); their headers have portable
C that computes the same."""

from mote.compiler.kernels.helium import arithmetic, moves
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.helium.depthwise import depthwise_channels, depthwise_taps, pool
from mote.compiler.kernels.helium.elementwise import functions, pairs
from mote.compiler.kernels.helium.gemm import gemm4, grouped4, matmul_vectors
from mote.compiler.kernels.helium.half import layers as half_layers
from mote.compiler.kernels.helium.int16 import blocks, fully_connected8
from mote.compiler.kernels.helium.training import learned_gemm4, terms
from mote.compiler.kernels.helium.vector import recurrent, vector8, vector_nibbles
from mote.compiler.kernels.helium.windows import pool as pool_vectors
from mote.compiler.kernels.helium.windows import resize
from mote.compiler.kernels.pack.affine_layers import affines
from mote.compiler.kernels.pack.requantize.patch import patched
from mote.compiler.kernels.pack.transposed import transposed

LAYERS = (*vector8.KERNELS, *gemm4.KERNELS, *depthwise_taps.KERNELS)
KERNELS = (
    *LAYERS,
    *matmul_vectors.KERNELS,
    *arithmetic.KERNELS,
    *pairs.KERNELS,
    *functions.KERNELS,
    *moves.KERNELS,
    *resize.KERNELS,
    *pool_vectors.KERNELS,
    *pool.KERNELS,
    *depthwise_channels.KERNELS,
    *blocks.KERNELS,
    *fully_connected8.KERNELS,
    *vector_nibbles.KERNELS,
    *recurrent.KERNELS,
    *grouped4.KERNELS,
    transposed(gemm4.KERNELS, "helium", HELIUM),
    *half_layers.KERNELS,
    *learned_gemm4.KERNELS,
    *terms.KERNELS,
    *map(patched, LAYERS),
    *affines(*LAYERS),
)
