"""Depthwise convolutions over rows of one pixel (1-D over time), one output row at a time: packed weights of
`mote_depthwise_column_s8.h`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.armv7em.common import CUTS_OFF, DSP, NO_CONSTANTS
from mote.compiler.kernels.armv7em.depthwise.depthwise_column_assembly import code
from mote.compiler.kernels.armv7em.depthwise.records import channels_of, stream
from mote.compiler.kernels.armv7em.ordering.knob import SINGLE, with_order
from mote.compiler.kernels.contract import INT8, Call, Entry, Instance, Kernel, Packed, Params, Refusal, View
from mote.compiler.kernels.pack.params import channel_structs, window_params
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.common import bias_values, channel_scales, int8_range
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

UNROLLED, FPU = "depthwise_column_unrolled", "_fpu"
MOST_TAPS = 16
"""Tallest window that is unrolled: taller ones cost more code than the loops cost time, and more FPU registers than are
free."""


def _refused(view: View) -> Refusal | None:
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    v, h = op.vertical, op.horizontal
    one_wide = (h.kernel, x.shape[2], y.shape[2], v.before, v.after) == (1, 1, 1, 0, 0)
    if op.multiplier != 1 or not one_wide or v.kernel < 2 or x.shape[3] < 4:
        return Refusal("it is for windows over rows of one pixel with four channels and more, without padding")
    if int8_range(op.activation, y) != (-128, 127):
        return CUTS_OFF
    return None


def _narrow(view: View) -> Packed | Refusal:
    if rounds_to_even(view):
        return TO_EVEN
    if refused := _refused(view):
        return refused
    x, w, y = view.input, view.op.input(view.graph, 1), view.output
    values = view.constant(1)[0, :, 0].astype(np.int64).T
    bias = bias_values(view.op.tensor(view.graph, 2), len(values)) - x.zero_point * values.sum(axis=1, dtype=np.int64)
    start, mult, shift = channel_structs(bias, *channel_scales(x, w, y, len(values))).rows.T
    if shift.min() < 0:
        return Refusal("sums are multiplied by one and more")
    fours, (pairs, last) = _fours(len(values)), _taps(values)
    two, one = pairs[fours].transpose(0, 2, 1), last[fours].transpose(0, 2, 1) & 0xFF
    words = two[..., 0::2] & 0xFF00FF | (two[..., 1::2] & 0xFF00FF) << 8
    alone = one[..., 0] | one[..., 1] << 8 | one[..., 2] << 16 | one[..., 3] << 24
    scales = np.stack([wrap32(mult << 1), shift], axis=1)
    records = stream(start[fours], words, alone, scales[fours])
    return _packed(view, "depthwise_column_s8", records)


def _wide(view: View, *, unrolled: bool = False, fpu: bool = False) -> Packed | Refusal:
    if refused := _refused(view):
        return refused
    channels = channels_of(view)
    if channels is None:
        return NO_CONSTANTS
    channels = channels.with_zero(view.input.zero_point)
    values = channels.requantization.scaled(channels.weights[:, :, 0])
    fours, (pairs, last) = _fours(len(values)), _taps(values)
    one = last[fours].transpose(0, 2, 1) & 0xFFFF
    alone = one[..., 0:2] | one[..., 2:4] << 16
    records = stream(channels.biases[fours], pairs[fours].transpose(0, 2, 1), alone, channels.constants[fours])
    form, shift, taps = channels.form, channels.requantization.shift, values.shape[1]
    if not unrolled:
        instance = Instance("MOTE_DEPTHWISE_COLUMN", (form, shift))
        return _packed(view, f"depthwise_column_{form}_{shift}", records, instance)
    if taps > MOST_TAPS:
        return Refusal(f"windows have more than {MOST_TAPS} rows")
    name, text = f"{taps}_{form}_{shift}{FPU if fpu else ''}", tuple(code(taps, form, shift, fpu=fpu))
    instance = Instance("MOTE_DEPTHWISE_COLUMN_TAPS", (name, taps, form, shift), text)
    return _packed(view, f"depthwise_column_{name}", records, instance)


def _packed(view: View, name: str, records: NDArray[np.int32], *instances: Instance) -> Packed:
    y = view.output
    params: Params = {
        "rows": window_params(view)["rows"],
        "channels": y.shape[3],
        "record": records.size // len(_fours(y.shape[3])),
        "zero": 2 * y.zero_point + 1,
        "records": records,
    }
    taps = view.the(DepthwiseConv2D).vertical.kernel
    return Packed(name, params, Entry(Call.ROWS, row=f"{name}_row", taps=taps), instances=instances)


def _fours(channels: int) -> Ints:
    """Channel indices [records, 4]: the last record repeats channels if their number is not a multiple of four."""
    return np.minimum(np.arange(0, channels, 4, dtype=np.int64), channels - 4)[:, None] + np.arange(4, dtype=np.int64)


def _taps(values: Ints) -> tuple[Ints, Ints]:
    """Weights [channels, rows] packed as pairs of 16-bit halves, and the last row of an odd number of them."""
    even = values.shape[1] // 2 * 2
    return values[:, 0:even:2] & 0xFFFF | values[:, 1:even:2] << 16, values[:, even:]


def _kernel(name: str, pack: Callable[..., Packed | Refusal], isa: frozenset[str] = DSP) -> Kernel:
    unless = frozenset({"dual", "mve"}) if "fpu" in isa else frozenset[str]()
    return Kernel(name, (DepthwiseConv2D,), INT8, pack, header="depthwise_column_s8", isa=isa, unless=unless)


KERNELS = (
    with_order(_kernel(f"{UNROLLED}{FPU}", partial(_wide, unrolled=True, fpu=True), DSP | {"fpu"}), SINGLE),
    with_order(_kernel(UNROLLED, partial(_wide, unrolled=True))),
    _kernel("depthwise_column", _narrow),
    _kernel("depthwise_column_wide", _wide),
)
