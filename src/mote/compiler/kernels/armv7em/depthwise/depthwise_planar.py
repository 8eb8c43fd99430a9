"""Depthwise convolutions over planar rows (see `mote_planar_s8.h`): their input layouts and their kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from mote.compiler.kernels.armv7em.common import DSP, NO_CONSTANTS
from mote.compiler.kernels.armv7em.depthwise.depthwise3 import blocks3, parts3, specialized3
from mote.compiler.kernels.armv7em.depthwise.depthwise_any import (
    BLOCK,
    any3_layout,
    any3_parts,
    any_layout,
    any_parts,
    reaches_any3,
)
from mote.compiler.kernels.armv7em.depthwise.depthwise_two import ROWS, two_parts, two_rows
from mote.compiler.kernels.armv7em.depthwise.depthwise_wide import wide_parts, wide_split
from mote.compiler.kernels.armv7em.depthwise.records import WEIGHTS, Channels, Weights, channels_of, form_of, stream
from mote.compiler.kernels.armv7em.ordering.knob import order_knob, with_order
from mote.compiler.kernels.armv7em.ordering.schedule import Order
from mote.compiler.kernels.contract import (
    INT8,
    Biases,
    Call,
    Entry,
    Instance,
    Kernel,
    Knob,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    View,
)
from mote.compiler.kernels.pack.learned_bias import learning
from mote.compiler.kernels.pack.params import window_params
from mote.compiler.kernels.pack.planar import Planar
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.rows import OUTSIDE
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


def planar_layout(view: View) -> Planar | None:
    """The planar input layout for the operator; None: no planar kernel supports its shape."""
    h = view.the(DepthwiseConv2D).horizontal
    if not _planar(view):
        return None
    present = view.once(rows_present)
    if blocks := blocks3(view, present):
        return Planar(blocks.line, h.before)
    split = wide_split(view, present)
    return Planar(split.line, split.before) if split else None


def _planar(view: View) -> bool:
    """Whether the operator suits planar kernels: zero point -128 (padding bytes of 0 are the value zero), multiplier 1,
    no dilation, stride 1 or 2."""
    op = view.the(DepthwiseConv2D)
    h = op.horizontal
    return (view.input.zero_point, op.multiplier, h.dilation) == (-128, 1, 1) and h.stride in (1, 2)


def layout_of_any3(view: View) -> Planar | None:
    """The planar layout of the 3x3 kernel for rows of any length: the usual one if its lines contain the right
    padding."""
    blocks = blocks3(view, view.once(rows_present)) if _planar(view) else None
    if blocks is None:
        return None
    usual = Planar(blocks.line, view.the(DepthwiseConv2D).horizontal.before)
    return next((layout for layout in (usual, any3_layout(view)) if reaches_any3(view, layout.line)), None)


def layout_of_any(view: View) -> Planar | None:
    """The planar layout of the kernels for wider windows and rows of any length."""
    return any_layout(view) if _planar(view) and min(view.once(rows_present)) > 0 else None


def pack3(view: View, weights: Weights, shift: int | None = None, order: Order = Order.WRITTEN) -> Packed | Refusal:
    """The kernel for 3x3 windows; `shift`: only with this requantization shift; `order`: with code specialized to the
    layer, scheduled in that order."""
    layout = view.once(planar_layout)
    blocks = blocks3(view, view.once(rows_present)) if layout else None
    if blocks is None:
        return Refusal("it is for windows of 3x3 that reach over the edge by one row at most")
    channels = channels_once(view, weights, shift)
    if channels is None:
        return NO_CONSTANTS
    parts = specialized3(view, blocks, channels, order) if order else parts3(view, blocks, channels, weights)
    if parts is None:
        return Refusal("stores do not reach from one output to the next")
    return _with_biases(view, replace(_packed(view, *parts), beats=(ANY3,)), channels, weights)


def _orders3(view: View) -> Mapping[str, tuple[Knob, ...]]:
    """The knob `order`, for output rows of one block; without rescheduling, layers share the code."""
    blocks = blocks3(view, view.once(rows_present))
    return order_knob(view) if blocks is not None and blocks.last and not blocks.fours else {}


def pack_any3(view: View, shift: int | None = None) -> Packed | Refusal:
    """The kernel for 3x3 windows and rows of any length; `shift`: only with this requantization shift."""
    layout = view.once(layout_of_any3)
    if layout is None:
        return Refusal("it is for windows of 3x3 that reach over the edge by one row at most")
    channels = channels_once(view, Weights.W16, shift)
    return NO_CONSTANTS if channels is None else _of_any(view, layout, *any3_parts(view, layout.line, channels))


def pack_any(view: View, shift: int | None = None) -> Packed | Refusal:
    """The kernel for windows of four to seven columns and rows of any length; `shift`: only with this requantization
    shift."""
    layout = view.once(layout_of_any)
    if layout is None:
        return Refusal("it is for windows of four to seven columns, at least one row of which is inside the image")
    channels = channels_once(view, Weights.W16, shift)
    if channels is None:
        return NO_CONSTANTS
    packed = _of_any(view, layout, *any_parts(view, layout.line, channels))
    return replace(packed, price=Price(tile=(1, BLOCK), whole_tiles=True))


def _of_any(
    view: View, layout: Planar, name: str, instances: tuple[Instance, ...], params: Params, scratch: int
) -> Packed:
    packed = _packed(view, name, instances, params, layout)
    return replace(packed, needs=replace(packed.needs, scratch=scratch))


def pack_two(view: View, weights: Weights, shift: int | None = None) -> Packed | Refusal:
    """The kernel for 3x3 windows that computes two output rows at once; `shift`: only with this requantization
    shift."""
    blocks = blocks3(view, view.once(rows_present)) if view.once(planar_layout) else None
    two = two_rows(view, blocks) if blocks else None
    if blocks is None or two is None:
        return Refusal(
            "it is for one image, windows of 3x3, rows of not just five outputs, and two that are made from rows inside"
            " the image"
        )
    channels = channels_once(view, weights, shift)
    if channels is None:
        return NO_CONSTANTS
    packed = _packed(view, *two_parts(view, two, blocks, channels, weights))
    packed = replace(
        packed,
        entry=replace(packed.entry, row="", rows=f"{packed.name}_rows", group=ROWS),
        price=replace(packed.price, tile=(ROWS, 1)),
    )
    return _with_biases(view, packed, channels, weights)


def pack_wide(view: View, weights: Weights, shift: int | None = None, order: Order = Order.WRITTEN) -> Packed | Refusal:
    """The kernel for windows of any size; `shift`: only with this requantization shift; `order`: instruction schedule
    of its code."""
    present = view.once(rows_present)
    layout = view.once(planar_layout)
    if layout and blocks3(view, present):
        return Refusal("depthwise3 is for windows of 3x3")
    split = wide_split(view, present, weights) if layout else None
    if split is None:
        return Refusal("its code does not have the registers for such a window")
    channels = channels_once(view, weights, shift)
    if channels is None:
        return NO_CONSTANTS
    parts = wide_parts(view, split, channels, weights, max(present), order)
    record = parts[2]["record"]
    assert isinstance(record, int)
    return replace(_packed(view, *parts), beats=(ANY,), biases=Biases("records", record, _scale(channels)))


ANY3, ANY = "depthwise3_any", "depthwise_any"
"""Names of the shape-independent kernels for runtimes; where the model is known at compile time, specialized kernels
beat them."""
CHANNELS: dict[Weights, Callable[[View], Channels | None]] = {w: partial(channels_of, weights=w) for w in WEIGHTS}
"""For each weight format: the search for requantization constants, cached so that it runs once for all kernels of a
layer."""


def channels_once(view: View, weights: Weights, shift: int | None = None) -> Channels | None:
    return view.once(CHANNELS[weights]) if shift is None else channels_of(view, weights, shift)


def channels_of_bytes(view: View, shift: int | None = None) -> Channels | None:
    """The channels of a layer whose inputs come with 128 added, as bytes from 0 on, whatever their zero point is."""
    channels = channels_once(view, Weights.W16, shift)
    return channels and channels.with_zero(view.input.zero_point + 128)


def _with_biases(view: View, packed: Packed, channels: Channels, weights: Weights) -> Packed:
    """The kernel with biases in a separate array, if its code reads them there, for biases that are trained on the
    device. Kernels with other weight formats train no biases: they would need a copy of all records in RAM."""
    if form_of(view, weights) is not Weights.B8:
        return packed
    entry, name = packed.entry, f"{packed.name}_apart"
    ways = {"": True, "_ROW": bool(entry.row), "_ROWS": bool(entry.rows)}
    wrappers = [Instance(f"MOTE_PLANAR_APART{way}", (name, packed.name)) for way, has in ways.items() if has]
    return replace(
        packed,
        name=name,
        params={"planar": packed.params, "biases": stream(channels.biases)},
        entry=replace(entry, row=entry.row and f"{name}_row", rows=entry.rows and f"{name}_rows"),
        instances=(*packed.instances, *wrappers),
        biases=Biases("biases", 1, _scale(channels)),
    )


def _scale(channels: Channels) -> Ints:
    return channels.requantization.scaled(np.ones(len(channels.bias), np.int64))


def _packed(
    view: View, name: str, instances: tuple[Instance, ...], params: Params, layout: Planar | None = None
) -> Packed:
    """Assemble the kernel; `layout`: of the input, by default that of most kernels."""
    layout, rows = layout or view.once(planar_layout), window_params(view)["rows"]
    assert layout is not None and isinstance(rows, dict)
    return Packed(
        name,
        params | {"rows": {**rows, "in_stride": view.input.shape[3] * layout.line}},
        Entry(Call.ROWS, taps=view.the(DepthwiseConv2D).vertical.kernel, row=f"{name}_row"),
        Needs(reads=layout),
        instances=instances,
    )


def rows_present(view: View) -> list[int]:
    """For each output row, how many window rows are inside the image."""
    op, height = view.the(DepthwiseConv2D), view.input.shape[1]
    return [sum(r != OUTSIDE for r in op.vertical.rows(y, height)) for y in range(view.output.shape[1])]


PACKERS: dict[str, Callable[..., Packed | Refusal]] = {
    "depthwise_two": pack_two,
    "depthwise3": pack3,
    "depthwise_wide": pack_wide,
}


def _kernel(name: str, weights: Weights) -> Kernel:
    kernel = Kernel(
        name + ("_compact" if weights is Weights.W8 else ""),
        (DepthwiseConv2D,),
        INT8,
        partial(PACKERS[name], weights=weights),
        header=f"{name}_s8",
        isa=DSP,
        reads=planar_layout,
    )
    if name == "depthwise_wide":
        kernel = replace(kernel, knobs=order_knob)
    elif name == "depthwise3" and weights is Weights.W16:
        kernel = replace(kernel, knobs=_orders3)
    return learning(with_order(kernel) if name == "depthwise_two" else kernel)


KERNELS = (
    *(_kernel(name, weights) for name in PACKERS for weights in WEIGHTS),
    *(
        Kernel(name, (DepthwiseConv2D,), INT8, pack, f"{name}_s8", DSP, costs=costs, general=True, reads=layout)
        for name, pack, costs, layout in (
            (ANY3, pack_any3, "depthwise3", layout_of_any3),
            (ANY, pack_any, "depthwise_wide", layout_of_any),
        )
    ),
)
