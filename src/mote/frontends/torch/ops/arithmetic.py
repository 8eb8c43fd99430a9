"""Element-wise arithmetic on one or two values."""

from __future__ import annotations

import math
from collections.abc import Mapping

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as make
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.elementwise import Function, Pair
from mote.frontends.build.integers import whole
from mote.frontends.torch.node import Node, Parser
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.binary_integer import IntegerFunction as Integer


def _pair(function: Pair) -> Parser:
    """A binary operator in the type of its result."""

    def parse(node: Node) -> Value:
        return function(node.b, node.operand("self", node.dtype), node.operand("other", node.dtype))

    return parse


def _scaled_pair(function: Pair) -> Parser:
    """A binary operator whose second operand is multiplied by `alpha`."""

    def parse(node: Node) -> Value:
        b, second = node.b, node.operand("other", node.dtype)
        if (alpha := node.real("alpha")) != 1:
            second = make.mul(b, second, make.scalar(b, alpha, node.dtype))
        return function(b, node.operand("self", node.dtype), second)

    return parse


def _comparison(function: Pair) -> Parser:
    """A binary operator in the promoted type of its operands."""

    def parse(node: Node) -> Value:
        dtype = node.common_type("self", "other")
        return function(node.b, node.operand("self", dtype), node.operand("other", dtype))

    return parse


def _bitwise(function: Integer, logical: Pair | None = None) -> Parser:
    """A bitwise operator on integers or booleans."""

    def parse(node: Node) -> Value:
        x, y = node.operand("self", node.dtype), node.operand("other", node.dtype)
        return logical(node.b, x, y) if logical and x.dtype == DType.BOOL else whole(node.b, function, x, y)

    return parse


def _logical(function: Pair) -> Parser:
    def parse(node: Node) -> Value:
        return function(node.b, node.operand("self", DType.BOOL), node.operand("other", DType.BOOL))

    return parse


def _function(function: Function) -> Parser:
    """A unary function in the type of its result."""

    def parse(node: Node) -> Value:
        return function(node.b, node.operand("self", node.dtype))

    return parse


def _div(node: Node) -> Value:
    mode = node.given("rounding_mode")
    b, x, y = node.b, node.operand("self", node.dtype), node.operand("other", node.dtype)
    if mode is None:
        return make.div(b, x, y)
    if not node.dtype.integer:
        return (make.floor if mode == "floor" else make.truncated)(b, make.div(b, x, y))
    if mode == "floor":
        x = make.sub(b, x, make.floor_mod(b, x, y))
    return make.div(b, x, y)


def _fmod(node: Node) -> Value:
    b, x, y = node.b, node.operand("self", node.dtype), node.operand("other", node.dtype)
    if node.dtype.integer:
        return whole(b, Integer.REMAINDER, x, y)
    return make.sub(b, x, make.mul(b, make.truncated(b, make.div(b, x, y)), y))


def _pow(node: Node) -> Value:
    b, exponent = node.b, node.given("exponent")
    x = node.operand("self", node.dtype)
    if node.dtype == DType.FLOAT32 and isinstance(exponent, int | float):
        usual: Mapping[float, Function] = {
            1: _same,
            2: make.square,
            0.5: make.sqrt,
            -0.5: make.rsqrt,
            -1: make.reciprocal,
        }
        if exponent in usual:
            return usual[exponent](b, x)
        if exponent == 3:
            return make.mul(b, make.square(b, x), x)
    return make.power(b, x, node.operand("exponent", node.dtype))


def _same(_: Builder, x: Value) -> Value:
    return x


def _clamp(node: Node) -> Value:
    b, x = node.b, node.operand("self", node.dtype)
    low, high = (node.given(name) for name in ("min", "max"))
    if all(limit is None or isinstance(limit, int | float) for limit in (low, high)):
        return make.clip(b, x, low, high)
    x = x if low is None else make.maximum(b, x, node.operand("min", node.dtype))
    return x if high is None else make.minimum(b, x, node.operand("max", node.dtype))


def _where(node: Node) -> Value:
    condition = node.operand("condition", DType.BOOL)
    return make.where(node.b, condition, node.operand("self", node.dtype), node.operand("other", node.dtype))


def _bitwise_not(node: Node) -> Value:
    x = node.value("self")
    if x.dtype == DType.BOOL:
        return make.logical_not(node.b, x)
    return make.sub(node.b, make.scalar(node.b, -1, x.dtype), x)


