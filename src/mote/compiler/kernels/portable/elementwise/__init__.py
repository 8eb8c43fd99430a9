"""Element-wise kernels."""

from mote.compiler.kernels.portable.elementwise import (
    arithmetic,
    binary,
    binary_integer,
    float_math,
    fused_elementwise,
    prelu,
    quantize,
    round_to_even,
    round_to_format,
    select,
    unary,
)

KERNELS = (
    *arithmetic.KERNELS,
    *unary.KERNELS,
    *fused_elementwise.KERNELS,
    *prelu.KERNELS,
    *binary.KERNELS,
    *select.KERNELS,
    *quantize.KERNELS,
    *round_to_even.KERNELS,
    *binary_integer.KERNELS,
    *float_math.KERNELS,
    *round_to_format.KERNELS,
)
