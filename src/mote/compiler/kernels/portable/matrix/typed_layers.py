"""Layers as instances of the macros in `mote_layer_*.h`: float32, hybrid (float32 with int8 weights), float32 with
float16 weights, int16, grouped convolutions, rounded to even, affine requantization, and weights that are
activations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from mote.compiler.kernels.contract import (
    FLOAT32,
    HYBRID,
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Packed,
    Params,
    Price,
    Refusal,
    Signature,
    View,
    signature,
    units_of,
)
from mote.compiler.kernels.pack.layers import LayerForm, form, lean, projection, quads
from mote.compiler.kernels.pack.params import spread_params, window_params
from mote.compiler.kernels.pack.requantize.even import NOT_TO_EVEN, TO_EVEN, rounds_to_even
from mote.compiler.kernels.portable.matrix.weights9bit import WIDE
from mote.ir.graph.types import DType
from mote.ir.ops.matrix.affine_layer import AffineConv2D, AffineDepthwiseConv2D, AffineFullyConnected
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.fully_connected_dynamic import Projection
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.transpose_conv import TransposeConv

INT16 = signature(DType.INT16, DType.INT16)
INTEGERS = frozenset({DType.INT8, DType.INT16})
AFFINE = Signature(INTEGERS, INTEGERS, INTEGERS)
INTEGER_COSTS = "conv2d_s16"
"""Cost family of integer layers that multiply one product at a time."""


def _layer(
    view: View, variant: LayerForm, layer: str, params: Params, entry: Entry, *, quads: bool = False, costs: str = ""
) -> Packed:
    """Packs an instance of `MOTE_LAYER_<LAYER>`, which computes one output channel at a time or four. `quads`: for
    weights reordered in groups of four inputs."""
    how, dots = ("quads_", variant.quads) if quads else ("one_", "MOTE_DOTS_ONE") if lean(view) else ("", "MOTE_DOTS")
    name = f"layer_{layer}_{how}{variant.suffix}"
    instances = (Instance(f"MOTE_LAYER_{layer.upper()}", (name, *variant.arguments, dots)),)
    entry = replace(entry, row=f"{name}_row") if entry.call is Call.ROWS else entry
    params = {**params, "finish": variant.finish}
    beats = tuple(f"{kind}_f32" for kind in (layer, "grouped")) if variant.halves and not view.fast else ()
    return Packed(
        name, params, entry, price=Price(costs=costs), instances=instances, headers=variant.headers, beats=beats
    )


def _conv2d(view: View, *, halves: bool = False) -> Packed | Refusal:
    """Packs a convolution, grouped or not."""
    op, weights, channels = view.op, view.constant(1), view.input.shape[3]
    assert isinstance(op, Conv2D | GroupedConv2D | AffineConv2D)
    variant = form(view, halves=halves)
    if isinstance(variant, Refusal):
        return variant
    depth = weights.shape[3]
    by_fours = bool(variant.quads) and depth % 4 == 0
    groups = channels // depth
    params: Params = {
        **window_params(view),
        "in_channels": channels,
        "groups": groups,
        "depth": depth,
        "outputs": weights.shape[0] // groups,
        "in_zero": view.input.zero_point,
        "weights": quads(weights) if by_fours else variant.stored(weights),
    }
    entry, costs = Entry(Call.ROWS, taps=op.vertical.kernel), "conv2d_quads_s16" if by_fours else ""
    return _layer(view, variant, "conv2d", params, entry, quads=by_fours, costs=costs)


def _depthwise(view: View, *, halves: bool = False) -> Packed | Refusal:
    op = view.op
    assert isinstance(op, DepthwiseConv2D | AffineDepthwiseConv2D)
    variant = form(view, axis=3, halves=halves)
    if isinstance(variant, Refusal):
        return variant
    params: Params = {
        **window_params(view),
        "in_channels": view.input.shape[3],
        "channels": view.output.shape[3],
        "multiplier": op.multiplier,
        "in_zero": view.input.zero_point,
        "weights": variant.stored(np.ascontiguousarray(view.constant(1)[0])),
    }
    return _layer(view, variant, "depthwise", params, Entry(Call.ROWS, taps=op.vertical.kernel))


def _fully_connected(view: View, *, halves: bool = False) -> Packed | Refusal:
    op, weights = view.op, view.constant(1)
    assert isinstance(op, FullyConnected | AffineFullyConnected)
    variant = form(view, rounding=op.rounding, halves=halves) if isinstance(op, FullyConnected) else form(view)
    if isinstance(variant, Refusal):
        return variant
    channels, depth = weights.shape
    params: Params = {
        "depth": depth,
        "channels": channels,
        "in_zero": view.input.zero_point,
        "weights": quads(weights) if variant.quads else variant.stored(weights),
    }
    entry = Entry(Call.FLAT, units_of(view.input.shape, depth))
    return _layer(view, variant, "fully_connected", params, entry, quads=bool(variant.quads))


def _even(pack: Callable[[View], Packed | Refusal]) -> Callable[[View], Packed | Refusal]:
    """Wraps a packer so that it only accepts layers that round to even."""
    return lambda view: pack(view) if rounds_to_even(view) else NOT_TO_EVEN


def _inexact(view: View) -> Packed | Refusal:
    """Packs a fully connected layer without exact integer requantization constants; other kernels compute those that
    have some."""
    op = view.the(FullyConnected)
    exact = rounds_to_even(view) and op.sums(view.graph, view.graph.ranges[op.inputs[0]]).exact.all()
    return Refusal("multipliers of 31 bits give the reference's results") if exact else _fully_connected(view)


def _grouped(view: View) -> Packed | Refusal:
    return TO_EVEN if rounds_to_even(view) else _conv2d(view)


def _projection(view: View) -> Packed | Refusal:
    variant = projection(view)
    if isinstance(variant, Refusal):
        return variant
    weights = view.op.input(view.graph, 1)
    channels, depth = weights.shape
    params: Params = {
        "depth": depth,
        "channels": channels,
        "in_zero": view.input.zero_point,
        "weight_zero": weights.zero_point,
        "finish": variant.finish,
    }
    name = f"layer_projection_{variant.suffix}"
    instances = (Instance("MOTE_LAYER_PROJECTION", (name, *variant.arguments)),)
    vectors = units_of(view.input.shape, depth)
    return Packed(name, params, Entry(Call.FLAT, vectors, operands=(0, 1)), instances=instances)


def _transpose_conv(view: View, *, halves: bool = False) -> Packed | Refusal:
    variant = form(view, halves=halves)
    if isinstance(variant, Refusal):
        return variant
    params: Params = {
        **spread_params(view),
        "in_zero": view.input.zero_point,
        "weights": quads(view.constant(1)) if variant.quads else variant.stored(view.constant(1)),
    }
    entry = Entry(Call.ROWS, row_index=True, taps=view.the(TransposeConv).taps)
    return _layer(view, variant, "transpose_conv", params, entry, quads=bool(variant.quads))


FULLY_CONNECTED_HALVES = partial(_fully_connected, halves=True)
TRANSPOSE_CONV_HALVES = partial(_transpose_conv, halves=True)
KERNELS = tuple(
    Kernel(name, (kind,), types, pack, header=f"layer_{layer}", costs=costs)
    for layer, name, kind, types, pack, costs in (
        ("conv2d", "conv2d_halves", Conv2D, FLOAT32, partial(_conv2d, halves=True), ""),
        ("conv2d", "conv2d_f32", Conv2D, FLOAT32, _conv2d, ""),
        ("conv2d", "conv2d_hybrid", Conv2D, HYBRID, _conv2d, "conv2d_f32"),
        ("conv2d", "conv2d_s16", Conv2D, INT16, _conv2d, ""),
        ("conv2d", "conv2d_affine", AffineConv2D, AFFINE, _conv2d, INTEGER_COSTS),
        ("conv2d", "conv2d_even_wide", Conv2D, WIDE, _even(_conv2d), INTEGER_COSTS),
        ("conv2d", "grouped", GroupedConv2D, INT8, _grouped, INTEGER_COSTS),
        ("conv2d", "grouped_even", GroupedConv2D, INT8, _even(_conv2d), INTEGER_COSTS),
        ("conv2d", "grouped_s16", GroupedConv2D, INT16, _conv2d, INTEGER_COSTS),
        ("conv2d", "grouped_halves", GroupedConv2D, FLOAT32, partial(_conv2d, halves=True), "conv2d_halves"),
        ("conv2d", "grouped_f32", GroupedConv2D, FLOAT32, _conv2d, "conv2d_f32"),
        ("depthwise", "depthwise_halves", DepthwiseConv2D, FLOAT32, partial(_depthwise, halves=True), ""),
        ("depthwise", "depthwise_f32", DepthwiseConv2D, FLOAT32, _depthwise, ""),
        ("depthwise", "depthwise_hybrid", DepthwiseConv2D, HYBRID, _depthwise, "depthwise_f32"),
        ("depthwise", "depthwise_s16", DepthwiseConv2D, INT16, _depthwise, ""),
        ("depthwise", "depthwise_affine", AffineDepthwiseConv2D, AFFINE, _depthwise, "depthwise_s16"),
        ("depthwise", "depthwise_even_wide", DepthwiseConv2D, WIDE, _even(_depthwise), "depthwise_s16"),
        ("fully_connected", "fully_connected_halves", FullyConnected, FLOAT32, FULLY_CONNECTED_HALVES, ""),
        ("fully_connected", "fully_connected_f32", FullyConnected, FLOAT32, _fully_connected, ""),
        ("fully_connected", "fully_connected_hybrid", FullyConnected, HYBRID, _fully_connected, "fully_connected_f32"),
        ("fully_connected", "fully_connected_s16", FullyConnected, INT16, _fully_connected, ""),
        ("fully_connected", "fully_connected_affine", AffineFullyConnected, AFFINE, _fully_connected, INTEGER_COSTS),
        ("fully_connected", "fully_connected_even_wide", FullyConnected, WIDE, _even(_inexact), INTEGER_COSTS),
        ("projection", "projection", Projection, INT8, _projection, INTEGER_COSTS),
        ("projection", "projection_s16", Projection, INT16, _projection, INTEGER_COSTS),
        ("projection", "projection_f32", Projection, FLOAT32, _projection, "fully_connected_f32"),
        ("transpose_conv", "transpose_conv_halves", TransposeConv, FLOAT32, TRANSPOSE_CONV_HALVES, "conv2d_halves"),
        ("transpose_conv", "transpose_conv_f32", TransposeConv, FLOAT32, _transpose_conv, "conv2d_f32"),
        ("transpose_conv", "transpose_conv_s16", TransposeConv, INT16, _transpose_conv, INTEGER_COSTS),
        ("transpose_conv", "transpose_conv_even", TransposeConv, INT8, _even(_transpose_conv), INTEGER_COSTS),
    )
)
