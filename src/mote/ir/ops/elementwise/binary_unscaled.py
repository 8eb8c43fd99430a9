"""Element-wise binary operators on stored values that ignore scales and zero points, as in LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.ranges import Range
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import Binary
from mote.ir.ops.pointwise import rising

BITS = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.INT32})
CLOSE = np.float32(1e-5)
"""Distance from an integer below which LiteRT rounds an exponent to it."""


class BinaryUnscaled(Binary):
    """Base of binary operators on stored values. A subclass implements `of`: the function of two arrays."""

    quantized: ClassVar[frozenset[DType]] = frozenset()

    def of(self, a: Array, b: Array) -> Array:
        raise NotImplementedError

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        with np.errstate(all="ignore"):
            return [np.asarray(self.of(a, b)).astype(self.output(g).dtype.numpy)]


class BinaryExtreme(BinaryUnscaled):
    """Base of MAXIMUM and MINIMUM."""

    types: ClassVar[frozenset[DType]] = frozenset(
        {DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32}
    )

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)


class Maximum(BinaryExtreme):
    """MAXIMUM: a where a > b, else b (so NaN in a gives b, NaN in b gives NaN)."""

    kind = "MAXIMUM"

    def of(self, a: Array, b: Array) -> Array:
        return np.where(a > b, a, b)


class Minimum(BinaryExtreme):
    """MINIMUM: a where a < b, else b (so NaN in a gives b, NaN in b gives NaN)."""

    kind = "MINIMUM"

    def of(self, a: Array, b: Array) -> Array:
        return np.where(a < b, a, b)


class Pow(BinaryUnscaled):
    """POW: a to the power of b. Integers wrap, as LiteRT's do for a scalar b. Negative integer exponents, which LiteRT
    rejects, give 0."""

    types: ClassVar[frozenset[DType]] = frozenset({DType.INT32, DType.FLOAT32})
    kind = "POW"

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        b = self.input(g, 1)
        if b.dtype == DType.INT32 and b.data is not None and b.data.min(initial=0) < 0:
            return "a negative exponent of integers, which LiteRT does not take"
        return None

    def misjudged(self, g: Graph) -> str | None:
        whole = self.input(g).dtype == DType.INT32
        return "LiteRT stops at negative exponents, and what becomes of large powers is undefined" if whole else None

    def rounds(self, g: Graph) -> bool:
        """Whether LiteRT rounds a nearly integral exponent: only where it is a broadcast scalar."""
        return self.input(g, 1).size == 1 and self.input(g).shape != self.input(g, 1).shape

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        whole = np.round(b)
        nearly = self.rounds(g) & (np.abs(b - whole) < CLOSE) & (whole >= 1)
        with np.errstate(all="ignore"):
            if a.dtype == np.int32:
                return [_whole_power(a, b)]
            return [np.power(a, np.where(nearly, whole, b).astype(np.float32)).astype(np.float32)]


def _whole_power(a: Array, b: Array) -> Array:
    """Power by repeated squaring in wrapping 32-bit arithmetic."""
    base, left = (v.astype(np.uint32) for v in np.broadcast_arrays(a, np.maximum(b, 0)))
    result = np.ones_like(base)
    while left.any():
        result = np.where(left & 1, result * base, result)
        base, left = base * base, left >> np.uint32(1)
    return np.where(b < 0, 0, result.astype(np.int32)).astype(np.int32)


class Atan2(BinaryUnscaled):
    """ATAN2: the angle of the point (x=b, y=a)."""

    types: ClassVar[frozenset[DType]] = frozenset({DType.FLOAT32})
    kind = "ATAN2"

    def unsupported(self, g: Graph) -> str | None:
        a, b = self.input(g), self.input(g, 1)
        if a.shape != b.shape:
            return f"inputs of the shapes {a.shape} and {b.shape}: LiteRT does not broadcast ATAN2"
        return super().unsupported(g)

    def of(self, a: Array, b: Array) -> Array:
        return np.arctan2(a, b)


class BitwiseXor(BinaryUnscaled):
    types: ClassVar[frozenset[DType]] = BITS
    kind = "BITWISE_XOR"

    def of(self, a: Array, b: Array) -> Array:
        return np.bitwise_xor(a, b)


class RightShift(BinaryUnscaled):
    """RIGHT_SHIFT: arithmetic shift of a by b bits, with b clamped to 0 .. width - 1."""

    types: ClassVar[frozenset[DType]] = BITS
    kind = "RIGHT_SHIFT"

    def of(self, a: Array, b: Array) -> Array:
        places: Array = np.clip(b, 0, 8 * a.dtype.itemsize - 1).astype(a.dtype)
        return np.asarray(np.right_shift(a, places))


class LogicalAnd(BinaryUnscaled):
    types: ClassVar[frozenset[DType]] = frozenset({DType.BOOL})
    kind = "LOGICAL_AND"

    def of(self, a: Array, b: Array) -> Array:
        return np.logical_and(a, b)


class LogicalOr(BinaryUnscaled):
    types: ClassVar[frozenset[DType]] = frozenset({DType.BOOL})
    kind = "LOGICAL_OR"

    def of(self, a: Array, b: Array) -> Array:
        return np.logical_or(a, b)
