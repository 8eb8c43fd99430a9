"""Cast, CastLike and BitCast. Floats are float32, whatever type the file has, and sub-byte integers int8 or uint8: a
cast to such a type rounds to its values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, integers
from mote.frontends.onnx.file.tensors import held_type
from mote.frontends.onnx.node import Key, Node, Parser
from mote.frontends.remedies import STRINGS
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.binary_integer import IntegerFunction
from mote.ir.ops.elementwise.cast import BitCast
from mote.ir.ops.elementwise.round_to_format import FloatFormat, RoundToFormat

FORMATS = {
    10: FloatFormat.FLOAT16,
    16: FloatFormat.BFLOAT16,
    17: FloatFormat.FLOAT8E4M3FN,
    18: FloatFormat.FLOAT8E4M3FNUZ,
    19: FloatFormat.FLOAT8E5M2,
    20: FloatFormat.FLOAT8E5M2FNUZ,
    23: FloatFormat.FLOAT4E2M1,
}
"""Float types narrower than float32, by their numbers in TensorProto."""
POWERS = 24
"""Number of float8e8m0, which has powers of two only."""
FEW_BITS = {21: 4, 22: 4, 25: 2, 26: 2}
"""Bits of sub-byte integer types."""
DOUBLE = 11
LEAST_POWER = 2.0**-127
EXPONENT = 0x7F800000
ROUNDINGS = {"up": 0x7FFFFF, "nearest": 0x400000, "down": 0}
"""Increments of the bits before the significand is cut off, by rounding mode."""


def cast(node: Node) -> Value:
    return _cast(node, node.integer("to"))


def cast_like(node: Node) -> Value:
    return _cast(node, node.element_type(1))


def _cast(node: Node, number: int) -> Value:
    saturates, mode = node.flag("saturate", True), node.text("round_mode", "up")
    x, dtype = node.input(), held_type(number)
    if x.dtype == DType.STRING or dtype == DType.STRING:
        raise UnsupportedNodeError("strings are not supported", STRINGS)
    if not dtype.computable:
        raise UnsupportedNodeError(f"a cast to the type {number} is not supported")
    if node.element_type() == number:
        return x
    if number in FEW_BITS:
        return _few_bits(node.b, x, dtype, FEW_BITS[number])
    converted = elementwise.cast(node.b, x, dtype)
    if number == POWERS:
        return _power(node.b, converted, mode)
    return narrowed(node.b, converted, number, saturates=saturates)


def narrowed(b: Builder, x: Value, number: int, *, saturates: bool = True) -> Value:
    """Floats rounded to a narrower type. 16-bit types have infinities, and do not saturate."""
    if number not in FORMATS:
        return x
    own = saturates and FORMATS[number] not in (FloatFormat.FLOAT16, FloatFormat.BFLOAT16)
    return elementwise.unary(b, RoundToFormat, x, format=FORMATS[number], saturates=own)


def _few_bits(b: Builder, x: Value, dtype: DType, bits: int) -> Value:
    """The lowest bits of integers, signed or unsigned."""
    converted = elementwise.cast(b, x if x.dtype.integer else elementwise.cast(b, x, DType.INT32), dtype)
    places = integers.same(b, 8 - bits, converted)
    shifted = integers.whole(b, IntegerFunction.SHIFT_LEFT, converted, places)
    return integers.whole(b, IntegerFunction.SHIFT_RIGHT, shifted, places)


def _power(b: Builder, x: Value, mode: str) -> Value:
    """The next power of two, by bit manipulation."""
    if mode not in ROUNDINGS:
        raise UnsupportedNodeError(f"the rounding {mode} is not supported")
    bits = elementwise.unary(b, BitCast, x, DType.INT32)
    above = elementwise.add(b, bits, integers.same(b, ROUNDINGS[mode], bits))
    cut = integers.whole(b, IntegerFunction.AND, above, integers.same(b, EXPONENT, bits))
    power = elementwise.unary(b, BitCast, cut, DType.FLOAT32)
    return elementwise.maximum(b, power, b.constant(np.array(LEAST_POWER, np.float32)))


def bit_cast(node: Node) -> Value:
    number = node.integer("to")
    x, dtype = node.input(), held_type(number)
    given = node.element_type()
    if any(n in (*FORMATS, *FEW_BITS, POWERS, DOUBLE) for n in (number, given)):
        raise UnsupportedNodeError("the bits of a type that Mote computes in another one are not supported")
    if x.dtype == dtype:
        return x
    return elementwise.unary(node.b, BitCast, x, dtype)


PARSERS: Mapping[Key, Parser] = {
    ("", "BitCast"): bit_cast,
    ("", "Cast"): cast,
    ("", "CastLike"): cast_like,
}
