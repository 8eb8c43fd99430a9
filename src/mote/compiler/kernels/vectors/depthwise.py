"""Depthwise convolutions with SIMD instructions of the host: `mote_depthwise_vectors_s8.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import INT8, Call, Entry, Kernel, Needs, Packed, Params, Refusal, View
from mote.compiler.kernels.pack.params import channel_structs, output_params, pad_to, window_params
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.compiler.kernels.vectors.common import BLOCK, LARGE, VECTORS, blocks, shifts_right
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import bias_values, channel_scales
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

PAIR = 2
WIDE = 2
"""Bytes of a widened input."""


def paired(weights: Array) -> Array:
    """Pack weights [rows, columns, channels] as [blocks of 16 channels][pairs of rows][columns][16 channels][2]."""
    padded = pad_to(pad_to(weights, 0, PAIR), 2, BLOCK)
    rows, columns, channels = padded.shape
    each = padded.reshape(rows // PAIR, PAIR, columns, channels // BLOCK, BLOCK)
    return np.ascontiguousarray(each.transpose(3, 0, 2, 4, 1)).astype(np.int16).reshape(-1)


def _pack(view: View) -> Packed | Refusal:
    op, x, y, w = view.the(DepthwiseConv2D), view.input, view.output, view.constant(1)[0]
    if rounds_to_even(view):
        return TO_EVEN
    if op.multiplier != 1:
        return Refusal("inputs go into several output channels")
    count, h = w.shape[2], op.horizontal
    bias = bias_values(op.tensor(view.graph, 2), count) - x.zero_point * w.astype(np.int64).sum(axis=(0, 1))
    channels = channel_structs(bias, *channel_scales(x, op.input(view.graph, 1), y, count))
    if not shifts_right(channels, 0):
        return LARGE
    width = (y.shape[2] - 1) * h.stride + h.extent
    params: Params = {
        **window_params(view),
        "channels": count,
        "in_zero": x.zero_point,
        "width": width,
        "output": output_params(op.activation, y),
        "weights": paired(w),
        "block": blocks(channels),
    }
    taps = op.vertical.kernel
    return Packed(
        "depthwise_vectors_s8",
        params,
        Entry(Call.ROWS, row="depthwise_vectors_s8_row", taps=taps),
        Needs(scratch=WIDE * PAIR * -(-taps // PAIR) * (width * count + BLOCK)),
    )


KERNELS = (Kernel("depthwise_vectors", (DepthwiseConv2D,), INT8, _pack, isa=VECTORS, lanes=BLOCK),)
