"""Element-wise binary operators on unquantized integers (8 to 64 bits, signed and unsigned). Overflow wraps, and no
case is undefined. LiteRT has few of these, other formats have all."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum, auto
from typing import ClassVar

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import type_problem
from mote.ir.ops.elementwise.binary_unscaled import BinaryUnscaled


class IntegerFunction(StrEnum):
    """Binary operators of integers. Division by zero gives 0, and so do negative exponents; shifts by more than the
    width, or by a negative number, give 0 (right shifts of signed integers: the sign)."""

    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    DIVIDE = auto()
    """Division, rounded towards zero."""
    MODULO = auto()
    """Remainder with the sign of the divisor (quotient rounded down)."""
    REMAINDER = auto()
    """Remainder with the sign of the dividend (quotient rounded towards zero)."""
    POWER = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    SHIFT_LEFT = auto()
    SHIFT_RIGHT = auto()
    LEAST = auto()
    MOST = auto()
    EQUAL = auto()
    GREATER = auto()
    GREATER_EQUAL = auto()

    @property
    def compares(self) -> bool:
        """Whether the function is a comparison, whose results are bool."""
        return self in (IntegerFunction.EQUAL, IntegerFunction.GREATER, IntegerFunction.GREATER_EQUAL)


class Whole(BinaryUnscaled):
    """WHOLE: an element-wise function of two tensors of one integer type, with broadcasting."""

    function: IntegerFunction
    types: ClassVar[frozenset[DType]] = frozenset(
        {
            *(DType.INT8, DType.INT16, DType.INT32, DType.INT64),
            *(DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64),
        }
    )
    kind = "WHOLE"

    def unsupported(self, g: Graph) -> str | None:
        a, b, y = self.input(g), self.input(g, 1), self.output(g)
        if not self.function.compares:
            return type_problem(g, self, self.types, ()) or self.axes_problem(g)
        if a.dtype not in self.types or b.dtype != a.dtype or y.dtype != DType.BOOL:
            return f"{a.dtype} and {b.dtype} inputs with {y.dtype} output are not supported"
        return self.axes_problem(g)

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no such operator"

    def of(self, a: Array, b: Array) -> Array:
        return np.asarray(_OF[self.function](*np.broadcast_arrays(a, b)))


def _divide(a: Array, b: Array) -> Array:
    """Division rounded towards zero; the smallest integer divided by -1 wraps to itself."""
    divisor = np.where((b == 0) | _minus_one(b), 1, b).astype(a.dtype)
    quotient, rest = a // divisor, a % divisor
    quotient = (quotient + ((rest != 0) & ((a < 0) != (divisor < 0)))).astype(a.dtype)
    return np.where(b == 0, 0, np.where(_minus_one(b), np.negative(a), quotient)).astype(a.dtype)


def _modulo(a: Array, b: Array) -> Array:
    special = (b == 0) | _minus_one(b)
    return np.where(special, 0, np.mod(a, np.where(special, 1, b).astype(a.dtype))).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    special = (b == 0) | _minus_one(b)
    return np.where(special, 0, np.fmod(a, np.where(special, 1, b).astype(a.dtype))).astype(a.dtype)


def _minus_one(b: Array) -> Array:
    """Mask of divisors that are -1: their quotient may overflow."""
    return np.asarray(b == -1 if np.issubdtype(b.dtype, np.signedinteger) else np.zeros(b.shape, bool))


def _power(a: Array, b: Array) -> Array:
    """Power by repeated squaring in wrapping 64-bit arithmetic, truncated to the type."""
    base, left, result = a.astype(np.uint64), b.astype(np.uint64), np.ones(a.shape, np.uint64)
    left = np.where(b < 0, np.uint64(0), left)
    while left.any():
        result = np.where(left & np.uint64(1), result * base, result)
        base, left = base * base, left >> np.uint64(1)
    return np.where(b < 0, 0, result.astype(a.dtype)).astype(a.dtype)


def _shift_left(a: Array, b: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    places = np.clip(b, 0, bits - 1).astype(np.uint64)
    return np.where((b < 0) | (b >= bits), 0, (a.astype(np.uint64) << places).astype(a.dtype)).astype(a.dtype)


def _shift_right(a: Array, b: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    places = np.where(b < 0, bits - 1, np.clip(b, 0, bits - 1)).astype(a.dtype)
    beyond = b >= bits if np.issubdtype(a.dtype, np.unsignedinteger) else False
    return np.where(beyond, 0, a >> places).astype(a.dtype)


_OF: dict[IntegerFunction, Callable[[Array, Array], Array]] = {
    IntegerFunction.ADD: np.add,
    IntegerFunction.SUBTRACT: np.subtract,
    IntegerFunction.MULTIPLY: np.multiply,
    IntegerFunction.DIVIDE: _divide,
    IntegerFunction.MODULO: _modulo,
    IntegerFunction.REMAINDER: _remainder,
    IntegerFunction.POWER: _power,
    IntegerFunction.AND: np.bitwise_and,
    IntegerFunction.OR: np.bitwise_or,
    IntegerFunction.XOR: np.bitwise_xor,
    IntegerFunction.SHIFT_LEFT: _shift_left,
    IntegerFunction.SHIFT_RIGHT: _shift_right,
    IntegerFunction.LEAST: np.minimum,
    IntegerFunction.MOST: np.maximum,
    IntegerFunction.EQUAL: np.equal,
    IntegerFunction.GREATER: np.greater,
    IntegerFunction.GREATER_EQUAL: np.greater_equal,
}
