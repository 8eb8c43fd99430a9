"""Arguments of the macros in `mote_layer.h`: the C types of a layer and the requantization of its accumulators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Params, Refusal, Structs, View
from mote.compiler.kernels.pack.params import channel_structs, output_params
from mote.compiler.kernels.pack.requantize.even import even_finish, rounds_to_even
from mote.compiler.kernels.pack.requantize.round_once_s16 import Exact, exact_scale
from mote.compiler.kernels.pack.weights.halves import WIDER, are_halves, in_halves
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, reduced
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import (
    bias_values,
    channel_scales,
    float_bias,
    float_range,
    quantized_range,
    real_scales,
    wide_sums,
)
from mote.ir.ops.matrix.accumulators import wide_parts
from mote.ir.ops.matrix.affine_layer import AffineLayer
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.fully_connected_dynamic import Projection
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.transpose_conv import TransposeConv

WORD = 0xFFFFFFFF
HIGH = 16
"""Right shifts of 32-bit accumulators greater than this are replaced by the high word of a product with a multiplier
2^16 times as large."""
CTYPES = {"int8": "int8_t", "int16": "int16_t"}
CTYPE_SUFFIXES = {"int8_t": "s8", "int16_t": "s16"}


@dataclass(frozen=True)
class LayerForm:
    """The C variant of a layer: suffix of the kernel's name, macro arguments after the name, and fields of its
    `finish_t` (bias, requantization, limits)."""

    suffix: str
    arguments: tuple[str, ...]
    finish: Params
    quads: str = ""
    """Name of the macro that accumulates four products at a time, if the types have one."""
    headers: tuple[str, ...] = ()
    """Names of further headers, which define `finish_t` or decode weights."""
    halves: bool = False
    """Whether weights are stored as float16."""

    def stored(self, weights: Array) -> Array:
        """Weights in the format stored in flash."""
        return in_halves(weights) if self.halves else weights


def quads(weights: Array) -> Array:
    """Weights with the middle two of every four on the last axis swapped; a remainder is unchanged."""
    fours = weights.shape[-1] // 4 * 4
    swapped = weights.copy()
    swapped[..., 1:fours:4], swapped[..., 2:fours:4] = weights[..., 2:fours:4], weights[..., 1:fours:4]
    return swapped


def form(
    view: View, *, axis: int = 0, rounding: Rounding = Rounding.TWICE, halves: bool = False
) -> LayerForm | Refusal:
    """The C variant of a layer with constant weights, whose output channels are on `axis`. `halves`: float32 weights
    are stored as float16."""
    op = view.op
    if isinstance(op, AffineLayer):
        return _affine(view, op)
    assert isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected | GroupedConv2D | TransposeConv)
    if halves:
        return _halves(view, op.activation) if are_halves(view) else WIDER
    if view.input.dtype == DType.FLOAT32:
        return _hybrid(view, op.activation) if view.constant(1).dtype == np.int8 else float_layer(view, op.activation)
    if view.input.dtype == DType.INT8:
        return _even(view, op) if rounds_to_even(view) else _bytes(view, op.activation)
    return _shorts(view, op.activation, axis, rounding)


def _bias(view: View) -> NDArray[np.int64]:
    return bias_values(view.op.tensor(view.graph, 2), view.output.channels)


def float_finish(view: View, activation: Activation) -> Params:
    """Bias and clamping limits of a float32 layer (`mote_finish_f32_t`)."""
    low, high = float_range(activation)
    return {"bias": float_bias(view.op.tensor(view.graph, 2), view.output.channels), "low": low, "high": high}


def lean(view: View) -> bool:
    """Whether a float32 layer computes one output channel at a time to save code: where flash matters more than time,
    or for float32 weights, whose faster kernels only need an FPU."""
    if view.input.dtype != DType.FLOAT32 or isinstance(view.op, GroupedConv2D | TransposeConv):
        return False
    return view.small or view.constant(1).dtype == np.float32


def float_layer(view: View, activation: Activation) -> LayerForm:
    """The variant with float32 activations, weights and accumulators."""
    how = "mote_finish_f32_t", "MOTE_LAYER_NO_ZERO", "mote_add_product_f32", "MOTE_START_ZERO", "MOTE_FINISH_F32"
    return LayerForm("f32", ("float",) * 5 + how, float_finish(view, activation))


def _halves(view: View, activation: Activation) -> LayerForm:
    """The variant with float32 activations and float16 weights."""
    real, types = float_layer(view, activation), ("float", "uint16_t", "float", "float", "float")
    how = tuple("mote_add_half_product" if name == "mote_add_product_f32" else name for name in real.arguments[5:])
    return LayerForm("halves", types + how, real.finish, headers=("half",), halves=True)


def _hybrid(view: View, activation: Activation) -> LayerForm:
    """The variant with float32 activations and int8 weights."""
    quant = view.op.input(view.graph, 1).quant
    assert quant is not None
    types = "float", "int8_t", "float", "float", "float"
    how = "mote_finish_hybrid_t", "MOTE_LAYER_NO_ZERO", "MOTE_LAYER_ADD", "MOTE_START_ZERO", "MOTE_FINISH_HYBRID"
    scales: Params = {"scale": quant.scale, "step": int(quant.per_channel)}
    return LayerForm("hybrid", types + how, float_finish(view, activation) | scales)


def _affine(view: View, op: AffineLayer) -> LayerForm:
    tensors = view.input.dtype.numpy, view.constant(1).dtype, view.output.dtype.numpy
    given, weights, made = (CTYPES[t.name] for t in tensors)
    types, bits = (given, weights, "int32_t", "int32_t", made), 8 if made == "int8_t" else 16
    how = "mote_finish_affine_t", "MOTE_LAYER_ZERO", "MOTE_LAYER_PLUS", "MOTE_START_AFFINE", f"MOTE_FINISH_AFFINE{bits}"
    mult, shift, add = op.scales(view.graph)
    rows = np.stack([op.bias(view.graph), mult, np.where(mult == 0, 1, 31 - shift), add], axis=1)
    (lo, hi), channels = op.limits, Structs("mote_affine_t", rows)
    finish: Params = {"channel": channels, "origin": op.origin, "lo": lo, "hi": hi}
    suffix = "_".join(("affine", *(CTYPE_SUFFIXES[t] for t in (given, weights, made))))
    return LayerForm(suffix, types + how, finish, headers=("affine",))


def _bytes(view: View, activation: Activation) -> LayerForm:
    scales = channel_scales(view.input, view.op.input(view.graph, 1), view.output, view.output.channels)
    channels = channel_structs(_bias(view), *scales)
    finish: Params = {"channel": channels, "output": output_params(activation, view.output, channels)}
    types = "int8_t", "int8_t", "int32_t", "int32_t", "int8_t"
    how = "mote_finish_s8_t", "MOTE_LAYER_ZERO", "MOTE_LAYER_PLUS", "MOTE_START_S8", "MOTE_FINISH_S8"
    return LayerForm("s8", types + how, finish)


def _even(view: View, op: Conv2D | DepthwiseConv2D | FullyConnected | GroupedConv2D | TransposeConv) -> LayerForm:
    """The int8 variant that rounds to even; weights may have 9 bits."""
    sums = op.sums(view.graph, view.graph.ranges[op.inputs[0]])
    weights = CTYPES[view.constant(1).dtype.name]
    types = "int8_t", weights, "int32_t", "int32_t", "int8_t"
    how = "mote_finish_s8_t", "MOTE_LAYER_ZERO", "MOTE_LAYER_PLUS", "MOTE_START_S8", "MOTE_FINISH_EVEN"
    finish = even_finish(view, op.activation, sums, _bias(view))
    return LayerForm(f"even_{CTYPE_SUFFIXES[weights]}", types + how, finish, headers=("even",))


def _shorts(view: View, activation: Activation, axis: int, rounding: Rounding) -> LayerForm | Refusal:
    """The int16 variant; accumulators have 32 bits where they provably fit, or where LiteRT's wrap."""
    lo, hi = quantized_range(activation, view.output)
    wide, once = wide_sums(view.graph, view.op), rounding is Rounding.ONCE
    if not wide and not once:
        return _narrow(view, lo, hi)
    largest = wide_parts(view.constant(1), axis, _bias(view))
    bits = 64 if wide and largest > INT32_MAX else 32
    scale = exact_scales(view, min(largest, 1 << 31) if bits == 32 else largest) if once else _wide_scales(view)
    if isinstance(scale, Refusal):
        return scale
    kind, way = ("exact", "EXACT") if once else ("wide", "WIDE")
    if not once and bits == 32 and scale.rows[:, 1].min() > HIGH:
        scale, way = (
            Structs(scale.ctype, scale.rows * np.array([1 << HIGH, 1], np.int64) - np.array([0, HIGH], np.int64)),
            "HIGH",
        )
    types = "int16_t", "int8_t", "int32_t", f"int{bits}_t", "int16_t"
    plus = "MOTE_LAYER_ADD" if wide else "MOTE_LAYER_PLUS"
    how = f"mote_finish_{kind}{bits}_t", "MOTE_LAYER_NO_ZERO", plus, "MOTE_START_BIAS", f"MOTE_FINISH_{way}"
    suffix = "s16_sums64" if bits == 64 else "s16_sums32" if not wide else "s16_high" if way == "HIGH" else "s16"
    bias = _bias(view).astype(f"int{bits}")
    return LayerForm(
        suffix, (*types, *how), {"bias": bias, "lo": lo, "hi": hi, "scale": scale}, f"MOTE_DOTS_QUADS{bits}"
    )


