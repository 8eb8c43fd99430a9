"""Depthwise convolutions with window taps in vector lanes: packed weights and constants of
`mote_depthwise_taps_s8.h`."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import (
    INT8,
    Biases,
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
from mote.compiler.kernels.helium.common import HELIUM, NO_CONSTANTS
from mote.compiler.kernels.helium.depthwise.depthwise_assembly import (
    VECTOR,
    WORD,
    Taps,
    Window,
    arrangements,
    code,
    columns_code,
)
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.pack.learned_bias import learning
from mote.compiler.kernels.pack.params import rows_params
from mote.compiler.kernels.pack.requantize.vector import COUNT, lanes, lanes_params
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import Axis, bias_values, int8_range
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

SINGLE = "depthwise_taps_single"
"""Key in the cost tables for layers with one output per channel, which have much less work for each channel."""
MOST_WIDTH = 1 << 15
"""Limit of the elements of an output row: offsets in it are stored as int16."""
MOST_FIRST = 255
"""Largest number of an input row, which is stored as uint8."""
MOST_MULTIPLIER = 128
"""Largest multiplier by which lanes are shifted."""


class MemoryWeight(NamedTuple):
    """How scratch memory is weighed against time. `memory`: relative slowdown that saving one byte is worth; `single`:
    compute output rows one by one, for the least memory."""

    memory: float
    single: bool = False


ROOMY, LEAN = MemoryWeight(1e-5), MemoryWeight(1e-4, single=True)


def _pack(view: View, room: MemoryWeight) -> Packed | Refusal:
    op, x, y = view.the(DepthwiseConv2D), view.input.shape, view.output.shape
    v, h = op.vertical, op.horizontal
    dilation = (v.dilation if v.kernel > 1 else 1, h.dilation if h.kernel > 1 else 1)
    if y[0] != 1 or (dilation != (1, 1) and (v.stride, h.stride) != (1, 1)):
        return Refusal("it is for one image, and for dilated windows without strides")
    if op.multiplier & (op.multiplier - 1) or op.multiplier > MOST_MULTIPLIER:
        return Refusal("the multiplier is no power of two")
    if (x[2] * x[3] if op.multiplier == 1 else y[3]) < VECTOR or y[2] * y[3] >= MOST_WIDTH:
        return Refusal("rows are too short or too long")
    if room.single and dilation[0] > 1:
        return Refusal("rows under dilated windows are not computed one by one")
    top, high = _inside(v, x[1], y[1])
    left, wide = _inside(h, x[2], y[2])
    if not high * wide:
        return Refusal("all of its windows are outside of the image")
    strides, before = (v.stride, h.stride), (v.before - top * dilation[0], h.before - left * dilation[1])
    window = Window((high, wide), strides, (x[1], x[2]), (y[1], y[2]), before, y[3], op.multiplier, dilation)
    taps = best(window, room)
    if taps is None or max(taps.planes) + top * dilation[0] > MOST_FIRST:
        return Refusal("its window is too large for vectors")
    if room.single and taps == best(window, ROOMY):
        return Refusal("rows are computed one by one anyway")
    requantization = lanes(op.sums(view.graph, view.graph.ranges[op.inputs[0]]), int8_range(op.activation, view.output))
    if requantization is None:
        return NO_CONSTANTS
    values = view.constant(1)[0].astype(np.int64)[top : top + high, left : left + wide].transpose(2, 0, 1)
    bias = bias_values(op.tensor(view.graph, 2), y[3]) - view.input.zero_point * values.sum(axis=(1, 2), dtype=np.int64)
    requantize = Requantize.of(requantization)
    name, instances = _instances(taps, requantize, v.kernel)
    ahead = _ahead(taps)
    params: Params = {
        "rows": rows_params(replace(v, dilation=dilation[0]), x, y),
        "channels": y[3],
        "block": taps.block,
        "out_width": y[2],
        "wide": taps.wide,
        "zero": view.input.zero_point,
        "columns": taps.columns,
        "before": window.before[1],
        "width": x[2],
        "stride": h.stride,
        "group": taps.group,
        "planes": len(taps.planes),
        "first": np.array([top * dilation[0] + first for first in taps.planes], np.uint8),
        "single": int(taps.single),
        "quads": taps.quads,
        "place": np.array([column * y[3] for _, column in taps.places], np.int16),
        "row": np.array([row for row, _ in taps.places], np.uint8),
        "filter": taps.weights,
        "ahead": ahead,
        "weights": filters(taps, requantization.weights(values), ahead),
        "constants": constants(taps, requantization.constants(bias)),
        "each": COUNT[requantization.form],
        "lane": np.array(taps.lanes, np.int32),
        "lanes": lanes_params(requantization),
    }
    return Packed(
        name,
        params,
        _entry(taps, name, v.kernel),
        Needs(scratch=taps.scratch),
        _price(taps),
        instances=instances,
        biases=Biases("constants", scale=requantization.bias_factors, owners=constants(taps, requantization.owners)),
    )


def _entry(taps: Taps, name: str, kernel: int) -> Entry:
    if taps.window.dilation[0] > 1:
        return Entry(taps=kernel)
    return Entry(
        Call.ROWS,
        row=f"{name}_row" if taps.group == 1 else "",
        rows=f"{name}_rows" if taps.group > 1 else "",
        group=taps.group,
        taps=kernel,
    )


def _price(taps: Taps) -> Price:
    """Cost factors: products count by their cycles in vectors, which depend on how well the window fills them."""
    if taps.single:
        return Price(tile=(taps.group, 1), costs=SINGLE)
    high, wide = taps.window.taps
    return Price(tile=(taps.group, 1), whole_windows=True, density=taps.estimate(0) / (high * wide))


@lru_cache(maxsize=256)
def best(window: Window, room: MemoryWeight) -> Taps | None:
    """The arrangement of windows in vectors with the least estimated cost, cached by shape because the search is
    long."""
    candidates = [taps for taps in arrangements(window) if taps.group == 1 or not room.single]
    first: tuple[float, int, Taps | None] = (inf, 0, None)
    for least, n, taps in sorted((taps.least_estimate(room.memory), n, taps) for n, taps in enumerate(candidates)):
        if least > first[0]:
            break
        first = min(first, (taps.estimate(room.memory), n, taps))
    return first[2]


def _inside(axis: Axis, inputs: int, outputs: int) -> tuple[int, int]:
    """The first window tap along an axis that is ever inside the image, and the number of such taps."""
    taps = [
        t
        for t in range(axis.kernel)
        if any(0 <= o * axis.stride - axis.before + t * axis.dilation < inputs for o in range(outputs))
    ]
    return (taps[0], taps[-1] - taps[0] + 1) if taps else (0, 0)


def _ahead(taps: Taps) -> int:
    """Bytes of zeros before the first weights."""
    return -(-taps.largest_shift // WORD) * WORD


def filters(taps: Taps, values: Ints, ahead: int) -> NDArray[np.int8]:
    """Weights [channels, rows, columns] in columns of the vector's height, with zeros before, between and after
    them."""
    channels, high, wide = values.shape
    columns = np.zeros((channels, taps.weights // taps.height, taps.height), np.int8)
    columns[:, :wide, :high] = values.transpose(0, 2, 1)
    return np.concatenate([np.zeros(ahead, np.int8), columns.reshape(-1)])


def constants(taps: Taps, each: Array) -> Array:
    """Requantization constants [channels, constants]; for single outputs transposed within each four channels."""
    if not taps.single:
        return each.reshape(-1)
    return np.ascontiguousarray(each.reshape(-1, 4, each.shape[1]).transpose(0, 2, 1)).reshape(-1)


def _instances(taps: Taps, requantize: Requantize, kernel: int) -> tuple[str, tuple[Instance, ...]]:
    """The kernel's name and its code; layers of equal shape share it."""
    w = taps.window
    (high, wide), (down, across) = w.taps, w.steps
    more = f"p{taps.more}" if taps.more else ""
    moves = f"{down}{across}" if w.dilation == (1, 1) else f"d{w.dilation[0]}{w.dilation[1]}"
    shape = f"{high}x{wide}_{moves}_{taps.height}x{taps.rows}x{taps.bands}x{taps.wide}{more}_{taps.group}"
    ending = f"{requantize.name}_single{8 if w.channels % 8 == 0 else 4}" if taps.single else requantize.name
    part = "" if taps.single or w.channels % VECTOR == 0 else "_part"
    code_name = f"taps_{shape}_{taps.columns}x{taps.block}_{ending}{part}"
    channels = f"{w.channels}" if w.multiplier == 1 else f"{w.channels}m{w.multiplier}"
    columns = f"taps_columns_{w.inputs[1]}x{channels}_{taps.columns}x{taps.block}"
    name = f"depthwise_{code_name}_{w.inputs[1]}x{channels}_{kernel}"
    arguments = (
        *(code_name, taps.rows, taps.band, down, taps.columns_of_tile, across, taps.height, taps.gathers, taps.column),
        *(*w.dilation, requantize.form, requantize.shift, int(taps.single)),
    )
    reads = (taps.group - 1) * down + (kernel - 1) * w.dilation[0] + 1
    ahead = _ahead(taps)
    facts = (
        *(w.channels, taps.block, w.outputs[1], taps.wide, taps.columns, w.before[1], w.inputs[1], across),
        *(len(taps.planes), int(taps.single), taps.quads, taps.weights, ahead, COUNT[requantize.form]),
        *(down, kernel, taps.height, w.multiplier, *w.dilation),
    )
    return name, (
        Instance(
            "MOTE_TAPS_COLUMNS",
            (columns, w.inputs[1], w.pixel, w.multiplier, taps.block, taps.plane),
            tuple(columns_code(taps)),
        ),
        Instance("MOTE_TAPS_CODE", arguments, tuple(code(taps, requantize))),
        Instance(
            "MOTE_TAPS" if w.dilation[0] == 1 else "MOTE_TAPS_WHOLE",
            (name, columns, code_name, reads, 4 * len(taps.planes), taps.group),
            facts=facts,
        ),
    )


KERNELS = tuple(
    learning(Kernel(name, (DepthwiseConv2D,), INT8, partial(_pack, room=room), header="depthwise_taps_s8", isa=HELIUM))
    for name, room in (("depthwise_taps", ROOMY), ("depthwise_taps_row", LEAN))
)
