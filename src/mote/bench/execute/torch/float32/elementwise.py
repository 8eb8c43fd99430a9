"""Element-wise unary and binary functions, and reductions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from mote.bench.execute.torch.float32.common import Operands, Twin, Value, activated, aligned, given
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise import activations, binary_unscaled, comparison, float_math, unary_math
from mote.ir.ops.elementwise.add_n import AddN
from mote.ir.ops.elementwise.arithmetic import Add, Arithmetic, Binary, Mul, Sub
from mote.ir.ops.elementwise.cast import Cast
from mote.ir.ops.elementwise.division import Div, FloorMod
from mote.ir.ops.elementwise.prelu import PRelu
from mote.ir.ops.elementwise.quantize import Dequantize, Quantize, Rescale
from mote.ir.ops.elementwise.squared_difference import SquaredDifference
from mote.ir.ops.onnxruntime_rounding import EvenMean, EvenMul
from mote.ir.ops.reductions import reduce
from mote.ir.ops.reductions.along_axis import CumSum, TopK
from mote.ir.ops.reductions.mean import Mean

UNARY: dict[type, Callable[[Value], Value]] = {
    activations.Logistic: torch.sigmoid,
    activations.Tanh: torch.tanh,
    activations.Relu: functional.relu,
    activations.Relu6: functional.relu6,
    activations.Relu0To1: lambda x: torch.clamp(x, 0.0, 1.0),
    activations.ReluN1To1: lambda x: torch.clamp(x, -1.0, 1.0),
    activations.HardSwish: functional.hardswish,
    activations.RequantizeInt8: lambda x: x,
    activations.ConcatRescale: lambda x: x,
    unary_math.Exp: torch.exp,
    unary_math.Log: torch.log,
    unary_math.Rsqrt: torch.rsqrt,
    unary_math.Sqrt: torch.sqrt,
    unary_math.Elu: functional.elu,
    unary_math.Abs: torch.abs,
    unary_math.Neg: torch.neg,
    unary_math.Sign: torch.sign,
    unary_math.LogicalNot: torch.logical_not,
    unary_math.Sin: torch.sin,
    unary_math.Cos: torch.cos,
    unary_math.Square: torch.square,
    unary_math.Ceil: torch.ceil,
    unary_math.Floor: torch.floor,
    unary_math.Round: torch.round,
    float_math.Tan: torch.tan,
    float_math.Asin: torch.asin,
    float_math.Acos: torch.acos,
    float_math.Atan: torch.atan,
    float_math.Sinh: torch.sinh,
    float_math.Cosh: torch.cosh,
    float_math.Asinh: torch.asinh,
    float_math.Acosh: torch.acosh,
    float_math.Atanh: torch.atanh,
    float_math.Log1p: torch.log1p,
    float_math.Erf: torch.erf,
    Quantize: lambda x: x,
    Dequantize: lambda x: x,
    Rescale: lambda x: x,
}
"""Unary functions without attributes. Casts between types leave floats unchanged."""

BINARY: dict[type, Callable[[Value, Value], Value]] = {
    Add: torch.add,
    Sub: torch.sub,
    Mul: torch.mul,
    EvenMul: torch.mul,
    Div: lambda a, b: torch.div(a, b) if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc"),
    binary_unscaled.Maximum: torch.maximum,
    binary_unscaled.Minimum: torch.minimum,
    binary_unscaled.Pow: torch.pow,
    binary_unscaled.Atan2: torch.atan2,
    FloorMod: lambda a, b: remainder(a, b),
    binary_unscaled.LogicalAnd: torch.logical_and,
    binary_unscaled.LogicalOr: torch.logical_or,
    comparison.Equal: torch.eq,
    comparison.NotEqual: torch.ne,
    comparison.Greater: torch.gt,
    comparison.GreaterEqual: torch.ge,
    comparison.Less: torch.lt,
    comparison.LessEqual: torch.le,
    SquaredDifference: lambda a, b: torch.square(a - b),
    PRelu: lambda x, slope: torch.where(x >= 0, x, x * slope),
}
"""Binary functions, before any activation."""

DTYPES = {
    DType.FLOAT32: torch.float32,
    DType.BOOL: torch.bool,
    DType.INT8: torch.int8,
    DType.UINT8: torch.uint8,
    DType.INT16: torch.int16,
    DType.INT32: torch.int32,
    DType.INT64: torch.int64,
}


def one(function: Callable[[Value], Value]) -> Twin:
    return lambda g, op, values: function(given(values, 0))


def two(function: Callable[[Value, Value], Value]) -> Twin:
    def twin(g: Graph, op: Binary, values: Operands) -> Value:
        result = function(*aligned(given(values, 0), given(values, 1)))
        return activated(result, op.activation) if isinstance(op, Arithmetic) else result

    return twin


def leaky(g: Graph, op: activations.LeakyRelu, values: Operands) -> Value:
    return functional.leaky_relu(given(values, 0), op.alpha)


def gelu(g: Graph, op: unary_math.Gelu, values: Operands) -> Value:
    return functional.gelu(given(values, 0), approximate="tanh" if op.approximate else "none")


def remainder(a: Value, b: Value) -> Value:
    """Remainder of a division, with the sign of the divisor."""
    rest = torch.fmod(a, b)
    return torch.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


def largest(g: Graph, op: TopK, values: Operands) -> Value:
    """The largest elements along the last axis, or their indices."""
    ordered = torch.sort(given(values, 0), dim=-1, descending=True, stable=True)
    return ordered.indices[..., : op.k].to(DTYPES[op.output(g).dtype]) if op.indices else ordered.values[..., : op.k]


def total(g: Graph, op: AddN, values: Operands) -> Value:
    result = given(values, 0)
    for position in range(1, len(values)):
        result = result + given(values, position)
    return result


def cast(g: Graph, op: Cast, values: Operands) -> Value:
    return given(values, 0).to(DTYPES[op.output(g).dtype])


def running_sum(g: Graph, op: CumSum, values: Operands) -> Value:
    x, axis = given(values, 0), op.axis + 1
    x = x.flip(axis) if op.reverse else x
    result = x.cumsum(axis) - (x if op.exclusive else 0)
    return result.flip(axis) if op.reverse else result


def reduced(function: Callable[..., Value]) -> Twin:
    """A reduction along axes."""

    def twin(g: Graph, op: reduce.Reduction, values: Operands) -> Value:
        x, axes = given(values, 0), [axis + 1 for axis in op.axes]
        return function(x, axes).reshape(x.shape[0], *op.output(g).shape) if axes else x

    return twin


def _product(x: Value, axes: list[int]) -> Value:
    for axis in axes:
        x = x.prod(axis, keepdim=True)
    return x


TWINS: dict[type, Twin] = {
    **{kind: one(function) for kind, function in UNARY.items()},
    **{kind: two(function) for kind, function in BINARY.items()},
    activations.LeakyRelu: leaky,
    unary_math.Gelu: gelu,
    AddN: total,
    Cast: cast,
    CumSum: running_sum,
    TopK: largest,
    Mean: reduced(torch.mean),
    EvenMean: reduced(torch.mean),
    reduce.Sum: reduced(torch.sum),
    reduce.ReduceMax: reduced(torch.amax),
    reduce.ReduceMin: reduced(torch.amin),
    reduce.ReduceProd: reduced(_product),
}
