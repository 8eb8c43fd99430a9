"""Chains of float32 unary functions fused into one kernel: `mote_formula_f32.h`, with generated C expressions."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import numpy as np

from mote.compiler.kernels.contract import FLOAT32, OTHER_F32, Call, Entry, Instance, Kernel, Needs, Packed, View
from mote.ir.graph import Graph, Op
from mote.ir.ops.common import float_range
from mote.ir.ops.elementwise import unary_math
from mote.ir.ops.elementwise.activations import Clamp, HardSwish, LeakyRelu, Logistic, Tanh
from mote.ir.ops.elementwise.arithmetic import Add, Arithmetic, Mul, Sub
from mote.ir.ops.elementwise.binary_unscaled import Maximum, Minimum, Pow
from mote.ir.ops.elementwise.division import Div
from mote.ir.ops.elementwise.fused_elementwise import FusedElementwise
from mote.ir.ops.elementwise.squared_difference import SquaredDifference

SIGNS: dict[type[Op], str] = {Add: "+", Sub: "-", Mul: "*", Div: "/"}

EXPRESSIONS: dict[type[Op], Callable[[str], str]] = {
    Logistic: "mote_logisticf({})".format,
    Tanh: "mote_tanhf({})".format,
    HardSwish: "mote_formula_hard_swish({})".format,
    unary_math.Abs: "mote_fabsf({})".format,
    unary_math.Exp: "mote_expf({})".format,
    unary_math.Log: "mote_logf({})".format,
    unary_math.Neg: "-{}".format,
    unary_math.Rsqrt: "1.0f / mote_sqrtf({})".format,
    unary_math.Sqrt: "mote_sqrtf({})".format,
    unary_math.Square: "{0} * {0}".format,
}

PAIRS: dict[type[Op], Callable[[str, str], str]] = {
    Maximum: "{0} > {1} ? {0} : {1}".format,
    Minimum: "{0} < {1} ? {0} : {1}".format,
    SquaredDifference: "({0} - {1}) * ({0} - {1})".format,
}


def _formula(view: View) -> Packed:
    inner = view.the(FusedElementwise).inner
    names = {inner.inputs[0]: "x"}
    steps = []
    for number, op in enumerate(inner.ops):
        steps.append(f"const float v{number} = {_expression(inner, op, names)}")
        names[op.outputs[0]] = f"v{number}"
    code = "; ".join(steps)
    name = f"formula_{crc32(code.encode()):08x}_f32"
    instance = Instance("MOTE_FORMULA_F32", (name, code, names[inner.outputs[0]]))
    return Packed(name, {"unused": 0}, Entry(Call.FLAT, view.output.size), Needs(in_place=(0,)), instances=(instance,))


def _expression(inner: Graph, op: Op, names: dict[int, str]) -> str:
    """The C expression of one operator, with its inputs by variable name."""
    given = [names[i] if i in names else _literal(inner, i) for i in op.inputs]
    if isinstance(op, Pow):
        return " * ".join([given[0]] * (2 if op.input(inner, 1).data == 2 else 3))
    if isinstance(op, Arithmetic):
        result = f"{given[0]} {SIGNS[type(op)]} {given[1]}"
        return _clamped(result, *op.real_range)
    if isinstance(op, Clamp):
        low, high = map(_number, float_range(op.clamp))
        return f"mote_clamp_f32({given[0]}, {low}, {high})"
    if isinstance(op, LeakyRelu):
        return f"{given[0]} > 0.0f ? {given[0]} : {given[0]} * {_number(op.alpha)}"
    return EXPRESSIONS[type(op)](*given) if len(given) == 1 else PAIRS[type(op)](*given)


def _clamped(result: str, low: float, high: float) -> str:
    """A C expression clamped to low..high, where infinities are no limits."""
    if np.isfinite(low) and np.isfinite(high):
        return f"mote_clamp_f32({result}, {_number(low)}, {_number(high)})"
    if np.isfinite(low):
        return f"mote_clamp_f32({result}, {_number(low)}, MOTE_INFINITY)"
    return result


def _literal(inner: Graph, tensor: int) -> str:
    data = inner.tensors[tensor].data
    assert data is not None
    return _number(float(data.reshape(-1)[0]))


def _number(value: float) -> str:
    """A float32 literal in C that reads back as exactly this number."""
    digits = f"{np.float32(value):.9g}"
    text = digits if "." in digits or "e" in digits else f"{digits}.0"
    return f"({text}f)" if value < 0 else f"{text}f"


KERNELS = (Kernel("formula_f32", (FusedElementwise,), FLOAT32, _formula, header="formula_f32", costs=OTHER_F32),)