def _is_nan(node: Node) -> Value:
    x = node.value("self")
    return make.not_equal(node.b, x, x)


def _is_infinite(node: Node) -> Value:
    b, x = node.b, node.value("self")
    return make.equal(b, make.abs_(b, x), make.scalar(b, math.inf))


def _cast(node: Node) -> Value:
    return make.cast(node.b, node.value("self"), node.dtype)


def _round(node: Node) -> Value:
    if node.given("decimals"):
        raise UnsupportedNodeError("rounding to decimals is not supported")
    return make.round_(node.b, node.value("self"))


PAIRS: Mapping[str, Parser] = {
    "add": _scaled_pair(make.add),
    "sub": _scaled_pair(make.sub),
    "mul": _pair(make.mul),
    "maximum": _pair(make.maximum),
    "minimum": _pair(make.minimum),
    "remainder": _pair(make.floor_mod),
    "fmod": _fmod,
    "atan2": _pair(make.atan2),
    "eq": _comparison(make.equal),
    "ne": _comparison(make.not_equal),
    "gt": _comparison(make.greater),
    "ge": _comparison(make.greater_equal),
    "lt": _comparison(make.less),
    "le": _comparison(make.less_equal),
    "bitwise_and": _bitwise(Integer.AND, make.logical_and),
    "bitwise_or": _bitwise(Integer.OR, make.logical_or),
    "bitwise_xor": _bitwise(Integer.XOR, make.not_equal),
    "hypot": _pair(make.hypot),
    "logical_and": _logical(make.logical_and),
    "logical_or": _logical(make.logical_or),
    "logical_xor": _logical(make.not_equal),
}
FUNCTIONS: Mapping[str, Function] = {
    "abs": make.abs_,
    "neg": make.neg,
    "exp": make.exp,
    "log": make.log,
    "log2": make.logarithm(2),
    "log10": make.logarithm(10),
    "sqrt": make.sqrt,
    "rsqrt": make.rsqrt,
    "reciprocal": make.reciprocal,
    "sin": make.sin,
    "cos": make.cos,
    "tan": make.tan,
    "asin": make.asin,
    "acos": make.acos,
    "atan": make.atan,
    "sinh": make.sinh,
    "cosh": make.cosh,
    "asinh": make.asinh,
    "acosh": make.acosh,
    "atanh": make.atanh,
    "log1p": make.log1p,
    "erf": make.erf,
    "erfc": make.erfc,
    "expm1": make.expm1,
    "floor": make.floor,
    "ceil": make.ceil,
    "trunc": make.truncated,
    "sign": make.sign,
    "logical_not": make.logical_not,
}
WITHOUT_SCALARS = ("maximum", "minimum", "atan2", "hypot", "logical_and", "logical_or", "logical_xor")
"""Operators without an overload for scalars."""

PARSERS: Mapping[str, Parser] = {
    **{
        f"aten.{name}.{kind}": parser
        for name, parser in PAIRS.items()
        for kind in (("default",) if name in WITHOUT_SCALARS else ("Tensor", "Scalar"))
    },
    **{f"aten.{name}.default": _function(function) for name, function in FUNCTIONS.items()},
    **dict.fromkeys(("aten.div.Tensor", "aten.div.Scalar", "aten.div.Tensor_mode", "aten.div.Scalar_mode"), _div),
    **dict.fromkeys(("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar"), _pow),
    **dict.fromkeys(("aten.clamp.default", "aten.clamp.Tensor"), _clamp),
    **dict.fromkeys(("aten.__lshift__.Scalar", "aten.bitwise_left_shift.Tensor"), _bitwise(Integer.SHIFT_LEFT)),
    **dict.fromkeys(("aten.__rshift__.Scalar", "aten.bitwise_right_shift.Tensor"), _bitwise(Integer.SHIFT_RIGHT)),
    "aten.bitwise_left_shift.Tensor_Scalar": _bitwise(Integer.SHIFT_LEFT),
    "aten.where.self": _where,
    "aten.bitwise_not.default": _bitwise_not,
    "aten.isnan.default": _is_nan,
    "aten.isinf.default": _is_infinite,
    "aten._to_copy.default": _cast,
    "aten.round.default": _round,
    "aten.round.decimals": _round,
}
