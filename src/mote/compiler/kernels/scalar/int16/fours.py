"""Convolutions of int16 images four pixels at a time: packed weights and constants of `mote_conv_fours_s16.h` and
`mote_depthwise_fours_s16.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import Instance, Kernel, Packed, Refusal, View
from mote.compiler.kernels.pack.blocks_s16 import (
    DILATED,
    INT16,
    PIXELS,
    blocks,
    bytes_in_words,
    edged,
    edges_of,
    pixels_of,
)
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.requantize.high_s16 import HighScale, high_scale
from mote.compiler.kernels.scalar.depthwise import MUL32
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

GROUP = 4
"""Inputs whose 8-bit weights share a word."""
MULTIPLIER_BITS = 15
COLUMNS, MOST_STEP = 3, 2
"""Supported depthwise windows: number of columns, and largest stride."""
WORDS = 2
"""Elements of scratch memory (int16) that a word takes."""


def constants(scale: HighScale) -> Ints:
    """Requantization constants [channels, 2]: a 15-bit multiplier, in the upper half of a word, and the shift after the
    multiplication."""
    lift = np.maximum(np.ceil(np.log2(scale.factor + 1)).astype(np.int64) - MULTIPLIER_BITS, 0)
    return np.stack([(scale.factor >> lift) << 16, scale.shift + 16 - lift], axis=1)


def _pack(view: View) -> Packed | Refusal:
    op, w = view.the(Conv2D), view.constant(1).astype(np.int64)
    channels, taps, columns, depth = w.shape
    if op.horizontal.dilation > 1:
        return DILATED
    scale = high_scale(view, op.activation)
    if isinstance(scale, Refusal):
        return scale
    matrix = pad_to(scale.weights(w, 0).reshape(channels, -1), 1, GROUP)
    stream = np.concatenate([scale.bias[:, None], bytes_in_words(matrix), constants(scale)], axis=1)
    shape = taps, columns * depth, op.horizontal.stride * depth, channels, scale.low, scale.high
    form = "_".join(map(str, shape)).replace("-", "m")
    codes = {n: Instance("MOTE_CONV_FOURS_S16_CODE", (f"conv_fours{n}_s16_{form}", n, *shape)) for n in pixels_of(view)}
    work = WORDS * matrix.shape[1] * (PIXELS if max(codes) > 1 else 1)
    return blocks(view, f"conv_fours_s16_{form}", stream.reshape(-1), codes, work)


def _depthwise(view: View) -> Packed | Refusal:
    op, w = view.the(DepthwiseConv2D), view.constant(1)[0].astype(np.int64)
    taps, columns, channels = w.shape
    step = op.horizontal.stride
    if op.multiplier != 1:
        return Refusal("inputs go into several output channels")
    if columns != COLUMNS or step > MOST_STEP:
        return Refusal("it is for windows of three columns and strides of one or two")
    if op.horizontal.dilation > 1:
        return DILATED
    scale = high_scale(view, op.activation, axis=3)
    if isinstance(scale, Refusal):
        return scale
    edges = edges_of(view)
    if isinstance(edges, Refusal):
        return edges
    rows = bytes_in_words(pad_to(scale.weights(w, 2).transpose(2, 0, 1), 2, GROUP)).reshape(channels, taps)
    stream = np.concatenate([scale.bias[:, None], rows, constants(scale)], axis=1).reshape(-1)
    shape = channels, scale.low, scale.high
    form = "_".join(map(str, (taps, step, *shape))).replace("-", "m")
    codes = {
        edge: Instance(
            "MOTE_DEPTHWISE_FOURS_S16_CODE",
            (f"depthwise_fours_s16_{edge}_{form}", edge.pixels, taps, step, edge.left, edge.right, *shape),
        )
        for edge in dict.fromkeys(edges)
    }
    return edged(view, f"depthwise_fours_s16_{form}", stream, codes, edges)


KERNELS = (
    Kernel("conv_fours_s16", (Conv2D,), INT16, _pack, header="conv_fours_s16", isa=MUL32),
    Kernel("depthwise_fours_s16", (DepthwiseConv2D,), INT16, _depthwise, header="depthwise_fours_s16", isa=MUL32),
)