def _narrow(view: View, lo: int, hi: int) -> LayerForm:
    """The int16 variant with 32-bit accumulators that may wrap, requantized as in int8 layers."""
    scales = channel_scales(view.input, view.op.input(view.graph, 1), view.output, view.output.channels)
    types = "int16_t", "int8_t", "int32_t", "int32_t", "int16_t"
    how = "mote_finish_narrow_t", "MOTE_LAYER_NO_ZERO", "MOTE_LAYER_PLUS", "MOTE_START_S8", "MOTE_FINISH_NARROW"
    finish: Params = {"channel": channel_structs(_bias(view), *scales), "lo": lo, "hi": hi}
    return LayerForm("s16_narrow", types + how, finish, "MOTE_DOTS_QUADS32")


def _wide_scales(view: View) -> Structs:
    """Requantization constants for int16 layers with wide accumulators: `mote_wide_t` for each channel."""
    mult, shift = channel_scales(view.input, view.op.input(view.graph, 1), view.output, view.output.channels)
    return Structs("mote_wide_t", np.stack([reduced(mult), np.where(mult == 0, HIGH + 1, 15 - shift)], axis=1))


def projection(view: View) -> LayerForm | Refusal:
    """The C variant of a fully connected layer whose weights are an activation tensor."""
    op, y, g = view.the(Projection), view.output, view.graph
    if y.dtype == DType.FLOAT32:
        real = float_layer(view, op.activation)
        return LayerForm(real.suffix, (*real.arguments, "MOTE_LAYER_NO_ZERO"), real.finish)
    if op.narrow(g) and not op.rounds_once(g):
        twice = (
            _bytes(view, op.activation) if y.dtype == DType.INT8 else _narrow(view, *quantized_range(op.activation, y))
        )
        zero = "MOTE_LAYER_WEIGHT_ZERO" if y.dtype == DType.INT8 else "MOTE_LAYER_NO_ZERO"
        return LayerForm(f"{twice.suffix}_twice", (*twice.arguments, zero), twice.finish)
    lo, hi = (bound - y.zero_point for bound in quantized_range(op.activation, y))
    scale = exact_scales(view, op.largest(g)) if op.rounds_once(g) else _wide_scales(view)
    if isinstance(scale, Refusal):
        return scale
    bits = 32 if op.narrow(g) else 64
    finish: Params = {"bias": _bias(view).astype(f"int{bits}"), "scale": scale, "lo": lo, "hi": hi}
    plus = "MOTE_LAYER_PLUS" if op.narrow(g) else "MOTE_LAYER_ADD"
    if y.dtype == DType.INT8:
        types = "int8_t", "int8_t", "int32_t", "int32_t", "int8_t", "mote_finish_exact8_t"
        how = "MOTE_LAYER_ZERO", plus, "MOTE_START_BIAS", "MOTE_FINISH_EXACT8", "MOTE_LAYER_WEIGHT_ZERO"
        return LayerForm("s8", types + how, finish | {"zero": y.zero_point})
    kind = "exact" if op.rounds_once(g) else "wide"
    weights = f"{op.input(g, 1).dtype}_t"
    types = "int16_t", weights, "int32_t", f"int{bits}_t", "int16_t", f"mote_finish_{kind}{bits}_t"
    none = "MOTE_LAYER_NO_ZERO"
    suffix = f"s16_{CTYPE_SUFFIXES[weights]}_{kind}{bits}"
    return LayerForm(suffix, (*types, none, plus, "MOTE_START_BIAS", f"MOTE_FINISH_{kind.upper()}", none), finish)


def exact_scales(view: View, largest: int) -> Structs | Refusal:
    """Requantization constants that round once: `mote_exact_t` for each channel, or a refusal if there are none."""
    reals = real_scales(view.input, view.op.input(view.graph, 1), view.output, view.output.channels)
    scales: list[Exact] = []
    for real in reals.tolist():
        scale = exact_scale(real, largest)
        if scale is None:
            return Refusal("no factors of 62 bits give LiteRT's results")
        scales.append(scale)
    return Structs("mote_exact_t", np.array([(f >> 32, f & WORD, shift) for f, shift in scales], np.int64))
