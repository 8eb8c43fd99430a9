"""Depthwise convolutions over rows of one pixel, a row at a time: the records of `mote_depthwise_column_s8.h`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph
from mote.graph.fixedpoint import Ints, wrap32
from mote.graph.types import DType
from mote.ops.common import bias_values, channel_scales, channel_structs, int8_range
from mote.ops.depthwise_records import channels_of, stream
from mote.plan.kernel import Call, Kernel, Lowering, Value

if TYPE_CHECKING:
    from mote.ops.depthwise import DepthwiseConv2D


def lower_column(g: Graph, op: DepthwiseConv2D, how: Lowering) -> list[Kernel]:
    """The kernels with weights of 8 and of 16 bits; none where the layer's shape or numbers do not allow it."""
    x, y, v, h = op.input(g), op.output(g), op.vertical, op.horizontal
    plain = x.dtype == DType.INT8 and op.multiplier == 1 and not how.reads.planar and not how.writes.planar
    one_wide = (h.kernel, x.shape[2], y.shape[2], v.before, v.after) == (1, 1, 1, 0, 0)
    if not plain or not one_wide or v.kernel < 2 or x.shape[3] < 4 or int8_range(op.activation, y) != (-128, 127):
        return []
    return [kernel for kernel in (_narrow(g, op), _wide(g, op)) if kernel is not None]


def _narrow(g: Graph, op: DepthwiseConv2D) -> Kernel | None:
    x, w, y = op.input(g), op.input(g, 1), op.output(g)
    assert w.data is not None
    values = w.data[0, :, 0].astype(np.int64).T
    bias = bias_values(op.tensor(g, 2), len(values)) - x.zero_point * values.sum(axis=1)
    start, mult, shift = channel_structs(bias, *channel_scales(x, w, y, len(values))).rows.T
    if shift.min() < 0:
        return None
    fours, (pairs, last) = _fours(len(values)), _taps(values)
    two, one = pairs[fours].transpose(0, 2, 1), last[fours].transpose(0, 2, 1) & 0xFF
    words = two[..., 0::2] & 0xFF00FF | (two[..., 1::2] & 0xFF00FF) << 8
    alone = one[..., 0] | one[..., 1] << 8 | one[..., 2] << 16 | one[..., 3] << 24
    scales = np.stack([wrap32(mult << 1), shift], axis=1)
    records = stream(start[fours], words, alone, scales[fours])
    return _kernel(g, op, "depthwise_column_s8", records, family="depthwise_column")


def _wide(g: Graph, op: DepthwiseConv2D) -> Kernel | None:
    channels = channels_of(g, op)
    if channels is None:
        return None
    channels = channels.with_zero(op.input(g).zero_point)
    values = channels.found.scaled(channels.weights[:, :, 0])
    fours, (pairs, last) = _fours(len(values)), _taps(values)
    one = last[fours].transpose(0, 2, 1) & 0xFFFF
    alone = one[..., 0:2] | one[..., 2:4] << 16
    records = stream(channels.biases[fours], pairs[fours].transpose(0, 2, 1), alone, channels.constants[fours])
    form, shift = channels.form, channels.found.shift
    instances = (f"MOTE_DEPTHWISE_COLUMN({form}, {shift})",)
    name = f"depthwise_column_{form}_{shift}"
    return _kernel(g, op, name, records, family="depthwise_column_wide", instances=instances)


def _kernel(g: Graph, op: DepthwiseConv2D, name: str, records: NDArray[np.int32], **more: Any) -> Kernel:
    y = op.output(g)
    params: dict[str, Value] = {
        "rows": op.window_params(g)["rows"],
        "channels": y.shape[3],
        "record": records.size // len(_fours(y.shape[3])),
        "zero": 2 * y.zero_point + 1,
        "records": records,
    }
    return Kernel(
        name,
        params,
        Call.ROWS,
        row=f"{name}_row",
        taps=op.vertical.kernel,
        header="depthwise_column_s8",
        dsp=True,
        **more,
    )


def _fours(channels: int) -> Ints:
    """The channels of each record: the last one repeats some where they are no multiple of four."""
    return np.minimum(np.arange(0, channels, 4), channels - 4)[:, None] + np.arange(4)


def _taps(values: Ints) -> tuple[Ints, Ints]:
    """Weights [channels, rows] as words of two 16-bit halves, and the last one of an odd number."""
    even = values.shape[1] // 2 * 2
    return values[:, 0:even:2] & 0xFFFF | values[:, 1:even:2] << 16, values[:, even:]
