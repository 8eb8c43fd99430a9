"""Round-to-even layers in which some channels have no exact constants: a kernel with nearly exact ones computes the
layer, and a wrapper recomputes the results that may be off by one (`mote_patch_s8.h`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mote.compiler.kernels.contract import NHWC, Call, Instance, Kernel, Knob, Packed, Params, Refusal, Structs, View
from mote.compiler.kernels.pack.params import output_params, window_params
from mote.compiler.kernels.pack.requantize.even import NOT_TO_EVEN, rounds_to_even, single_scale
from mote.compiler.kernels.pack.requantize.loose import LooseConv2D, LooseDepthwiseConv2D, LooseFullyConnected, loosened
from mote.compiler.kernels.pack.requantize.search import CHOOSING, best_multiplier, room_of, staircases
from mote.ir.graph import Op
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.common import bias_values
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

FACTOR, MORE = 256, 7
"""Fixed-point precision of the search: factor of the accumulators, and additional right shift."""
LIMITS = (-128, 127)
WORDS = 8
"""32-bit words of a bit mask with one bit for each int8 value."""
LOOSE: dict[type[Op], type[Op]] = {
    Conv2D: LooseConv2D,
    DepthwiseConv2D: LooseDepthwiseConv2D,
    FullyConnected: LooseFullyConnected,
}
"""Stand-ins for layers while kernels are bound, in which some channels round once."""
LAYERS = Conv2D | DepthwiseConv2D | FullyConnected


def patched(kernel: Kernel) -> Kernel:
    """The variant of a kernel for layers some of whose channels have no exact constants."""

    def pack(view: View, **knobs: Knob) -> Packed | Refusal:
        if not rounds_to_even(view) or type(view.op) not in LOOSE:
            return NOT_TO_EVEN
        loose = view.once(loose_channels)
        if not loose:
            return Refusal("all channels have constants")
        loose_view = View(view.graph, (_with_loose(view, loose),), view.reads, view.writes, view.small)
        base = kernel.bind(loose_view, tuple(knobs.items()))
        return base if isinstance(base, Refusal) else _wrapped(view, base, loose)

    name, costs = f"{kernel.name}_patched", kernel.costs or kernel.name
    return replace(kernel, name=name, pack=pack, costs=costs, learned=frozenset())


def layer_sums_of(view: View) -> Accumulators:
    op = view.op
    assert isinstance(op, LAYERS)
    return op.sums(view.graph, view.graph.ranges[op.inputs[0]])


def loose_channels(view: View) -> tuple[int, ...]:
    """Indices of the channels without exact constants."""
    sums = layer_sums_of(view)
    unsure = np.flatnonzero(~sums.exact & ~sums.constant)
    channels = []
    for channel, stairs in zip(unsure.tolist(), staircases(sums.some(unsure)), strict=True):
        shift = MORE - int(sums.shift[channel])
        of = stairs.within(*LIMITS), FACTOR, shift
        mult = best_multiplier(*of, int(sums.mult[channel]), CHOOSING, LIMITS)
        low, high = room_of(*of, mult, CHOOSING, LIMITS)
        if low > high:
            channels.append(channel)
    return tuple(channels)


def _with_loose(view: View, loose: tuple[int, ...]) -> Op:
    """A copy of the operator in which the channels `loose` round once."""
    return LOOSE[type(view.op)].like(view.op, loose=loose)


def suspects(sums: Accumulators, loose: tuple[int, ...]) -> Ints:
    """Bit masks [channels, 8] of the int8 results that may be off by one and must be recomputed."""
    other = loosened(sums, loose).some(np.array(loose))
    even = sums.some(np.array(loose))
    masks = np.zeros((len(loose), WORDS), np.int64)
    for row, (a, b) in enumerate(zip(staircases(even), staircases(other), strict=True)):
        at = np.unique(np.concatenate([a.steps, a.steps - 1, b.steps, b.steps - 1]))
        at = at[(at >= a.low) & (at <= a.high)]
        wrong = other.outputs(at, row)[even.outputs(at, row) != other.outputs(at, row)] + 128
        for code in np.unique(wrong).tolist():
            masks[row, code >> 5] |= 1 << (code & 31)
    return masks


def _wrapped(view: View, base: Packed, loose: tuple[int, ...]) -> Packed | Refusal:
    flat = base.entry.call is Call.FLAT
    if base.entry.call not in (Call.FLAT, Call.ROWS):
        return Refusal("it is not called by pixels or rows")
    if any(layout != NHWC and not layout.planes[0] for layout in (base.needs.reads, base.needs.writes)):
        return Refusal("results can only be recomputed in NHWC and planar layouts")
    dry = "_DRY" if base.needs.scratch is None else ""
    ending = f"ROWS{dry}" if not flat else "FLAT" if dry else "FLAT_WORKING"
    instances = [*base.instances, Instance(f"MOTE_PATCHED_{ending}", (base.name,))]
    instances += [Instance(f"MOTE_PATCHED_ROW{dry}", (base.name, base.entry.row))] if base.entry.row else []
    instances += [Instance(f"MOTE_PATCHED_SEVERAL{dry}", (base.name, base.entry.rows))] if base.entry.rows else []
    return replace(
        base,
        entry=replace(
            base.entry,
            row=f"patched_{base.entry.row}" if base.entry.row else "",
            rows=f"patched_{base.entry.rows}" if base.entry.rows else "",
        ),
        price=replace(base.price, costs=""),
        name=f"patched_{base.name}",
        params={"plain": base.params, "patch": _patch(view, loose, base)},
        instances=tuple(instances),
        beats=(),
        family="",
        headers=(*base.headers, "patch_s8"),
    )


def _patch(view: View, loose: tuple[int, ...], base: Packed) -> Params:
    """The fields of `mote_patching_t`: window, weights and exact requantization of the channels `loose`, and their
    suspect results."""
    op, weights, sums = view.op, view.constant(1), layer_sums_of(view)
    assert isinstance(op, LAYERS) and sums.real is not None
    which, depthwise = np.array(loose), isinstance(op, DepthwiseConv2D)
    bias = bias_values(op.tensor(view.graph, 2), view.output.channels)[which]
    own = weights[0].transpose(2, 0, 1)[which] if depthwise else weights[which]
    scales = np.array([single_scale(real) for real in sums.real[which].tolist()], np.int64)
    columns = [which[:, None], wrap32(bias)[:, None], scales]
    y, (in_line, in_before), (line, before) = view.output, base.needs.reads.planes, view.writes.planes
    return {
        **_window(view, base),
        "in_channels": weights.shape[-1],
        "in_zero": view.input.zero_point,
        "depthwise": int(depthwise),
        "in_line": in_line,
        "in_before": in_before,
        "pixel": 1 if line else y.channels,
        "line": line,
        "before": before,
        "count": len(loose),
        "output": output_params(op.activation, y),
        "channel": Structs("mote_patched_t", np.concatenate(columns, axis=1)),
        "suspects": suspects(sums, loose).reshape(-1).astype(np.uint32),
        "weights": np.ascontiguousarray(own),
    }


def _window(view: View, base: Packed) -> Params:
    """Window parameters for recomputing a result; a 1x1 window for kernels that are called for separate pixels."""
    if base.entry.call is Call.ROWS:
        window = window_params(view)
        rows = window["rows"]
        assert isinstance(rows, Mapping)
        x, y = view.input.shape, view.output.shape
        (read, _), (written, _) = base.needs.reads.planes, view.writes.planes
        strides = {"in_stride": (read or x[2]) * x[3], "out_stride": (written or y[2]) * y[3]}
        return {**window, "rows": {**rows, **strides}}
    one = {"taps": 1, "step": 1, "spread": 1, "pad": 0}
    rows = {"in_rows": 1, "out_rows": 1, "in_stride": 0, "out_stride": 0, **one}
    return {"rows": rows, "cols": {"in_size": 1, "out_size": 1, **one}}
