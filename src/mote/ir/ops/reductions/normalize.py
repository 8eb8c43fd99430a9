"""LOG_SOFTMAX, L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION: normalizations over the last axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import (
    INT32_MAX,
    Ints,
    high_mul,
    quantize_multiplier,
    reciprocal,
    rescale,
    rounding_shift_right,
)
from mote.ir.graph.numeric.fixedpoint16 import inverse_sqrt
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import activation_type
from mote.ir.ops.pointwise import pointwise
from mote.ir.ops.reductions.softmax import (
    INPUT_BITS,
    SUM_BITS,
    exponential_problem,
    exponential_scaling,
    exponential_sums,
    exponentials,
)

OUTPUT_BITS = 4
"""Integer bits of LOG_SOFTMAX results."""
MOST_SQUARES = ((1 << 31) - 1) // (255 * 255)
"""Maximum number of squared int8 values (minus zero point) whose sum fits int32."""
ONE_OVER_128 = 7
"""Fraction bits of L2_NORMALIZATION outputs: the scale is 1/128."""
EPSILON = 1e-6
"""Minimum norm that vectors are divided by."""


class Normalization(Op):
    """Base of operators that normalize each vector along the last axis independently."""

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        return None if flows[0].axis == len(self.input(g).shape) - 1 else pointwise(self, flows)


class LogSoftmax(Normalization):
    """LOG_SOFTMAX: logarithm of the softmax over the last axis."""

    kind = "LOG_SOFTMAX"

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if problem := activation_type(g, self):
            return problem
        if x.dtype == DType.FLOAT32:
            return None
        if (y.scale, y.zero_point) != (1 / 16, 127):
            return f"the output is {y.quant}, LiteRT wants 0.0625 * (q - 127)"
        return exponential_problem(x, 1.0)

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Accumulator bounds of the sum of exponentials, each at most 1."""
        total = self.input(g).shape[-1] << 31 - SUM_BITS
        return Peak(total, total) if inputs[0] else None

    def scaling(self, g: Graph) -> tuple[int, int, int]:
        """Multiplier and left shift from input steps to Q5.26, and the largest number of steps that fits."""
        return exponential_scaling(self.input(g), 1.0)

    def back(self, g: Graph) -> tuple[int, int]:
        """Multiplier and shift from Q5.26 to input steps."""
        mult, shift, _ = self.scaling(g)
        return quantize_multiplier((1 << 31 - min(shift, 31)) / mult)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        if x.dtype == np.float32:
            z = x.astype(np.float64)
            z = z - z.max(axis=-1, keepdims=True)
            return [(z - np.log(np.exp(z).sum(axis=-1, keepdims=True))).astype(np.float32)]
        mult, shift, radius = self.scaling(g)
        log = logarithm(exponential_sums(exponentials(x, mult, shift, radius)))
        q = x.astype(np.int64)
        below = q - q.max(axis=-1, keepdims=True)
        least = np.maximum(-radius - 1, rescale(log - INT32_MAX - 1, *self.back(g)))
        result = rounding_shift_right(rescale(below, mult, shift) - log, 31 - INPUT_BITS - OUTPUT_BITS) + 127
        return [np.where(below > least, np.clip(result, -128, 127), -128).astype(np.int8)]


LOG_2, ROOT_HALF, FOURTH_ROOT_HALF = 1488522236, 1518500250, 1805811301
"""log(2), 2^(-1/2) and 2^(-1/4) in Q0.31."""
LOG_SERIES = (117049297, 127690142, 1057819769, 638450708)
"""Coefficients of the rational approximation of the logarithm, each times a power of the fourth root of 2."""
LOG_BITS = INPUT_BITS + 1


