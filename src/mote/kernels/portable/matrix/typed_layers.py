"""Layers with weights in other types than those that have kernels of their own: `mote_layer_*.h`, macros over types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mote.graph.types import DType
from mote.kernels.contract import (
    FLOAT32,
    INT8,
    Call,
    Entry,
    Kernel,
    Packed,
    Params,
    Price,
    Refusal,
    View,
    signature,
    units_of,
)
from mote.kernels.pack.layers import form, projection, quads
from mote.kernels.pack.params import window_params
from mote.kernels.pack.requantize.even import NOT_TO_EVEN, TO_EVEN, rounds_to_even
from mote.kernels.portable.matrix.weights9bit import WIDE
from mote.ops.matrix.fully_connected import FullyConnected
from mote.ops.matrix.fully_connected_dynamic import Projection
from mote.ops.windows.conv import Conv2D
from mote.ops.windows.depthwise import DepthwiseConv2D
from mote.ops.windows.grouped_conv import GroupedConv2D
from mote.ops.windows.transpose_conv import TransposeConv

INT16 = signature(DType.INT16, DType.INT16)
INTEGER_COSTS = "conv2d_s16"
"""What layers cost whose integers are multiplied one by one."""


def _conv2d(view: View) -> Packed | Refusal:
    """Of all channels, or of groups of them."""
    op, weights = view.op, view.constant(1)
    assert isinstance(op, Conv2D | GroupedConv2D)
    made = form(view, op.activation)
    if isinstance(made, Refusal):
        return made
    depth = weights.shape[3]
    by_fours = bool(made.quads) and depth % 4 == 0
    groups = view.input.shape[3] // depth
    params: Params = {
        **window_params(view),
        "in_channels": view.input.shape[3],
        "groups": groups,
        "depth": depth,
        "outputs": weights.shape[0] // groups,
        "in_zero": view.input.zero_point,
        "weights": quads(weights) if by_fours else weights,
        "finish": made.finish,
    }
    what, dots = made.dots(by_fours)
    name = f"layer_conv2d_{what}{made.suffix}"
    instances = (made.instance("MOTE_LAYER_CONV2D", name, dots),)
    costs = "conv2d_quads_s16" if by_fours else ""
    return Packed(
        name,
        params,
        Entry(Call.ROWS, row=f"{name}_row", taps=op.vertical.kernel),
        price=Price(costs=costs),
        instances=instances,
    )


def _depthwise(view: View) -> Packed | Refusal:
    op, x = view.the(DepthwiseConv2D), view.input
    made = form(view, op.activation, axis=3)
    if isinstance(made, Refusal):
        return made
    params: Params = {
        **window_params(view),
        "in_channels": x.shape[3],
        "channels": view.output.shape[3],
        "multiplier": op.multiplier,
        "in_zero": x.zero_point,
        "weights": np.ascontiguousarray(view.constant(1)[0]),
        "finish": made.finish,
    }
    name = f"layer_depthwise_{made.suffix}"
    instances = (made.instance("MOTE_LAYER_DEPTHWISE", name),)
    return Packed(name, params, Entry(Call.ROWS, row=f"{name}_row", taps=op.vertical.kernel), instances=instances)


def _fully_connected(view: View) -> Packed | Refusal:
    op, weights = view.the(FullyConnected), view.constant(1)
    made = form(view, op.activation, rounding=op.rounding)
    if isinstance(made, Refusal):
        return made
    channels, depth = weights.shape
    params: Params = {
        "depth": depth,
        "channels": channels,
        "in_zero": view.input.zero_point,
        "weights": quads(weights) if made.quads else weights,
        "finish": made.finish,
    }
    name = f"layer_fully_connected_{made.suffix}"
    instances = (made.instance("MOTE_LAYER_FULLY_CONNECTED", name, made.dots(bool(made.quads))[1]),)
    return Packed(name, params, Entry(Call.FLAT, units_of(view.input.shape, depth)), instances=instances)


def _even(pack: Callable[[View], Packed | Refusal]) -> Callable[[View], Packed | Refusal]:
    """For results that are rounded to even."""

    def rounding(view: View) -> Packed | Refusal:
        found = pack(view) if rounds_to_even(view) else NOT_TO_EVEN
        return found if isinstance(found, Refusal) else replace(found, headers=("even",))

    return rounding


def _inexact(view: View) -> Packed | Refusal:
    """Other kernels are for layers with multipliers that round once."""
    op = view.the(FullyConnected)
    exact = rounds_to_even(view) and op.sums(view.graph, view.graph.ranges[op.inputs[0]]).exact.all()
    return Refusal("multipliers of 31 bits give the reference's results") if exact else _fully_connected(view)


def _grouped(view: View) -> Packed | Refusal:
    return TO_EVEN if rounds_to_even(view) else _conv2d(view)


def _projection(view: View) -> Packed | Refusal:
    made = projection(view)
    if isinstance(made, Refusal):
        return made
    weights = view.op.input(view.graph, 1)
    channels, depth = weights.shape
    params: Params = {
        "depth": depth,
        "channels": channels,
        "in_zero": view.input.zero_point,
        "weight_zero": weights.zero_point,
        "finish": made.finish,
    }
    name = f"layer_projection_{made.suffix}"
    instances = (made.instance("MOTE_LAYER_PROJECTION", name),)
    vectors = units_of(view.input.shape, depth)
    return Packed(name, params, Entry(Call.FLAT, vectors, operands=(0, 1)), instances=instances)


def _transpose_conv(view: View) -> Packed | Refusal:
    op, x, y = view.the(TransposeConv), view.input.shape, view.output.shape
    made = form(view, op.activation)
    if isinstance(made, Refusal):
        return made
    v, h = op.vertical, op.horizontal
    params: Params = {
        "in_rows": x[1],
        "in_columns": x[2],
        "in_channels": x[3],
        "out_rows": y[1],
        "out_columns": y[2],
        "out_channels": y[3],
        "rows": {"taps": v.kernel, "stride": v.stride, "pad": v.before},
        "columns": {"taps": h.kernel, "stride": h.stride, "pad": h.before},
        "in_zero": view.input.zero_point,
        "weights": quads(view.constant(1)) if made.quads else view.constant(1),
        "finish": made.finish,
    }
    name = f"layer_transpose_conv_{made.suffix}"
    instances = (made.instance("MOTE_LAYER_TRANSPOSE_CONV", name, made.dots(bool(made.quads))[1]),)
    return Packed(name, params, Entry(Call.ROWS, row=f"{name}_row", row_index=True, taps=op.taps), instances=instances)


KERNELS = (
    Kernel("conv2d_s16", (Conv2D,), INT16, _conv2d, header="layer_conv2d"),
    Kernel("grouped", (GroupedConv2D,), INT8, _grouped, header="layer_conv2d", costs=INTEGER_COSTS),
    Kernel("grouped_s16", (GroupedConv2D,), INT16, _conv2d, header="layer_conv2d", costs=INTEGER_COSTS),
    Kernel("grouped_f32", (GroupedConv2D,), FLOAT32, _conv2d, header="layer_conv2d", costs="conv2d_f32"),
    Kernel("depthwise_s16", (DepthwiseConv2D,), INT16, _depthwise, header="layer_depthwise"),
    Kernel("fully_connected_s16", (FullyConnected,), INT16, _fully_connected, header="layer_fully_connected"),
    Kernel("projection", (Projection,), INT8, _projection, header="layer_projection", costs=INTEGER_COSTS),
    Kernel("projection_s16", (Projection,), INT16, _projection, header="layer_projection", costs=INTEGER_COSTS),
    Kernel(
        "projection_f32", (Projection,), FLOAT32, _projection, header="layer_projection", costs="fully_connected_f32"
    ),
    Kernel(
        "transpose_conv_s16",
        (TransposeConv,),
        INT16,
        _transpose_conv,
        header="layer_transpose_conv",
        costs=INTEGER_COSTS,
    ),
    *(
        Kernel(name, (kind,), types, _even(pack), header=f"layer_{header}", costs=costs)
        for name, kind, types, pack, header, costs in (
            ("conv2d_even_wide", Conv2D, WIDE, _conv2d, "conv2d", INTEGER_COSTS),
            ("grouped_even", GroupedConv2D, INT8, _conv2d, "conv2d", INTEGER_COSTS),
            ("depthwise_even_wide", DepthwiseConv2D, WIDE, _depthwise, "depthwise", "depthwise_s16"),
            ("fully_connected_even_wide", FullyConnected, WIDE, _inexact, "fully_connected", INTEGER_COSTS),
            ("transpose_conv_even", TransposeConv, INT8, _transpose_conv, "transpose_conv", INTEGER_COSTS),
        )
    ),
)
