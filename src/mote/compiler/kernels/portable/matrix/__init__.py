"""Matrix multiplication kernels, and layers of any shape with other types than int8."""

from mote.compiler.kernels.portable.matrix import (
    batch_matmul,
    blockwise,
    fully_connected,
    round_to_even,
    typed_layers,
    weights9bit,
)

KERNELS = (
    *fully_connected.KERNELS,
    *weights9bit.KERNELS,
    *batch_matmul.KERNELS,
    *blockwise.KERNELS,
    *typed_layers.KERNELS,
    *round_to_even.KERNELS,
)
