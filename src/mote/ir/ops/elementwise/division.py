"""DIV, FLOOR_DIV and FLOOR_MOD. Integer division by zero, at which LiteRT stops, gives zero."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mote.ir.graph import Graph, Tensor
from mote.ir.graph.numeric.fixedpoint import Ints, high_mul, quantize_multiplier, reciprocal, rounding_shift_right
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import Arithmetic, finish
from mote.ir.ops.elementwise.binary_unscaled import BinaryUnscaled
from mote.ir.ops.signs import positive

DEFINED = {DType.INT8: (7, 23), DType.INT16: (15, 16)}
"""Smallest and largest shift of the output multiplier for which LiteRT's right shifts of quotients are all in 0..31;
others are undefined."""


def zero_problem(divisor: Array | None, zero: int = 0) -> str | None:
    """Why a constant divisor is not supported (it contains zero), or None."""
    return "division by a constant zero" if divisor is not None and np.any(divisor == zero) else None


def zero_divisor_risk(divisor: Tensor) -> str | None:
    """Why LiteRT may stop at a computed divisor (it may be zero), or None."""
    return None if divisor.data is not None else "LiteRT stops where it divides by zero"


def minus_one_risk(divisor: Tensor) -> str | None:
    """Why LiteRT may crash on a divisor: the smallest integer divided by -1 overflows. None if it cannot."""
    known = divisor.data is None or divisor.dtype == DType.FLOAT32 or not np.any(divisor.data == -1)
    return None if known else "LiteRT may crash where it divides by -1"


class Div(Arithmetic):
    """DIV. Quantized: the numerator, normalized to 32 bits, times the divisor's reciprocal, rescaled. Unquantized
    integers: rounded towards zero."""

    types: ClassVar[frozenset[DType]] = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32})
    kind = "DIV"

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        b = self.input(g, 1)
        return zero_problem(b.data, b.zero_point) if b.dtype != DType.FLOAT32 else None

    def scales_problem(self, g: Graph) -> str | None:
        return None

    def misjudged(self, g: Graph) -> str | None:
        y = self.output(g)
        if y.dtype in DEFINED and not DEFINED[y.dtype][0] <= self.multiplier(g)[1] <= DEFINED[y.dtype][1]:
            return f"LiteRT's {y.dtype} quotients with these scales are undefined"
        safe = y.dtype == DType.FLOAT32 or positive(g, self.input(g, 1))
        return None if safe else zero_divisor_risk(self.input(g, 1))

    def multiplier(self, g: Graph) -> tuple[int, int]:
        a, b, y = (np.float32(t.scale) for t in (self.input(g), self.input(g, 1), self.output(g)))
        return quantize_multiplier(float(a / (b * y)))

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        a, b = np.broadcast_arrays(a - self.input(g).zero_point, b - self.input(g, 1).zero_point)
        a, b = np.where(b < 0, -a, a), np.abs(b)
        spare = _leading_zeros(b)
        inverse = reciprocal(np.where(b == 0, 1 << 31, b << spare))
        room = np.where(a >= 0, _leading_zeros(a) - 1, _leading_zeros(2 * -a - 1))
        mult, shift = self.multiplier(g)
        right = np.maximum(room + 31 - spare - shift, 0)
        scaled = high_mul(high_mul(a << room, inverse), mult)
        rounded = np.where(right > 31, 0, rounding_shift_right(scaled, np.minimum(right, 31)))
        return finish(np.where(b == 0, 0, rounded), self.activation, self.output(g))

    def real(self, a: Array, b: Array) -> Array:
        if a.dtype == np.float32:
            return np.divide(a, b)
        wide, by = a.astype(np.int64), np.where(b == 0, 1, b).astype(np.int64)
        towards_zero = np.sign(wide) * np.sign(by) * (np.abs(wide) // np.abs(by))
        return np.where(b == 0, 0, np.minimum(towards_zero, np.iinfo(a.dtype).max))


def _leading_zeros(x: Ints) -> Ints:
    """Number of leading zeros of the 32-bit representation, for x in 0 .. 2^32 - 1."""
    return 32 - np.frexp(np.maximum(x, 0).astype(np.float64))[1].astype(np.int64)


class FloorDiv(BinaryUnscaled):
    """FLOOR_DIV: the quotient, rounded down. LiteRT divides all types in double precision."""

    types: ClassVar[frozenset[DType]] = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32})
    kind = "FLOOR_DIV"

    def unsupported(self, g: Graph) -> str | None:
        return super().unsupported(g) or zero_problem(self.input(g, 1).data)

    def misjudged(self, g: Graph) -> str | None:
        return zero_divisor_risk(self.input(g, 1)) or minus_one_risk(self.input(g, 1))

    def of(self, a: Array, b: Array) -> Array:
        if a.dtype == np.float32:
            return np.floor(a.astype(np.float64) / b.astype(np.float64))
        return np.where(b == 0, 0, a.astype(np.int64) // np.where(b == 0, 1, b).astype(np.int64))


class FloorMod(BinaryUnscaled):
    """FLOOR_MOD: the remainder of FLOOR_DIV, with the sign of b."""

    types: ClassVar[frozenset[DType]] = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32})
    kind = "FLOOR_MOD"

    def unsupported(self, g: Graph) -> str | None:
        b = self.input(g, 1)
        return super().unsupported(g) or (zero_problem(b.data) if b.dtype != DType.FLOAT32 else None)

    def misjudged(self, g: Graph) -> str | None:
        b = self.input(g, 1)
        return minus_one_risk(b) or (zero_divisor_risk(b) if b.dtype != DType.FLOAT32 else None)

    def of(self, a: Array, b: Array) -> Array:
        if a.dtype == np.float32:
            rest = np.fmod(a, b)
            return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)
        return np.where((b == 0) | (b == -1), 0, np.mod(a, np.where((b == 0) | (b == -1), 1, b)))
