"""Depthwise convolutions over planar rows (see `mote_planar_s8.h`): the layout that they read, and their kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mote.graph.rows import OUTSIDE
from mote.kernels.armv7em.common import DSP, NO_CONSTANTS
from mote.kernels.armv7em.depthwise.depthwise3 import any_parts, blocks3, parts3, takes_any
from mote.kernels.armv7em.depthwise.depthwise_two import ROWS, two_parts, two_rows
from mote.kernels.armv7em.depthwise.depthwise_wide import wide_parts, wide_split
from mote.kernels.armv7em.depthwise.planar import Planar
from mote.kernels.armv7em.depthwise.records import WEIGHTS, Channels, Weights, channels_of
from mote.kernels.contract import INT8, Call, Entry, Instance, Kernel, Needs, Packed, Params, Refusal, View
from mote.kernels.pack.params import window_params
from mote.ops.windows.depthwise import DepthwiseConv2D


def planar_layout(view: View) -> Planar | None:
    """The planar rows that the operator could read, None where there is no kernel for its shape."""
    op = view.the(DepthwiseConv2D)
    h = op.horizontal
    if (view.input.zero_point, op.multiplier, h.dilation) != (-128, 1, 1) or h.stride not in (1, 2):
        return None
    present = view.once(_present)
    if blocks := blocks3(view, present):
        return Planar(blocks.line, h.before)
    split = wide_split(view, present)
    return Planar(split.line, split.before) if split else None


def pack3(view: View, weights: Weights, shift: int | None = None) -> Packed | Refusal:
    """The kernel for windows of 3x3; `shift`: only with this one."""
    layout = view.once(planar_layout)
    blocks = blocks3(view, view.once(_present)) if layout else None
    if blocks is None:
        return Refusal("it is for windows of 3x3 that reach over the edge by one row at most")
    channels = channels_once(view, weights, shift)
    if channels is None:
        return NO_CONSTANTS
    return replace(_packed(view, *parts3(view, blocks, channels, weights)), beats=(ANY,))


def pack_any(view: View, shift: int | None = None) -> Packed | Refusal:
    """The kernel for windows of 3x3 and rows of any length; `shift`: only with this one."""
    layout = view.once(planar_layout)
    if layout is None or blocks3(view, view.once(_present)) is None:
        return Refusal("it is for windows of 3x3 that reach over the edge by one row at most")
    if not takes_any(view, layout.line):
        return Refusal("lines do not have the padding behind their last pixels")
    channels = channels_once(view, "w16", shift)
    if channels is None:
        return NO_CONSTANTS
    name, instances, params, scratch = any_parts(view, layout.line, channels)
    packed = _packed(view, name, instances, params)
    return replace(packed, needs=replace(packed.needs, scratch=scratch))


def pack_two(view: View, weights: Weights, shift: int | None = None) -> Packed | Refusal:
    """The kernel for windows of 3x3 that makes two rows of outputs at once; `shift`: only with this one."""
    blocks = blocks3(view, view.once(_present)) if view.once(planar_layout) else None
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
    return replace(
        packed,
        entry=replace(packed.entry, row="", rows=f"{packed.name}_rows", group=ROWS),
        price=replace(packed.price, tile=(ROWS, 1)),
    )


def pack_wide(view: View, weights: Weights, shift: int | None = None) -> Packed | Refusal:
    """The kernel for windows of any size; `shift`: only with this one."""
    present = view.once(_present)
    layout = view.once(planar_layout)
    if layout and blocks3(view, present):
        return Refusal("depthwise3 is for windows of 3x3")
    split = wide_split(view, present, weights) if layout else None
    if split is None:
        return Refusal("its code does not have the registers for such a window")
    channels = channels_once(view, weights, shift)
    if channels is None:
        return NO_CONSTANTS
    return _packed(view, *wide_parts(view, split, channels, weights, max(present)))


ANY = "depthwise3_any"
"""The kernel of runtimes for models that are not known yet: a model of its own has better ones."""
CHANNELS: dict[Weights, Callable[[View], Channels | None]] = {w: partial(channels_of, weights=w) for w in WEIGHTS}
"""Functions that search for the constants of channels, once for all kernels of a layer."""


def channels_once(view: View, weights: Weights, shift: int | None = None) -> Channels | None:
    return view.once(CHANNELS[weights]) if shift is None else channels_of(view, weights, shift)


def _packed(view: View, name: str, instances: tuple[Instance, ...], params: Params) -> Packed:
    layout, rows = view.once(planar_layout), window_params(view)["rows"]
    assert layout is not None and isinstance(rows, dict)
    return Packed(
        name,
        params | {"rows": {**rows, "in_stride": view.input.shape[3] * layout.line}},
        Entry(Call.ROWS, taps=view.the(DepthwiseConv2D).vertical.kernel, row=f"{name}_row"),
        Needs(reads=layout),
        instances=instances,
    )


def _present(view: View) -> list[int]:
    """How many rows of the window lie inside the image, for each row of outputs."""
    op, height = view.the(DepthwiseConv2D), view.input.shape[1]
    return [sum(r != OUTSIDE for r in op.vertical.rows(y, height)) for y in range(view.output.shape[1])]


PACKERS: dict[str, Callable[..., Packed | Refusal]] = {
    "depthwise_two": pack_two,
    "depthwise3": pack3,
    "depthwise_wide": pack_wide,
}


def _kernel(name: str, weights: Weights) -> Kernel:
    return Kernel(
        name + ("_compact" if weights == "w8" else ""),
        (DepthwiseConv2D,),
        INT8,
        partial(PACKERS[name], weights=weights),
        header=f"{name}_s8",
        isa=DSP,
        reads=planar_layout,
    )


KERNELS = (
    *(_kernel(name, weights) for name in PACKERS for weights in WEIGHTS),
    Kernel(
        ANY,
        (DepthwiseConv2D,),
        INT8,
        pack_any,
        "depthwise3_any_s8",
        DSP,
        costs="depthwise3",
        general=True,
        reads=planar_layout,
    ),
)
