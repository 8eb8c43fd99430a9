"""Element-wise operators, unary and with broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import integers
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.orders import together
from mote.ir.graph import Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise import float_math, unary_math
from mote.ir.ops.elementwise.activations import (
    HardSwish,
    LeakyRelu,
    Logistic,
    Relu,
    Relu0To1,
    Relu6,
    ReluN1To1,
    Tanh,
    Unary,
)
from mote.ir.ops.elementwise.arithmetic import Add, Arithmetic, Binary, Mul, Sub
from mote.ir.ops.elementwise.binary_integer import IntegerFunction as Integer
from mote.ir.ops.elementwise.binary_unscaled import Atan2, BitwiseXor, LogicalAnd, LogicalOr, Maximum, Minimum, Pow
from mote.ir.ops.elementwise.cast import Cast
from mote.ir.ops.elementwise.comparison import Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual
from mote.ir.ops.elementwise.division import Div, FloorDiv, FloorMod
from mote.ir.ops.elementwise.prelu import PRelu
from mote.ir.ops.elementwise.select import Select
from mote.ir.ops.elementwise.squared_difference import SquaredDifference

Function = Callable[[Builder, Value], Value]
Pair = Callable[[Builder, Value, Value], Value]


def binary(b: Builder, kind: type[Op], x: Value, y: Value, dtype: DType | None = None, **attributes: Any) -> Value:
    """A binary operator on two values of one type, with broadcasting. `dtype`: of the results, where it differs."""
    if x.dtype != y.dtype:
        raise UnsupportedNodeError(f"{x.dtype} and {y.dtype} operands are not supported together")
    both = together(b, x, y)
    return b.value(b.op(kind, both.tensors, both.stored, dtype, **attributes), both.shape, both.atoms)


def _pair(
    kind: type[Binary], whole: Integer | None = None, dtype: DType | None = None, *, turned: bool = False
) -> Pair:
    """A function of two values. `whole` computes it for integers that the operator does not take, with its operands
    swapped where `turned`. `dtype`: of the results, where it differs."""

    def apply(b: Builder, x: Value, y: Value) -> Value:
        if whole is not None and integers.is_whole(x, kind):
            return integers.whole(b, whole, y, x) if turned else integers.whole(b, whole, x, y)
        options = {"infinite": True} if issubclass(kind, Arithmetic) and x.dtype == DType.FLOAT32 else {}
        return binary(b, kind, x, y, dtype, **options)

    return apply


add, sub, mul, div = (
    _pair(Add, Integer.ADD),
    _pair(Sub, Integer.SUBTRACT),
    _pair(Mul, Integer.MULTIPLY),
    _pair(Div, Integer.DIVIDE),
)
maximum, minimum, power = (
    _pair(Maximum, Integer.MOST),
    _pair(Minimum, Integer.LEAST),
    _pair(Pow, Integer.POWER),
)
floor_div, floor_mod = _pair(FloorDiv), _pair(FloorMod, Integer.MODULO)
atan2, squared_difference = _pair(Atan2), _pair(SquaredDifference)
logical_and, logical_or, bitwise_xor = _pair(LogicalAnd), _pair(LogicalOr), _pair(BitwiseXor, Integer.XOR)
equal = _pair(Equal, Integer.EQUAL, DType.BOOL)
greater, greater_equal = (
    _pair(Greater, Integer.GREATER, DType.BOOL),
    _pair(GreaterEqual, Integer.GREATER_EQUAL, DType.BOOL),
)
less = _pair(Less, Integer.GREATER, DType.BOOL, turned=True)
less_equal = _pair(LessEqual, Integer.GREATER_EQUAL, DType.BOOL, turned=True)


def not_equal(b: Builder, x: Value, y: Value) -> Value:
    if integers.is_whole(x, NotEqual):
        return logical_not(b, equal(b, x, y))
    return binary(b, NotEqual, x, y, DType.BOOL)


def unary(b: Builder, kind: type[Op], x: Value, dtype: DType | None = None, **attributes: Any) -> Value:
    """A unary operator, which keeps the layout of its operand."""
    source = b.plain(x) if x.constant else x.tensor
    made = b.op(kind, [source], b.tensors[source].shape, dtype, **attributes)
    return b.value(made, x.shape, None if x.constant else x.atoms)


def _function(kind: type[Unary], whole: Function | None = None) -> Function:
    """A function of one value. `whole` computes it for integers."""

    def apply(b: Builder, x: Value) -> Value:
        return unary(b, kind, x) if whole is None or not integers.is_whole(x, kind) else whole(b, x)

    return apply


relu, relu6, relu_0_to_1, relu_n1_to_1 = map(_function, (Relu, Relu6, Relu0To1, ReluN1To1))
sigmoid, tanh, hard_swish, elu = map(_function, (Logistic, Tanh, HardSwish, unary_math.Elu))
exp, log, sqrt, rsqrt = map(_function, (unary_math.Exp, unary_math.Log, unary_math.Sqrt, unary_math.Rsqrt))
abs_, neg = _function(unary_math.Abs, integers.absolute), _function(unary_math.Neg, integers.negative)
sign, logical_not = _function(unary_math.Sign, integers.sign), _function(unary_math.LogicalNot)
ceil, floor, round_ = map(_function, (unary_math.Ceil, unary_math.Floor, unary_math.Round))
sin, cos, square = map(_function, (unary_math.Sin, unary_math.Cos, unary_math.Square))
tan, asin, acos, atan = map(_function, (float_math.Tan, float_math.Asin, float_math.Acos, float_math.Atan))
sinh, cosh, asinh, acosh, atanh = map(
    _function, (float_math.Sinh, float_math.Cosh, float_math.Asinh, float_math.Acosh, float_math.Atanh)
)
erf, log1p = map(_function, (float_math.Erf, float_math.Log1p))


def cast(b: Builder, x: Value, dtype: DType) -> Value:
    """The value converted to another type."""
    if x.dtype == dtype:
        return x
    if x.data is not None and not dtype.computable:
        raise UnsupportedNodeError(f"a cast to {dtype} is not supported")
    return unary(b, Cast, x, dtype)


def scalar(b: Builder, number: float, dtype: DType = DType.FLOAT32) -> Value:
    """A constant scalar."""
    return b.constant(np.array(number, dtype.numpy))


def scaled(b: Builder, x: Value, factor: float = 1.0, offset: float = 0.0) -> Value:
    """factor * x + offset."""
    x = x if factor == 1 else mul(b, x, scalar(b, factor, x.dtype))
    return x if offset == 0 else add(b, x, scalar(b, offset, x.dtype))


def reciprocal(b: Builder, x: Value) -> Value:
    return div(b, scalar(b, 1, x.dtype), x)


def clip(b: Builder, x: Value, low: float | None = None, high: float | None = None) -> Value:
    """Elements clamped to [low, high]."""
    usual: dict[tuple[float | None, float | None], Function] = {
        (0, None): relu,
        (0, 6): relu6,
        (0, 1): relu_0_to_1,
        (-1, 1): relu_n1_to_1,
    }
    low = None if low is not None and low == -math.inf else low
    high = None if high is not None and high == math.inf else high
    if x.dtype == DType.FLOAT32 and (low, high) in usual:
        return usual[low, high](b, x)
    x = x if low is None else maximum(b, x, scalar(b, low, x.dtype))
    return x if high is None else minimum(b, x, scalar(b, high, x.dtype))


def where(b: Builder, condition: Value, x: Value, y: Value) -> Value:
    """x where the condition holds, else y."""
    if x.dtype != y.dtype or condition.dtype != DType.BOOL:
        raise UnsupportedNodeError(f"a {condition.dtype} condition for {x.dtype} and {y.dtype} is not supported")
    three = together(b, condition, x, y)
    made = b.op(Select, three.tensors, three.stored, x.dtype)
    return b.value(made, three.shape, three.atoms)


def leaky_relu(b: Builder, x: Value, alpha: float) -> Value:
    return unary(b, LeakyRelu, x, alpha=float(alpha))


def prelu(b: Builder, x: Value, slope: Value) -> Value:
    """x, or slope * x below zero. The slope broadcasts to the shape of x."""
    return binary(b, PRelu, x, slope)


def gelu(b: Builder, x: Value, *, approximate: bool = False) -> Value:
    return unary(b, unary_math.Gelu, x, approximate=approximate)


def silu(b: Builder, x: Value, alpha: float = 1.0) -> Value:
    """x * sigmoid(alpha * x), also called swish."""
    return mul(b, x, sigmoid(b, scaled(b, x, alpha)))


def softplus(b: Builder, x: Value) -> Value:
    """log(1 + exp(x)), computed as max(x, 0) + log(1 + exp(-|x|)) so that nothing overflows."""
    return add(b, relu(b, x), log1p(b, exp(b, neg(b, abs_(b, x)))))


def mish(b: Builder, x: Value) -> Value:
    """x * tanh(softplus(x)), computed as x * n / (n + 2) with n = e * (e + 2), e = exp(x); above 20 it is x."""
    e = exp(b, clip(b, x, high=20))
    n = mul(b, e, scaled(b, e, 1, 2))
    return mul(b, x, div(b, n, scaled(b, n, 1, 2)))


def softsign(b: Builder, x: Value) -> Value:
    return div(b, x, scaled(b, abs_(b, x), 1, 1))


def hard_sigmoid(b: Builder, x: Value, alpha: float = 0.2, beta: float = 0.5) -> Value:
    """clip(alpha * x + beta, 0, 1)."""
    return clip(b, scaled(b, x, alpha, beta), 0, 1)


def elu_scaled(b: Builder, x: Value, alpha: float = 1.0, gamma: float = 1.0) -> Value:
    """gamma * x, and gamma * alpha * (exp(x) - 1) below zero: ELU and SELU."""
    if alpha == 1:
        return scaled(b, elu(b, x), gamma)
    below = scaled(b, elu(b, minimum(b, x, scalar(b, 0))), gamma * alpha)
    return add(b, scaled(b, relu(b, x), gamma), below)


def celu(b: Builder, x: Value, alpha: float = 1.0) -> Value:
    """x, or alpha * (exp(x / alpha) - 1) below zero."""
    return scaled(b, elu(b, scaled(b, x, 1 / alpha)), alpha)


def thresholded_relu(b: Builder, x: Value, alpha: float = 1.0) -> Value:
    """x where it is more than alpha, else 0."""
    return where(b, greater(b, x, scalar(b, alpha, x.dtype)), x, scalar(b, 0, x.dtype))


def truncated(b: Builder, x: Value) -> Value:
    """Rounded towards zero."""
    return mul(b, sign(b, x), floor(b, abs_(b, x)))


def hypot(b: Builder, x: Value, y: Value) -> Value:
    return sqrt(b, add(b, square(b, x), square(b, y)))


def erfc(b: Builder, x: Value) -> Value:
    return sub(b, scalar(b, 1), erf(b, x))


def expm1(b: Builder, x: Value) -> Value:
    """exp(x) - 1, by ELU below zero, which is accurate there."""
    return where(b, greater(b, x, scalar(b, 0)), scaled(b, exp(b, x), 1, -1), elu(b, x))


def logarithm(base: float) -> Function:
    def function(b: Builder, x: Value) -> Value:
        return scaled(b, log(b, x), 1 / math.log(base))

    return function


FUNCTIONS: Mapping[str, Function] = {
    "relu": relu,
    "relu6": relu6,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "hard_swish": hard_swish,
    "elu": elu,
    "gelu": gelu,
    "gelu_tanh": partial(gelu, approximate=True),
    "silu": silu,
    "mish": mish,
    "softplus": softplus,
    "softsign": softsign,
    "hard_sigmoid": hard_sigmoid,
    "exp": exp,
    "log": log,
    "sqrt": sqrt,
    "rsqrt": rsqrt,
    "abs": abs_,
    "neg": neg,
    "sign": sign,
    "ceil": ceil,
    "floor": floor,
    "round": round_,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "sinh": sinh,
    "cosh": cosh,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
    "log1p": log1p,
    "square": square,
    "erf": erf,
    "reciprocal": reciprocal,
    "logical_not": logical_not,
}
"""Unary functions without options, by name."""


def full(b: Builder, shape: tuple[int, ...], number: float, dtype: DType = DType.FLOAT32) -> Value:
    """A constant tensor filled with one number."""
    data: Array = np.full(shape, number, dtype.numpy)
    return b.constant(data)
