"""The anomaly score of an autoencoder: the mean squared difference between its input and its output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import quantization_problem

CODES = (DType.INT8, DType.UINT8, DType.INT16)
PRODUCT_BITS = 29
"""Maximum bits of a code times its multiplier: the difference of two such products fits int32."""
SUM_BITS = 63
SCORE_BITS = 31


@dataclass(frozen=True)
class Arithmetic:
    """Integer arithmetic of an anomaly score. The difference of an element is (output * output_factor - input *
    input_factor) / 2^narrow, both minus their zero points; the score is the sum of squared differences / 2^shift.
    Divisions round halves up."""

    output_factor: int
    input_factor: int
    narrow: int
    shift: int
    scale: Fraction
    """Scale of the integer anomaly score."""

    @staticmethod
    def between(output: Tensor, reference: Tensor) -> Arithmetic:
        """The arithmetic for an output and an input of equal size. The ratio of the factors is the best fraction for
        the ratio of the scales; both are 0 if the scales are too far apart."""
        tensors = output, reference
        codes = tuple(max(t.dtype.limits[1] - t.zero_point, t.zero_point - t.dtype.limits[0]) for t in tensors)
        most = tuple((1 << PRODUCT_BITS) >> code.bit_length() for code in codes)
        ratio = Fraction(output.scale) / Fraction(reference.scale)
        limit = min(most[1], int(most[0] / ratio))
        nearest = ratio.limit_denominator(limit) if limit else Fraction(0)
        if not nearest:
            return Arithmetic(0, 0, 0, 0, Fraction(1))
        factors = nearest.numerator, nearest.denominator
        unit = Fraction(reference.scale) / nearest.denominator
        largest = sum(code * factor for code, factor in zip(codes, factors, strict=True))
        room = isqrt(((1 << SUM_BITS) - 1) // output.size)
        narrow = next(bits for bits in range(32) if (largest >> bits) + 1 <= room)
        squares = output.size * ((largest >> narrow) + 1) ** 2
        shift = next(bits for bits in range(SUM_BITS) if (squares >> bits) + 1 < 1 << SCORE_BITS)
        scale = (unit * (1 << narrow)) ** 2 * (1 << shift) / output.size
        return Arithmetic(factors[0], factors[1], narrow, shift, scale)


class AnomalyScore(Op):
    """AnomalyScore: mean squared difference between a model's output (input 0) and its input (input 1). For quantized
    tensors an int32 with the scale of `arithmetic`, for float tensors a float."""

    kind = "AnomalyScore"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1,)]

    def unsupported(self, g: Graph) -> str | None:
        return compared_problem(self.input(g), self.input(g, 1))

    def arithmetic(self, g: Graph) -> Arithmetic:
        return Arithmetic.between(self.input(g), self.input(g, 1))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        y, x = values
        assert y is not None and x is not None
        if y.dtype == np.float32:
            squares = np.square(y.reshape(-1) - x.reshape(-1))
            return [np.cumsum(squares)[-1:] * np.float32(1 / y.size)]
        how = self.arithmetic(g)
        output, reference = (
            v.reshape(-1).astype(np.int64) - t.zero_point for v, t in ((y, self.input(g)), (x, self.input(g, 1)))
        )
        differences = shifted(output * how.output_factor - reference * how.input_factor, how.narrow)
        return [shifted(np.array([np.square(differences).sum()]), how.shift)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        y, x = values
        assert y is not None and x is not None
        return [np.array([np.square(y.reshape(-1) + x.reshape(-1)).mean()], np.float32)]


def compared_problem(y: Tensor, x: Tensor) -> str | None:
    """Why an anomaly score of a model's output and input is not supported, or None."""
    if y.size != x.size:
        return f"the model's output has {y.size} elements, its input {x.size}: it does not reconstruct its input"
    if y.dtype == x.dtype == DType.FLOAT32:
        return None
    if y.dtype not in CODES or x.dtype not in CODES:
        return f"{x.dtype} input with {y.dtype} output is not supported (both float32, or {', '.join(CODES)})"
    if (problem := _problem(y) or _problem(x)) is not None:
        return problem
    if not Arithmetic.between(y, x).input_factor:
        return f"the scales of output and input, {y.scale:g} and {x.scale:g}, are too far apart"
    return None


def _problem(t: Tensor) -> str | None:
    low, high = t.dtype.limits
    if (problem := quantization_problem(t)) is not None or low <= t.zero_point <= high:
        return problem
    return f"the zero point of {t.dtype} tensor '{t.name}' is {t.zero_point}, which it cannot hold"


def shifted(x: Array, bits: int) -> Array:
    """x / 2^bits, rounded halves up."""
    return (x + (1 << bits >> 1)) >> bits
