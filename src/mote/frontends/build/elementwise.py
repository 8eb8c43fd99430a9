"""Operators that treat every element by itself, alone or together with elements of other values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from mote.errors import UnsupportedNodeError
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.orders import together
from mote.graph import Op
from mote.graph.tensor import Array
from mote.graph.types import DType
from mote.ops import functions
from mote.ops.arithmetic import Add, Binary, Mul, Sub
from mote.ops.cast import Cast
from mote.ops.comparison import Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual
from mote.ops.division import Div, FloorDiv, FloorMod
from mote.ops.plain import Atan2, BitwiseXor, LogicalAnd, LogicalOr, Maximum, Minimum, Pow
from mote.ops.prelu import PRelu
from mote.ops.select import Select
from mote.ops.squared_difference import SquaredDifference
from mote.ops.unary import HardSwish, LeakyRelu, Logistic, Relu, Relu0To1, Relu6, ReluN1To1, Tanh

Function = Callable[[Builder, Value], Value]
Pair = Callable[[Builder, Value, Value], Value]


def binary(b: Builder, kind: type[Op], x: Value, y: Value, dtype: DType | None = None, **attributes: Any) -> Value:
    """An operator on the elements of two values of one type, which are repeated to one shape. `dtype`: of the results,
    where it is another one."""
    if x.dtype != y.dtype:
        raise UnsupportedNodeError(f"{x.dtype} and {y.dtype} operands are not supported together")
    both = together(b, x, y)
    return b.value(b.op(kind, both.tensors, both.stored, dtype, **attributes), both.shape, both.atoms)


def _pair(kind: type[Binary], dtype: DType | None = None) -> Pair:
    def apply(b: Builder, x: Value, y: Value) -> Value:
        return binary(b, kind, x, y, dtype)

    return apply


add, sub, mul, div = _pair(Add), _pair(Sub), _pair(Mul), _pair(Div)
maximum, minimum, power, atan2 = _pair(Maximum), _pair(Minimum), _pair(Pow), _pair(Atan2)
floor_div, floor_mod, squared_difference = _pair(FloorDiv), _pair(FloorMod), _pair(SquaredDifference)
logical_and, logical_or, bitwise_xor = _pair(LogicalAnd), _pair(LogicalOr), _pair(BitwiseXor)
equal, not_equal = _pair(Equal, DType.BOOL), _pair(NotEqual, DType.BOOL)
greater, greater_equal = _pair(Greater, DType.BOOL), _pair(GreaterEqual, DType.BOOL)
less, less_equal = _pair(Less, DType.BOOL), _pair(LessEqual, DType.BOOL)


def unary(b: Builder, kind: type[Op], x: Value, dtype: DType | None = None, **attributes: Any) -> Value:
    """An operator on each element, in whatever order they lie."""
    source = b.plain(x) if x.constant else x.tensor
    made = b.op(kind, [source], b.tensors[source].shape, dtype, **attributes)
    return b.value(made, x.shape, None if x.constant else x.atoms)


def _function(kind: type[Op], **attributes: Any) -> Function:
    def apply(b: Builder, x: Value) -> Value:
        return unary(b, kind, x, **attributes)

    return apply


relu, relu6, relu_0_to_1, relu_n1_to_1 = map(_function, (Relu, Relu6, Relu0To1, ReluN1To1))
sigmoid, tanh, hard_swish, elu = map(_function, (Logistic, Tanh, HardSwish, functions.Elu))
exp, log, sqrt, rsqrt = map(_function, (functions.Exp, functions.Log, functions.Sqrt, functions.Rsqrt))
abs_, neg, sign, logical_not = map(_function, (functions.Abs, functions.Neg, functions.Sign, functions.LogicalNot))
ceil, floor, round_ = map(_function, (functions.Ceil, functions.Floor, functions.Round))
sin, cos, square = map(_function, (functions.Sin, functions.Cos, functions.Square))


def cast(b: Builder, x: Value, dtype: DType) -> Value:
    """The numbers in another type."""
    if x.dtype == dtype:
        return x
    if x.data is not None and not dtype.computable:
        raise UnsupportedNodeError(f"a cast to {dtype} is not supported")
    return unary(b, Cast, x, dtype)


def scalar(b: Builder, number: float, dtype: DType = DType.FLOAT32) -> Value:
    """A constant of one number, of no axes."""
    return b.constant(np.array(number, dtype.numpy))


def scaled(b: Builder, x: Value, factor: float = 1.0, offset: float = 0.0) -> Value:
    """factor * x + offset."""
    x = x if factor == 1 else mul(b, x, scalar(b, factor, x.dtype))
    return x if offset == 0 else add(b, x, scalar(b, offset, x.dtype))


def reciprocal(b: Builder, x: Value) -> Value:
    return div(b, scalar(b, 1, x.dtype), x)


def clip(b: Builder, x: Value, low: float | None = None, high: float | None = None) -> Value:
    """No less than `low`, no more than `high`."""
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
    """x, or slope * x below zero. The slope is repeated to the shape of x."""
    return binary(b, PRelu, x, slope)


def gelu(b: Builder, x: Value, *, approximate: bool = False) -> Value:
    return unary(b, functions.Gelu, x, approximate=approximate)


def silu(b: Builder, x: Value, alpha: float = 1.0) -> Value:
    """x * sigmoid(alpha * x), also called swish."""
    return mul(b, x, sigmoid(b, scaled(b, x, alpha)))


def softplus(b: Builder, x: Value) -> Value:
    """log(1 + exp(x)), as max(x, 0) + log(1 + exp(-|x|)): nothing overflows."""
    small = log(b, scaled(b, exp(b, neg(b, abs_(b, x))), 1, 1))
    return add(b, relu(b, x), small)


def mish(b: Builder, x: Value) -> Value:
    """x * tanh(softplus(x)), which is x * n / (n + 2) with n = e * (e + 2), e = exp(x); above 20 that is x."""
    e = exp(b, clip(b, x, high=20))
    n = mul(b, e, scaled(b, e, 1, 2))
    return mul(b, x, div(b, n, scaled(b, n, 1, 2)))


def softsign(b: Builder, x: Value) -> Value:
    return div(b, x, scaled(b, abs_(b, x), 1, 1))


def hard_sigmoid(b: Builder, x: Value, alpha: float = 0.2, beta: float = 0.5) -> Value:
    """alpha * x + beta, within 0 and 1."""
    return clip(b, scaled(b, x, alpha, beta), 0, 1)


def elu_scaled(b: Builder, x: Value, alpha: float = 1.0, gamma: float = 1.0) -> Value:
    """gamma * x, and gamma * alpha * (exp(x) - 1) below zero: ELU, and SELU."""
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


def erf(b: Builder, x: Value) -> Value:
    """From GELU, which has it inside: gelu(z) = z * (1 + erf(z / sqrt(2))) / 2, with z = x * sqrt(2), so that
    erf(x) = 2 * gelu(z) / z - 1; near zero, where that is 0 / 0, by the series."""
    z = scaled(b, x, math.sqrt(2))
    tiny = less(b, abs_(b, x), scalar(b, 1 / 64))
    safe = where(b, tiny, scalar(b, 1), z)
    far = scaled(b, div(b, gelu(b, safe), safe), 2, -1)
    near = mul(b, x, scaled(b, square(b, x), -2 / (3 * math.sqrt(math.pi)), 2 / math.sqrt(math.pi)))
    return where(b, tiny, near, far)


def tan(b: Builder, x: Value) -> Value:
    return div(b, sin(b, x), cos(b, x))


def sinh(b: Builder, x: Value) -> Value:
    """(exp(x) - exp(-x)) / 2; near zero, where little is left of that, by m = exp(-|x|) - 1: (m / (m + 1) + m) / -2."""
    size = abs_(b, x)
    m, e = elu(b, neg(b, size)), exp(b, size)
    near = scaled(b, add(b, div(b, m, scaled(b, m, 1, 1)), m), -0.5)
    far = scaled(b, sub(b, e, reciprocal(b, e)), 0.5)
    return mul(b, sign(b, x), where(b, less(b, size, scalar(b, 1)), near, far))


def cosh(b: Builder, x: Value) -> Value:
    e = exp(b, abs_(b, x))
    return scaled(b, add(b, e, reciprocal(b, e)), 0.5)


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
    "sinh": sinh,
    "cosh": cosh,
    "square": square,
    "erf": erf,
    "reciprocal": reciprocal,
    "logical_not": logical_not,
}
"""Functions of one value without options, by name."""


def full(b: Builder, shape: tuple[int, ...], number: float, dtype: DType = DType.FLOAT32) -> Value:
    """A constant of one number everywhere."""
    data: Array = np.full(shape, number, dtype.numpy)
    return b.constant(data)
