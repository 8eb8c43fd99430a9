"""Depthwise convolutions over NHWC rows by the kernels over planar rows: what `mote_depthwise_nhwc_s8.h` needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mote.compiler.kernels.armv7em.common import DSP, NO_CONSTANTS
from mote.compiler.kernels.armv7em.depthwise.depthwise3 import blocks3, parts3
from mote.compiler.kernels.armv7em.depthwise.depthwise_planar import channels_of_bytes, rows_present
from mote.compiler.kernels.armv7em.depthwise.depthwise_two import ROWS, two_parts, two_rows
from mote.compiler.kernels.armv7em.depthwise.depthwise_wide import MOST_COLUMNS, numbers_of, wide_parts, wide_split
from mote.compiler.kernels.armv7em.depthwise.records import Channels, Weights
from mote.compiler.kernels.contract import (
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    View,
)
from mote.compiler.kernels.pack.params import pad_to, rows_params
from mote.compiler.kernels.pack.planar import Planar
from mote.ir.ops.common import Axis
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

FOURS = 4
"""Channels that are made planar at once."""
PART = 4
"""Columns of a part of a long window: as many lie in a word."""
LEAST_OUTPUTS = 4
"""Of a long window: fewer do not pay for the conversion of what is under them."""
MOST_STRIDE = 2
"""Columns from one output to the next."""
Facts = tuple[str | int, ...]
Parts = tuple[str, tuple[Instance, ...], Params, Planar, Facts]
"""A kernel over planar rows: its name, the instances that make it, its parameters, the layout that it reads, and what
its check asks for."""


def _inner(view: View, *, filled: bool) -> View:
    """The layer as it is computed over planar rows: a channel for each output channel, and neighbouring columns;
    `filled`: of an image that contains its padding."""
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    rows, columns = op.vertical, op.horizontal
    high, wide = x.shape[1:3]
    if filled:
        high += rows.before + rows.after
        wide += columns.before + columns.after
        rows, columns = (replace(axis, before=0, after=0) for axis in (rows, columns))
    outputs = -(-y.shape[2] // columns.dilation)
    if columns.dilation > 1:
        wide = outputs + columns.kernel - 1
        columns = replace(columns, dilation=1)
    planar = replace(x, shape=(x.shape[0], high, wide, y.shape[3]))
    made = replace(y, shape=(*y.shape[:2], outputs, y.shape[3]))
    inner = op.with_(multiplier=1, vertical=rows, horizontal=columns)
    return View(view.graph.with_ops([inner], [planar, made]), (inner,))


def _padding_left_out(view: View) -> View:
    return _inner(view, filled=False)


def _padding_stored(view: View) -> View:
    return _inner(view, filled=True)


def _three(inner: View, channels: Channels) -> Parts | None:
    blocks = blocks3(inner, inner.once(rows_present))
    if blocks is None:
        return None
    before = inner.the(DepthwiseConv2D).horizontal.before
    return (*parts3(inner, blocks, channels, Weights.W16), Planar(blocks.line, before), ())


def _two(inner: View, channels: Channels) -> Parts | None:
    blocks = blocks3(inner, inner.once(rows_present))
    two = two_rows(inner, blocks) if blocks else None
    if blocks is None or two is None:
        return None
    name, instances, params = two_parts(inner, two, blocks, channels, Weights.W16)
    (_, one), facts = instances[-1].arguments, instances[-1].facts
    before = inner.the(DepthwiseConv2D).horizontal.before
    return name, instances, params, Planar(blocks.line, before), (one, *facts)


def _wide(inner: View, channels: Channels, behind: int = 0) -> Parts | None:
    """`behind`: bytes that lines have behind what the first row of a window is computed from."""
    present = inner.once(rows_present)
    split = None if blocks3(inner, present) else wide_split(inner, present)
    if split is None:
        return None
    split = replace(split, line=split.line + behind)
    name, instances, params = wide_parts(inner, split, channels, Weights.W16, max(present))
    return name, instances, params, Planar(split.line, split.before), (channels.form, *numbers_of(params))


def _turned(view: View) -> View:
    """An image of one column as one row."""
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    swapped = [replace(t, shape=(t.shape[0], t.shape[2], t.shape[1], t.shape[3])) for t in (x, y)]
    turned = op.with_(vertical=op.horizontal, horizontal=op.vertical)
    return View(view.graph.with_ops([turned], swapped), (turned,))


def _pack_long(view: View, shift: int | None = None) -> Packed | Refusal:
    """The kernel for windows of one row, or of one column of images that are as wide; `shift`: only with this one."""
    op = view.the(DepthwiseConv2D)
    turned = view.input.shape[2] == view.output.shape[2] == op.horizontal.kernel == 1
    if turned:
        view = view.once(_turned)
        op = view.the(DepthwiseConv2D)
    if op.vertical.kernel > 1 or view.output.shape[2] < LEAST_OUTPUTS:
        return Refusal(f"it is for {LEAST_OUTPUTS} windows in a row and more, of one row, or a column in images of one")
    if why := _moves(op):
        return why
    channels = channels_of_bytes(view, shift)
    if channels is None:
        return NO_CONSTANTS
    kernel = op.horizontal.kernel
    parts = 1 if kernel <= MOST_COLUMNS else -(-kernel // PART)
    weights = channels.weights.reshape(len(channels.weights), 1, kernel)
    if parts > 1:
        weights = pad_to(weights, 2, parts * PART).reshape(-1, parts, PART)
    inner = _in_parts(view.once(_padding_stored), parts)
    packed = _wide(inner, replace(channels, weights=weights), PART * (parts - 1))
    if packed is None:
        return Refusal("there is no such kernel over planar rows for its window and its rows")
    return _packed(view, inner, "depthwise_wide", packed, filled=True, parts=parts)


def _in_parts(inner: View, parts: int) -> View:
    """A layer with a window of one row, computed as one of several short rows."""
    if parts == 1:
        return inner
    op, x, y = inner.the(DepthwiseConv2D), inner.input, inner.output
    rows, columns = Axis(parts), replace(op.horizontal, kernel=PART)
    wide = (y.shape[2] - 1) * columns.stride + PART
    image = replace(x, shape=(x.shape[0], y.shape[1] + parts - 1, wide, x.shape[3]))
    short = op.with_(vertical=rows, horizontal=columns)
    return View(inner.graph.with_ops([short], [image]), (short,))


def _moves(op: DepthwiseConv2D) -> Refusal | None:
    """Why lines of columns one after another are not what its windows move over."""
    stride, spread = op.horizontal.stride, op.horizontal.dilation
    if stride > MOST_STRIDE or (spread > 1 and (stride, op.vertical.stride) != (1, 1)):
        return Refusal("it is for windows that move by one column or two, and by one where they are dilated")
    return None


def _pack(view: View, kind: str, shift: int | None = None) -> Packed | Refusal:
    """The kernel around one over planar rows; `shift`: only with this one."""
    op, x = view.the(DepthwiseConv2D), view.input
    spread = op.horizontal.dilation
    if why := _moves(op):
        return why
    if kind == "depthwise_wide" and 1 in (op.vertical.kernel, x.shape[2]):
        return Refusal("depthwise_long_nhwc is for windows of one row, and for images of one column")
    if kind == "depthwise_two" and spread > 1:
        return Refusal("it is for windows without dilation")
    channels = channels_of_bytes(view, shift)
    if channels is None:
        return NO_CONSTANTS
    ways = [True] if x.zero_point != -128 or spread > 1 else [False, True]
    for filled in ways:
        inner = view.once(_padding_stored if filled else _padding_left_out)
        parts = KINDS[kind](inner, channels)
        if parts is not None:
            return _packed(view, inner, kind, parts, filled=filled)
    return Refusal("there is no such kernel over planar rows for its window and its rows")


def _packed(view: View, inner: View, kind: str, made: Parts, *, filled: bool, parts: int = 1) -> Packed:
    name, instances, params, layout, facts = made
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    rows, columns = op.vertical, op.horizontal
    group = ROWS if kind == "depthwise_two" else 1
    ring = (rows.kernel - 1) * rows.dilation + (group - 1) * rows.stride + 1
    window = rows_params(inner.the(DepthwiseConv2D).vertical, inner.input.shape, inner.output.shape)
    planes: Params = {
        "rows": rows_params(rows, x.shape, y.shape),
        "count": y.shape[0] * y.shape[1],
        "width": x.shape[2],
        "channels": x.shape[3],
        "outputs": y.shape[2],
        "multiplier": op.multiplier,
        "spread": columns.dilation,
        "line": layout.line,
        "before": layout.before + (columns.before if filled else 0),
        "ring": ring,
        "parts": parts,
        "zero": x.zero_point,
        "filled": int(filled),
    }
    called = Instance(f"MOTE_{kind.upper()}_NHWC", (f"{name}_nhwc", name), facts=facts)
    stored = columns.dilation * max(x.shape[3], FOURS) * op.multiplier * layout.line
    outs = inner.output.shape[2] * y.shape[3] if columns.dilation > 1 else 0
    pixels = x.shape[3] if x.shape[3] >= FOURS else 2 * FOURS + x.shape[2] * x.shape[3]
    return Packed(
        f"{name}_nhwc",
        {"planes": planes, "planar": {**params, "rows": {**window, "in_stride": stored}}},
        Entry(Call.WHOLE, taps=rows.kernel * parts),
        Needs(scratch=ring * stored + -(-outs // 4) * 4 + -(-pixels // 4) * 4, converts=True),
        Price(tile=(group, 1), padded=filled),
        instances=(*instances, called),
    )


KINDS: dict[str, Callable[[View, Channels], Parts | None]] = {
    "depthwise_two": _two,
    "depthwise3": _three,
    "depthwise_wide": _wide,
}

PACKERS: dict[str, Callable[..., Packed | Refusal]] = {
    **{f"{kind}_nhwc": partial(_pack, kind=kind) for kind in KINDS},
    "depthwise_long_nhwc": _pack_long,
}
KERNELS = tuple(
    Kernel(name, (DepthwiseConv2D,), INT8, pack, "depthwise_nhwc_s8", DSP, unless=frozenset({"mve"}))
    for name, pack in PACKERS.items()
)
