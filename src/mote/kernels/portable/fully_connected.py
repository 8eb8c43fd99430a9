"""FULLY_CONNECTED in plain C: `mote_fully_connected_s8.h`, with coded weights, and float."""

from __future__ import annotations

import numpy as np

from mote.graph.types import Rounding
from mote.kernels.contract import FLOAT32, INT8, Call, Coding, Kernel, Packed, Params, Structs, View, units_of
from mote.kernels.pack.coding import encode
from mote.kernels.pack.params import channel_structs, interleave, output_params
from mote.ops.common import bias_values, channel_scales, float_bias, float_range
from mote.ops.fully_connected import FullyConnected


def channels_of(view: View) -> Structs:
    """`mote_channel_t`: the input's zero point is folded into the bias."""
    op, x, w = view.op, view.input, view.op.input(view.graph, 1)
    sums = view.constant(1).astype(np.int64).sum(axis=1)
    start = bias_values(op.tensor(view.graph, 2), w.shape[0]) - x.zero_point * sums
    return channel_structs(start, *channel_scales(x, w, view.output, w.shape[0]))


def _common(view: View) -> Params:
    op, (channels, depth) = view.the(FullyConnected), view.constant(1).shape
    return {
        "depth": depth,
        "channels": channels,
        "round_once": int(op.rounding is Rounding.ONCE),
        "output": output_params(op.activation, view.output),
    }


def _vectors(view: View) -> int:
    return units_of(view.input.shape, view.constant(1).shape[1])


def _plain(view: View) -> Packed:
    w = view.constant(1)
    fours = w.shape[0] // 4 * 4
    weights = np.concatenate([interleave(w[:fours], 4), w[fours:].reshape(-1)])
    params = _common(view) | {"weights": weights, "channel": view.once(channels_of)}
    return Packed("fully_connected_s8", params, Call.FLAT, _vectors(view))


def _coded(view: View) -> Packed:
    code, channel = encode(view.constant(1)), view.once(channels_of)
    scale = channel.rows[:, 1:].astype(np.int32)
    same = bool(np.all(scale == scale[0]))
    params: Params = _common(view) | {
        "code": code.params,
        "start": channel.rows[:, 0].astype(np.int32),
        "scale": scale[0] if same else scale.reshape(-1),
        "step": 0 if same else 2,
    }
    vectors = _vectors(view)
    coding = Coding(vectors * code.symbols)
    return Packed("fully_connected_coded_s8", params, Call.FLAT, vectors, coding=coding)


def _real(view: View) -> Packed:
    op, w = view.the(FullyConnected), view.constant(1)
    channels, depth = w.shape
    low, high = float_range(op.activation)
    params: Params = {
        "depth": depth,
        "channels": channels,
        "low": low,
        "high": high,
        "weights": w,
        "bias": float_bias(op.tensor(view.graph, 2), channels),
    }
    return Packed("fully_connected_f32", params, Call.FLAT, _vectors(view))


KERNELS = (
    Kernel("fully_connected", (FullyConnected,), INT8, _plain, tuned=True),
    Kernel("fully_connected_coded", (FullyConnected,), INT8, _coded, coded=True),
    Kernel("fully_connected_f32", (FullyConnected,), FLOAT32, _real),
)
