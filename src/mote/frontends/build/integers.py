"""Operators on unquantized integers of all element types, for those that LiteRT's operators do not take."""

from __future__ import annotations

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.orders import together
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.activations import Unary
from mote.ir.ops.elementwise.arithmetic import QUANTIZED, Binary
from mote.ir.ops.elementwise.binary_integer import IntegerFunction, Whole

SIGNED = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64})


def is_whole(x: Value, kind: type[Binary] | type[Unary]) -> bool:
    """Whether elements are integers of a type that LiteRT's operators do not take."""
    if not x.dtype.computable or not x.dtype.integer:
        return False
    return x.dtype not in kind.types or (x.dtype in QUANTIZED and x.quant is None)


def whole(b: Builder, function: IntegerFunction, x: Value, y: Value) -> Value:
    """A binary function of two integers of one type."""
    if x.dtype != y.dtype:
        raise UnsupportedNodeError(f"{x.dtype} and {y.dtype} operands are not supported together")
    both = together(b, x, y)
    dtype = DType.BOOL if function.compares else None
    return b.value(b.op(Whole, both.tensors, both.stored, dtype, function=function), both.shape, both.atoms)


def same(b: Builder, number: int, like: Value) -> Value:
    """A constant scalar in the type of a value; negative numbers wrap around in unsigned types."""
    bits = 8 * like.dtype.itemsize
    low, _ = like.dtype.limits
    return b.constant(np.array((number - low) % (1 << bits) + low, like.dtype.numpy))


def negative(b: Builder, x: Value) -> Value:
    return whole(b, IntegerFunction.SUBTRACT, same(b, 0, x), x)


def absolute(b: Builder, x: Value) -> Value:
    """Absolute value; that of the least integer wraps around to itself."""
    return whole(b, IntegerFunction.MOST, x, negative(b, x)) if x.dtype in SIGNED else x


def sign(b: Builder, x: Value) -> Value:
    """-1, 0 or 1."""
    least = whole(b, IntegerFunction.LEAST, x, same(b, 1, x))
    return whole(b, IntegerFunction.MOST, least, same(b, -1, x)) if x.dtype in SIGNED else least


def complement(b: Builder, x: Value) -> Value:
    """Bitwise complement."""
    return whole(b, IntegerFunction.XOR, x, same(b, -1, x))
