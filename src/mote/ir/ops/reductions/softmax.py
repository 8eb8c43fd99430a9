"""SOFTMAX over the last axis.

LiteRT's int8 reference uses fixed point (gemmlowp's exp and reciprocal), its int16 one two lookup tables of 512
segments. "Q5.26" has 5 integer bits and 26 fraction bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import (
    INT32_MAX,
    Ints,
    exp_on_negative,
    high_mul,
    quantize_multiplier,
    reciprocal,
    rescale,
    rounding_shift_right,
    wrap32,
)
from mote.ir.graph.numeric.fixedpoint16 import interpolate, line_ends, saturate16
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import scale_problem
from mote.ir.ops.pointwise import pointwise
from mote.ir.ops.reductions.reduce import quantization_problem

INPUT_BITS = 5
"""Integer bits of the argument of exp."""

SUM_BITS = 12
"""Integer bits of the sum of exponentials."""

MAX_DEPTH = (1 << SUM_BITS) - 1
MAX_DEPTH16 = (1 << 16) - 1
"""Maximum number of int16 exponentials whose sum fits 32 bits."""

FROM_ZERO = 10.0
"""Range of the int16 exp table: exp(x) is 0 below -10."""
SYMMETRIC = 2.0 / 65535, 0
"""Scale and zero point of table results in -1..1."""
EXP_LINES = line_ends(np.exp, (FROM_ZERO / 65535, 32767), SYMMETRIC, np.float64)
RECIPROCAL_LINES = line_ends(lambda x: 1.0 / (1.0 + x), (1.0 / 65535, -32768), SYMMETRIC, np.float64)
"""Interpolation tables for arguments from -10 to 0 (exp) and from 0 to 1 (1 / (1 + x)), in Q0.15."""

TYPES = {
    (DType.INT8, DType.INT8),
    (DType.INT8, DType.INT16),
    (DType.INT16, DType.INT16),
    (DType.FLOAT32, DType.FLOAT32),
}


class Softmax(Op):
    """SOFTMAX: exp(beta * x) / sum of exp(beta * x) over the last axis."""

    beta: float = 1.0
    kind = "SOFTMAX"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        return None if flows[0].axis == len(self.input(g).shape) - 1 else pointwise(self, flows)

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if (x.dtype, y.dtype) not in TYPES:
            return f"{x.dtype} input with {y.dtype} output is not supported"
        if x.dtype == DType.FLOAT32:
            return None
        if x.dtype == DType.INT16:
            return self._int16_problem(x, y)
        if problem := quantization_problem(x, y if y.dtype == DType.INT8 else x):
            return problem
        if y.dtype == DType.INT8 and (y.zero_point != -128 or abs(y.scale * 256 - 1) > 0.001):
            return f"the output is {y.quant}, LiteRT wants 0.00390625 * (q - -128)"
        return exponential_problem(x, self.beta)

    def _int16_problem(self, x: Tensor, y: Tensor) -> str | None:
        if problem := quantization_problem(x, y):
            return problem
        if abs(y.scale * 32768 - 1) > 0.001:
            return f"the output's scale is {y.scale:g}, LiteRT wants 1/32768"
        if x.shape[-1] > MAX_DEPTH16:
            return f"more than {MAX_DEPTH16} classes are not supported"
        return scale_problem(self.scaling16(x))

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Accumulator bounds of the sum of exponentials, each at most 1."""
        total = self.input(g).shape[-1] << 31 - SUM_BITS
        return Peak(total, total) if inputs[0] else None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x = values[0]
        assert x is not None
        if x.dtype == np.float32:
            z = x.astype(np.float64)
            e = np.exp((z - z.max(axis=-1, keepdims=True)) * np.float32(self.beta))
            return [(e / e.sum(axis=-1, keepdims=True)).astype(np.float32)]
        if x.dtype == np.int16:
            return [self._tables(g, x.astype(np.int64)).astype(np.int16)]
        e = exponentials(x, *self.scaling(g))
        total = exponential_sums(e)
        bits = np.frexp(total.astype(np.float64))[1]
        scaled = high_mul(reciprocal(total << (32 - bits)), e)
        low, high = self.output(g).dtype.limits
        share = rounding_shift_right(scaled, bits + SUM_BITS - 1 - (high - low).bit_length())
        return [np.clip(share + low, low, high).astype(self.output(g).dtype.numpy)]

    def _tables(self, g: Graph, q: Ints) -> Ints:
        """Softmax of int16 values, by interpolation in two lookup tables."""
        below = rescale(q - q.max(axis=-1, keepdims=True), *self.scaling16(self.input(g)))
        e = interpolate(saturate16(wrap32(below + 32767)), EXP_LINES)
        total = e.sum(axis=-1, keepdims=True)
        bits = np.frexp(total.astype(np.float64))[1]
        above_one = ((total << (31 - bits)) + (1 << 13) >> 14) - (1 << 15) - (1 << 16)
        scaled = e * interpolate(saturate16(above_one), RECIPROCAL_LINES)
        table: Ints = np.clip(scaled + (1 << bits - 2) >> bits - 1, 0, 32767)
        return table

    def scaling(self, g: Graph) -> tuple[int, int, int]:
        """Multiplier and left shift from input steps to Q5.26, and the largest number of steps that fits."""
        return exponential_scaling(self.input(g), self.beta)

    def scaling16(self, x: Tensor) -> tuple[int, int]:
        """Multiplier and shift from int16 input steps to those of the exp table."""
        return quantize_multiplier(float(np.float32(x.scale) * np.float32(self.beta)) / (FROM_ZERO / 65535))


def exponential_problem(x: Tensor, beta: float) -> str | None:
    """Why the sum of exponentials along the last axis is not supported (scale too small, too many classes), or None."""
    if beta * x.scale * (1 << 31 - INPUT_BITS) <= 1:
        return f"beta {beta:g} is too small for the input's scale {x.scale:g}"
    return f"more than {MAX_DEPTH} classes are not supported" if x.shape[-1] > MAX_DEPTH else None


def exponential_scaling(x: Tensor, beta: float) -> tuple[int, int, int]:
    """Multiplier and left shift from steps of an int8 tensor to Q5.26, and the largest number of steps that fits."""
    mult, shift = quantize_multiplier(min(beta * x.scale * (1 << 31 - INPUT_BITS), INT32_MAX))
    return mult, shift, min(((1 << INPUT_BITS) - 1 << 31 - INPUT_BITS) >> shift, 255)


def exponentials(x: Array, mult: int, shift: int, radius: int) -> Ints:
    """exp(x - max) over the last axis in Q0.31, for int8 x; 0 more than `radius` steps below the maximum."""
    q = x.astype(np.int64)
    below = q.max(axis=-1, keepdims=True) - q
    return np.where(below <= radius, exp_on_negative(rescale(-below, mult, shift), INPUT_BITS), 0)


def exponential_sums(e: Ints) -> Ints:
    """Sums of exponentials along the last axis, in Q12.19."""
    return np.asarray(rounding_shift_right(e, SUM_BITS).sum(axis=-1, keepdims=True))