def logarithm(x: Ints) -> Ints:
    """log(x) for x >= 1 in Q12.19, result in Q5.26, bit-exact with gemmlowp: x is reduced by a power of 2 to near the
    fourth root of 1/2, where a rational approximation is used."""
    numerator, denominator, first, last = LOG_SERIES
    quarter = 1 << 29 - LOG_BITS
    bits = 32 - _width(x)
    near = np.minimum(high_mul(_saturated(x << bits - 1), ROOT_HALF) << 1, INT32_MAX)
    power = (SUM_BITS - bits << 31 - LOG_BITS) + quarter
    other_bits = 31 - _width(high_mul(x, ROOT_HALF))
    other = _saturated(x << other_bits)
    other_power = (SUM_BITS - other_bits << 31 - LOG_BITS) - quarter
    r, power = np.minimum(near, other), np.maximum(power, other_power)
    p, q = r + FOURTH_ROOT_HALF + 1 >> 1, 2 * (r - FOURTH_ROOT_HALF)
    square = high_mul(q, q)
    above = high_mul(q, r) + high_mul(high_mul(q, square), numerator)
    below = high_mul(p, first + q + high_mul(square, denominator)) + high_mul(q, last)
    quotient = high_mul(rounding_shift_right(above, LOG_BITS), reciprocal(below + INT32_MAX + 1))
    return _saturated(high_mul(power, LOG_2) + quotient << 1)


def _width(x: Ints) -> Ints:
    """Bit length of positive integers."""
    return np.frexp(np.asarray(x, np.float64))[1].astype(np.int64)


def _saturated(x: Ints) -> Ints:
    return np.minimum(x, INT32_MAX)


class L2Normalization(Normalization):
    """L2_NORMALIZATION: scales each vector along the last axis to length 1."""

    kind = "L2_NORMALIZATION"

    def work(self, g: Graph) -> int:
        """Estimated cost in multiplications: int8 norms are inverted one by one."""
        shape = self.input(g).shape
        return prod(shape) + 1000 * prod(shape[:-1])

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if problem := activation_type(g, self):
            return problem
        if x.dtype == DType.FLOAT32:
            return None
        if (y.scale, y.zero_point) != (1 / 128, 0):
            return f"the output is {y.quant}, LiteRT wants 0.0078125 * (q - 0)"
        return f"vectors of more than {MOST_SQUARES} elements are not supported" if x.shape[-1] > MOST_SQUARES else None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        if inputs[0] is None:
            return None
        total = self.input(g).shape[-1] * inputs[0].max_distance(self.input(g).zero_point) ** 2
        return Peak(total, total)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        if x.dtype == np.float32:
            z = x.astype(np.float64)
            length = np.sqrt(np.square(z).sum(axis=-1, keepdims=True))
            return [(z / np.maximum(length, EPSILON)).astype(np.float32)]
        q = x.astype(np.int64) - self.input(g).zero_point
        squares = np.square(q).sum(axis=-1, keepdims=True)
        distinct, inverse = np.unique(squares, return_inverse=True)
        mult, shift = np.array([inverse_sqrt(int(s)) for s in distinct], np.int64).T
        inverse, before = inverse.reshape(squares.shape), self.before(g)
        scaled = rescale(q << before, mult[inverse], shift[inverse] + ONE_OVER_128 - before)
        return [np.clip(scaled, -128, 127).astype(np.int8)]

    def before(self, g: Graph) -> int:
        """Left shift of inputs before they are multiplied: all fraction bits of the output for uint8, none for int8, as
        in LiteRT."""
        quant = self.input(g).quant
        return ONE_OVER_128 if quant is not None and quant.unsigned else 0


class LocalResponseNormalization(Normalization):
    """LOCAL_RESPONSE_NORMALIZATION: x * (bias + alpha * sum of squares) ^ -beta, summed over the channels from `radius`
    before to `radius` - 1 after the element's own."""

    radius: int
    bias: float
    alpha: float
    beta: float
    kind = "LOCAL_RESPONSE_NORMALIZATION"

    def unsupported(self, g: Graph) -> str | None:
        return activation_type(g, self, dtypes=(DType.FLOAT32,))

    def work(self, g: Graph) -> int:
        return self.input(g).size * (2 + 2 * min(self.radius, self.input(g).channels))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        z, depth = x.astype(np.float64), x.shape[-1]
        sums = np.concatenate([np.zeros((*z.shape[:-1], 1)), np.cumsum(np.square(z), axis=-1)], axis=-1)
        at = np.arange(depth, dtype=np.int64)
        begin, end = np.maximum(at - self.radius, 0), np.minimum(at + self.radius, depth)
        squares = np.where(end > begin, sums[..., end] - sums[..., np.minimum(begin, end)], 0.0)
        with np.errstate(all="ignore"):
            return [(z * np.power(self.bias + self.alpha * squares, -self.beta)).astype(np.float32)]
