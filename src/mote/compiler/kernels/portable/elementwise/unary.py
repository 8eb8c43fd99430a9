"""Element-wise unary operators: lookup tables for 8-bit types (`mote_lut_s8.h`), float32 (`mote_unary_f32.h`,
`mote_functions_f32.h`), int16 by interpolation (`mote_lut_s16.h`, `mote_sigmoid_s16.h`), linear (`mote_linear_s16.h`)
or square root (`mote_sqrt_s16.h`), and unquantized integers (`mote_integers.h`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mote.compiler.kernels.contract import (
    FLOAT32,
    INT8,
    OTHER,
    OTHER_F32,
    OTHER_S16,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    Signature,
    View,
    signature,
)
from mote.compiler.kernels.pack.params import scale_params
from mote.ir.graph import Op
from mote.ir.graph.numeric.fixedpoint16 import SIGMOID
from mote.ir.graph.types import DType
from mote.ir.ops.common import FLOAT_MAX, quantized_range
from mote.ir.ops.elementwise import unary_math
from mote.ir.ops.elementwise.activations import (
    Clamp,
    Flip,
    HardSwish,
    Interpolated,
    LeakyRelu,
    Logistic,
    Relu,
    Relu6,
    Sigmoid,
    Tanh,
    Unary,
)
from mote.ir.ops.elementwise.arithmetic import Binary

INT16 = signature(DType.INT16, DType.INT16)
BYTES = Signature(*(frozenset({DType.INT8, DType.UINT8}),) * 2)


def _lut(view: View) -> Packed:
    table = view.the(Unary).table(view.graph)
    return Packed("lut_s8", {"table": table}, Entry(Call.FLAT, view.output.size), Needs(in_place=(0,)))


def _lut_of_one(view: View) -> Packed | Refusal:
    """The table of an operator with two operands, one of which is a constant scalar."""
    op = view.the(Binary)
    table = op.table(view.graph)
    if table is None:
        return Refusal("it is no function of one int8 value: no operand is a constant scalar")
    ((position, _),) = op.computed(view.graph)
    entry = Entry(Call.FLAT, view.output.size, operands=(position,))
    return Packed("lut_s8", {"table": table}, entry, Needs(in_place=(position,)))


def _flip(view: View) -> Packed:
    params: Params = {"unused": 0}
    return Packed("flip", params, Entry(Call.FLAT, view.output.size), Needs(in_place=(0,)), beats=("lut",))


def _nothing(view: View) -> Params:
    """Parameters of a function without any: a struct in C must have a field."""
    return {"unused": 0}


def _limits(view: View) -> Params:
    low, high = view.the(Clamp).clamp.bounds
    return {"low": low, "high": min(high, FLOAT_MAX)}


def _slope(view: View) -> Params:
    return {"alpha": view.the(LeakyRelu).alpha}


def _real(name: str, op: type[Op], params: Callable[[View], Params]) -> Kernel:
    def pack(view: View) -> Packed:
        return Packed(name, params(view), Entry(Call.FLAT, view.output.size), Needs(in_place=(0,)))

    return Kernel(name, (op,), FLOAT32, pack, header="unary_f32", costs="unary_f32")


def _function(name: str, op: type[Op]) -> Kernel:
    """Catalogue entry of a float32 function without parameters."""

    def pack(view: View) -> Packed:
        return _elements(view, f"{name}_f32", {"unused": 0})

    return Kernel(f"{name}_f32", (op,), FLOAT32, pack, header="functions_f32", costs=OTHER_F32)


def _elements(view: View, name: str, params: Params, *instances: Instance) -> Packed:
    return Packed(name, params, Entry(Call.FLAT, view.output.size), Needs(in_place=(0,)), instances=instances)


def _gelu(view: View) -> Packed:
    name = "gelu_tanh_f32" if view.the(unary_math.Gelu).approximate else "gelu_f32"
    return _elements(view, name, {"unused": 0})


def _interpolated(view: View) -> Packed:
    return _elements(view, "lut_s16", {"ends": view.the(Interpolated).ends(view.input, view.output)})


def _sigmoid(view: View) -> Packed:
    name = "sigmoid_tanh_s16" if isinstance(view.op, Tanh) else "sigmoid_s16"
    mult, shift = view.the(Sigmoid).argument(view.input)
    params: Params = {"table": SIGMOID.astype(np.int16), "mult": mult, "shift": shift, "round": 1 << shift >> 1}
    return _elements(view, name, params)


def _relu(view: View) -> Packed:
    op = view.the(Clamp)
    (scale,), (low, high) = op.scales(view.input, view.output), quantized_range(op.clamp, view.output)
    return _elements(view, "relu_s16", {**scale_params(*scale), "lo": low, "hi": high})


def _leaky_relu(view: View) -> Packed:
    op = view.the(LeakyRelu)
    above, below = (scale_params(*scale) for scale in op.scales(view.input, view.output))
    slope = {f"below_{name}": value for name, value in below.items()}
    return _elements(view, "leaky_relu_s16", {**above, **slope, "falls": int(op.alpha < 0)})


def _abs(view: View) -> Packed | Refusal:
    op = view.the(unary_math.Abs)
    if not op.rescales(view.input):
        return Refusal("tensors are not quantized")
    return _elements(view, "abs_s16", scale_params(*op.scales(view.input, view.output)[0]))


def _sqrt(view: View) -> Packed:
    return _elements(view, "sqrt_s16", {"in_scale": view.input.scale, "out_scale": view.output.scale})


WORDS = {
    DType.INT16: ("s16", "int16_t", "uint32_t"),
    DType.INT32: ("s32", "int32_t", "uint32_t"),
    DType.INT64: ("s64", "int64_t", "uint64_t"),
}
"""For each unquantized integer type: suffix of kernel names, C type, and the unsigned type for wrapping negation."""


def _plain(macro: str, name: str, op: type[Op], *types: DType) -> Kernel:
    """Catalogue entry of an element-wise function of unquantized integers."""

    def pack(view: View) -> Packed | Refusal:
        if isinstance(view.op, unary_math.Abs) and view.op.rescales(view.input):
            return Refusal("tensors are quantized")
        suffix, ctype, word = WORDS[view.input.dtype]
        made = f"{name}_plain_{suffix}"
        return _elements(view, made, {"unused": 0}, Instance(macro, (made, ctype, word)))

    kinds = Signature(frozenset(types), frozenset(types))
    return Kernel(f"{name}_plain", (op,), kinds, pack, header="integers", costs=OTHER)


def _logical_not(view: View) -> Packed:
    return _elements(view, "logical_not", {"unused": 0}, Instance("MOTE_NOT", ("logical_not",)))


KERNELS = (
    Kernel("flip", (Flip,), BYTES, _flip, costs=OTHER),
    Kernel("lut", (Unary,), BYTES, _lut, tuned=True),
    Kernel("lut", (Binary,), INT8, _lut_of_one, tuned=True),
    _real("logistic_f32", Logistic, _nothing),
    _real("tanh_f32", Tanh, _nothing),
    _real("relu_f32", Clamp, _limits),
    _real("leaky_relu_f32", LeakyRelu, _slope),
    _real("hard_swish_f32", HardSwish, _nothing),
    _function("exp", unary_math.Exp),
    _function("log", unary_math.Log),
    _function("sqrt", unary_math.Sqrt),
    _function("rsqrt", unary_math.Rsqrt),
    _function("sin", unary_math.Sin),
    _function("cos", unary_math.Cos),
    _function("square", unary_math.Square),
    _function("abs", unary_math.Abs),
    _function("neg", unary_math.Neg),
    _function("sign", unary_math.Sign),
    _function("ceil", unary_math.Ceil),
    _function("floor", unary_math.Floor),
    _function("round", unary_math.Round),
    _function("elu", unary_math.Elu),
    Kernel("gelu_f32", (unary_math.Gelu,), FLOAT32, _gelu, header="functions_f32", costs=OTHER_F32),
    Kernel("lut_s16", (Interpolated,), INT16, _interpolated, costs=OTHER_S16),
    Kernel("sigmoid_s16", (Sigmoid,), INT16, _sigmoid, header="sigmoid_s16", costs=OTHER_S16),
    *(Kernel("relu_s16", (op,), INT16, _relu, header="linear_s16", costs=OTHER_S16) for op in (Relu, Relu6)),
    Kernel("leaky_relu_s16", (LeakyRelu,), INT16, _leaky_relu, header="linear_s16", costs=OTHER_S16),
    Kernel("abs_s16", (unary_math.Abs,), INT16, _abs, header="linear_s16", costs=OTHER_S16),
    Kernel("sqrt_s16", (unary_math.Sqrt,), INT16, _sqrt, costs=OTHER_S16),
    _plain("MOTE_ABS", "abs", unary_math.Abs, DType.INT16, DType.INT32),
    _plain("MOTE_NEG", "neg", unary_math.Neg, DType.INT16, DType.INT32, DType.INT64),
    _plain("MOTE_SIGN", "sign", unary_math.Sign, DType.INT32),
    Kernel(
        "logical_not",
        (unary_math.LogicalNot,),
        signature(DType.BOOL, DType.BOOL),
        _logical_not,
        header="integers",
        costs=OTHER,
    ),
)
