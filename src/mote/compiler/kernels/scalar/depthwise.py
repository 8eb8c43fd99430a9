"""Depthwise convolutions of whole images: packed weights and constants of `mote_depthwise_planes_s8.h`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from mote.compiler.kernels.contract import (
    INT8,
    ByChannels,
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
from mote.compiler.kernels.pack.params import pad_to, window_params
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.compiler.kernels.pack.requantize.high import high_words
from mote.compiler.kernels.pack.requantize.scalar import short_product
from mote.compiler.kernels.pack.weights.lanes import Spilled, spilled
from mote.compiler.kernels.scalar.depthwise_assembly import Plane, Windows, plane, windows
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.graph.ranges import Range
from mote.ir.ops.common import bias_values, int8_range
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

MUL32, SHORT = frozenset({"mul32"}), frozenset({"armv6m"})
GROUP = 3
"""Words that are multiplied and accumulated before the upper half is extracted."""
SPILLED = 2.0
"""Cost of a spilled weight (one listed separately because a packed sum would overflow), in products."""
WORD = 4
MOST_PLACE = (1 << 15) - 1
"""Largest byte offset that 16-bit lists can hold."""
BEHIND = 2
"""Words that the last group may read past the last window."""
FULL = -128, 127
"""The int8 range, as activation limits that clip nothing."""
HALVES = "short_halves"
"""Form of requantization on cores with 32-bit products, if negative outputs are not clipped."""


@dataclass(frozen=True, eq=False)
class Bytes:
    """Requantization of sums to bytes: form of the code, constants, and activation limits."""

    form: str
    constants: Ints
    """Shape [channels, constants], with the bias first."""
    lo: int
    hi: int


def long_bytes(sums: Accumulators, bias: Ints, limits: tuple[int, int]) -> Bytes | Refusal:
    """Requantization on cores with 64-bit products."""
    words = high_words(sums, limits)
    if isinstance(words, Refusal):
        return words
    form = f"{words.form}_full" if limits == FULL else words.form
    return Bytes(form, words.structs(bias).rows, words.lo, words.hi)


def short_bytes(sums: Accumulators, bias: Ints, limits: tuple[int, int]) -> Bytes | Refusal:
    """Requantization on cores with 32-bit products."""
    if limits != FULL:
        return Refusal("the activation has bounds inside of int8")
    short = short_product(sums)
    if short.slow.any():
        return Refusal("no products of 32 bits give the reference's results")
    constants = np.concatenate([(bias + short.offset)[:, None], short.rows], axis=1)
    return Bytes(HALVES if sums.linear else "short", constants, *limits)


def _weights(view: View) -> Ints:
    """Weights [channels, columns * rows], with columns zero-padded to whole groups."""
    w = view.constant(1)[0].astype(np.int64)
    padded = pad_to(w.transpose(2, 1, 0), 2, GROUP)
    matrix: Ints = padded.reshape(len(padded), -1)
    return matrix


def _spilled(view: View) -> Spilled:
    """Split each channel's weights into those in packed sums and spilled ones, by the value range of its input
    channel."""
    op, matrix = view.the(DepthwiseConv2D), view.once(_weights)
    inputs = view.graph.ranges[op.inputs[0]]
    parts = [
        spilled(row[None], _of_channel(inputs, c // op.multiplier, len(row)), view.input.zero_point, GROUP)
        for c, row in enumerate(matrix)
    ]
    return Spilled(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("weights", "taken")))


def _of_channel(inputs: Range, channel: int, taps: int) -> Range:
    return Range(np.full(taps, inputs.low[channel], np.int64), np.full(taps, inputs.high[channel], np.int64))


def places(view: View, height: int) -> Ints:
    """Byte offset of each weight's input word in a window over columns of `height` words."""
    rows = -(-view.the(DepthwiseConv2D).vertical.kernel // GROUP) * GROUP
    column, row = np.divmod(np.arange(view.once(_weights).shape[1], dtype=np.int64), rows)
    return WORD * (column * height + row)


def bytes_of(view: View, *, short: bool) -> Bytes | Refusal:
    op, x = view.the(DepthwiseConv2D), view.input
    channels = view.output.shape[3]
    folded = x.zero_point * view.constant(1)[0].astype(np.int64).sum(axis=(0, 1))
    bias: Ints = wrap32(bias_values(op.tensor(view.graph, 2), channels) - folded)
    sums = op.sums(view.graph, view.graph.ranges[op.inputs[0]])
    return (short_bytes if short else long_bytes)(sums, bias, int8_range(op.activation, view.output))


def refused(view: View) -> Refusal | None:
    op = view.the(DepthwiseConv2D)
    if rounds_to_even(view):
        return TO_EVEN
    if op.vertical.dilation > 1 or op.horizontal.dilation > 1:
        return Refusal("windows are dilated")
    if view.output.shape[1] < 2:
        return Refusal("two rows of outputs are computed at once")
    return None


def _price(view: View, parts: Spilled, family: str) -> Price:
    """Cost factors; 3x3 windows and rows of one pixel have cost keys of their own. Products with padding and with zeros
    at the ends of columns are computed too, and counted."""
    op, x, y = view.the(DepthwiseConv2D), view.input.shape, view.output.shape
    rows, columns = view.constant(1)[0].shape[:2]
    inside = int(op.vertical.inside(y[1], x[1]).sum()) * int(op.horizontal.inside(y[2], x[2]).sum()) * y[3]
    spills = int(np.count_nonzero(parts.taken))
    density = y[1] * y[2] * (parts.weights.size + SPILLED * spills) / max(inside, 1)
    shape = "_column" if y[2] == 1 else "" if (rows, columns) == (3, 3) else "_any"
    return Price(family + shape, density=density)


CODE = "depthwise_planes_code_s8"
"""The header of kernels with assembly specialized to a layer."""
SHARED, LAYER = "shared", "layer"
"""Values of the knob `code`: loops that all layers share, or assembly specialized to the layer."""


def knobs(view: View) -> dict[str, tuple[Knob, ...]]:
    """The knobs of kernels for cores without 64-bit products."""
    return {"code": (SHARED, LAYER)}


def pack(view: View, *, short: bool, code: str = SHARED) -> Packed | Refusal:
    """The kernel for a layer; `short`: for cores without 64-bit products."""
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    if (why := refused(view)) is not None:
        return why
    how = bytes_of(view, short=short)
    if isinstance(how, Refusal):
        return how
    height = (y.shape[1] - y.shape[1] // 2 - 1) * op.vertical.stride + op.vertical.kernel
    parts, at = view.once(_spilled), places(view, height)
    if at[-1] > MOST_PLACE:
        return Refusal("columns are too long")
    params: Params = {
        **window_params(view),
        "images": x.shape[0],
        "in_channels": x.shape[3],
        "channels": y.shape[3],
        "multiplier": op.multiplier,
        "in_zero": x.zero_point,
        "taps": parts.weights.shape[1],
        "lo": how.lo,
        "hi": how.hi,
        "weights": parts.weights.astype(np.int8),
        "channel": wrap32(how.constants).astype(np.int32),
        "spill": parts.lists_at(at),
    }
    under = (y.shape[2] - 1) * op.horizontal.stride + op.horizontal.kernel
    words = height * max(under, op.horizontal.before + x.shape[2]) + BEHIND
    name = how.form
    loops: tuple[Instance, ...] = (Instance("MOTE_LANES_LOOPS", (how.form, how.form)),)
    if code == LAYER:
        shape = _windows(view, height)
        if shape.left < 2:
            return Refusal("two windows below each other are computed at once")
        below = shape.half * op.vertical.stride
        words_of = Plane(x.shape[1], x.shape[2], x.shape[3], height, op.vertical.before, below)
        name = f"{how.form}_{words_of.name}_{shape.name}"
        code_of_windows = Instance("MOTE_LANES_CODE", (how.form, name), windows(shape, halves=how.form == HALVES))
        code_of_planes = Instance("MOTE_LANES_PLANE_CODE", (name,), plane(words_of))
        loops = (code_of_windows, code_of_planes)
    loops = (*loops, Instance("MOTE_DEPTHWISE_PLANES_CHANNELS", (how.form, name)))
    of_layer = (*loops, Instance("MOTE_DEPTHWISE_PLANES_CODE", (how.form, name)))
    return Packed(
        f"depthwise_planes_{name}",
        params,
        Entry(Call.WHOLE),
        Needs(WORD * (words + parts.weights.shape[1])),
        _price(view, parts, "depthwise_planes_short" if short else "depthwise_planes"),
        of_layer if code == LAYER else (Instance("MOTE_DEPTHWISE_PLANES", (how.form,)),),
        (CODE,) if code == LAYER else (),
        by_channels=ByChannels(f"depthwise_planes_channels_{name}", loops, (CODE,)),
    )


def _windows(view: View, height: int) -> Windows:
    op, y = view.the(DepthwiseConv2D), view.output.shape
    half = y[1] // 2
    return Windows(
        op.vertical.kernel,
        op.horizontal.kernel,
        op.vertical.stride,
        op.horizontal.stride,
        y[1] - half,
        y[2],
        height,
        y[3],
        half,
    )


def _kernel(name: str, *, short: bool) -> Kernel:
    return Kernel(
        name,
        (DepthwiseConv2D,),
        INT8,
        partial(pack, short=short),
        header="depthwise_planes_s8",
        isa=MUL32 | SHORT if short else MUL32,
        unless=frozenset() if short else SHORT,
        knobs=knobs if short else None,
    )


KERNELS = (_kernel("depthwise_planes", short=False), _kernel("depthwise_planes_short", short=True))
