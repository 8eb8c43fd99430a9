"""int8 DEPTHWISE_CONV_2D in portable C: `mote_depthwise_s8.h`, and with running sums `mote_depthwise_add_s8.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import INT8, Biases, Call, Entry, Kernel, Needs, Packed, Params, Refusal, View
from mote.compiler.kernels.pack.learned_bias import learning
from mote.compiler.kernels.pack.params import (
    CHANNEL_WORDS,
    adds_rows,
    channel_structs,
    output_params,
    pad_to,
    window_params,
)
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import bias_values, channel_scales
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


def layer_params(view: View) -> Params:
    """All parameters of the depthwise kernel (`mote_depthwise_s8_t`)."""
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    channels = y.shape[3]
    scales = channel_scales(x, op.input(view.graph, 1), y, channels)
    constants = channel_structs(bias_values(op.tensor(view.graph, 2), channels), *scales)
    return {
        **window_params(view),
        "in_channels": x.shape[3],
        "channels": channels,
        "multiplier": op.multiplier,
        "in_zero": x.zero_point,
        "output": output_params(op.activation, y, constants),
        "weights": by_four(view.constant(1)[0]),
        "channel": constants,
    }


def by_four(weights: Array) -> Array:
    """Reorders weights [rows, columns, channels] to [blocks of 4 channels][tap][4], zero-padded."""
    taps = weights.reshape(-1, weights.shape[2])
    blocks = pad_to(taps, 1, 4).reshape(taps.shape[0], -1, 4).transpose(1, 0, 2)
    return np.ascontiguousarray(blocks).reshape(-1)


def _by_rows(view: View) -> Packed | Refusal:
    if rounds_to_even(view):
        return TO_EVEN
    taps = view.the(DepthwiseConv2D).vertical.kernel
    entry, biases = Entry(Call.ROWS, row="depthwise_s8_row", taps=taps), Biases("channel", CHANNEL_WORDS)
    return Packed("depthwise_s8", layer_params(view), entry, biases=biases)


def _running_sums(view: View) -> Packed | Refusal:
    if rounds_to_even(view):
        return TO_EVEN
    if not adds_rows(view):
        return Refusal("the output is not one row computed from several")
    return Packed("depthwise_add_s8", layer_params(view), Entry(Call.ADDS), Needs(sums=4 * view.output.size))


KERNELS = (
    learning(Kernel("depthwise", (DepthwiseConv2D,), INT8, _by_rows, tuned=True)),
    Kernel("depthwise_add", (DepthwiseConv2D,), INT8, _running_sums, call=Call.ADDS, tuned=True),
)
