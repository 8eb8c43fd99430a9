"""Convolutions of int16 images with Helium vectors: packed weights, constants and code of `mote_conv4_s16.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import Instance, Kernel, Packed, Refusal, View
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.helium.int16.blocks_assembly import (
    BASES,
    LANES,
    MOST_ADDED,
    REACH,
    Outputs,
    Windows,
    conv,
    depthwise,
    worth_packing,
)
from mote.compiler.kernels.pack.blocks_s16 import (
    DILATED,
    FAR,
    INT16,
    ODD,
    PIXELS,
    blocks,
    bytes_in_words,
    edged,
    edges_of,
    pixels_of,
)
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.requantize.high_s16 import HighScale, high_scale
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.types import Activation
from mote.ir.ops.common import WindowOp
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

MOST_ROWS = 16


def _scale(view: View, activation: Activation, axis: int) -> HighScale | Refusal:
    """Requantization constants of a layer, or the reason why its kernels cannot compute it; multipliers are even
    because the instruction that applies them doubles."""
    op = view.the(WindowOp)
    if view.output.shape[3] % 2:
        return ODD
    if op.horizontal.dilation > 1:
        return DILATED
    if op.vertical.kernel > MOST_ROWS:
        return Refusal("windows have too many rows")
    scale = high_scale(view, activation, axis)
    if isinstance(scale, HighScale) and (scale.factor % 2).any():
        return Refusal("the scales of its channels are too far apart")
    return scale


def _conv(view: View) -> Packed | Refusal:
    op, w = view.the(Conv2D), view.constant(1).astype(np.int64)
    channels, taps, columns, depth = w.shape
    windows = Windows(taps, columns * depth, op.horizontal.stride * depth, worth_packing(taps, columns * depth))
    scale = _scale(view, op.activation, 0)
    if isinstance(scale, Refusal):
        return scale
    if 2 * max(windows.pixel, windows.multiplied.pixel, channels) > MOST_ADDED:
        return FAR
    rows = scale.weights(w, 0).reshape(channels, windows.multiplied.taps, windows.multiplied.line)
    vectors = _in_vectors(rows, windows.multiplied).reshape(channels // 2, 2, -1, LANES).transpose(0, 2, 1, 3)
    words = bytes_in_words(vectors.reshape(channels // 2, -1))
    parts = words, scale.bias.reshape(-1, 2), scale.factor.reshape(-1, 2) // 2
    out = Outputs(scale.shift, scale.low, scale.high, channels)
    shape = windows.taps, windows.line, windows.pixel, int(windows.packed), channels, out.shift, out.low, out.high
    codes = {
        n: Instance("MOTE_CONV4_S16_CODE", (f"conv{n}_s16_{_form(shape)}", n, *shape), conv(n, windows, out))
        for n in pixels_of(view)
    }
    work = PIXELS * windows.pitch if windows.packed else 0
    return blocks(view, f"conv_vectors_s16_{_form(shape)}", np.concatenate(parts, axis=1).reshape(-1), codes, work)


def _depthwise(view: View) -> Packed | Refusal:
    op, w = view.the(DepthwiseConv2D), view.constant(1)[0].astype(np.int64)
    taps, columns, channels = w.shape
    step = op.horizontal.stride
    if op.multiplier != 1:
        return Refusal("inputs go into several output channels")
    if 2 * channels * ((PIXELS - 1) * step + columns) > 2 * REACH * len(BASES) or 2 * channels > MOST_ADDED:
        return FAR
    scale = _scale(view, op.activation, 3)
    if isinstance(scale, Refusal):
        return scale
    eights = (
        pad_to(scale.weights(w, 2).reshape(-1, channels), 1, LANES)
        .reshape(taps * columns, -1, LANES)
        .transpose(1, 0, 2)
    )
    words = bytes_in_words(eights.reshape(len(eights), -1))
    stream = np.concatenate([_by_lanes(scale.bias), words, _by_lanes(scale.factor // 2)], axis=1).reshape(-1)
    out = Outputs(scale.shift, scale.low, scale.high, channels)
    edges = edges_of(view)
    if isinstance(edges, Refusal):
        return edges
    shape = taps, columns, step, channels, out.shift, out.low, out.high
    codes = {
        edge: Instance(
            "MOTE_DEPTHWISE4_S16_CODE",
            (f"depthwise4_s16_{edge}_{_form(shape)}", edge.pixels, *shape[:3], edge.left, edge.right, *shape[3:]),
            depthwise(edge, taps, columns, step, out),
        )
        for edge in dict.fromkeys(edges)
    }
    return edged(view, f"depthwise_vectors_s16_{_form(shape)}", stream, codes, edges)


def _in_vectors(rows: Ints, windows: Windows) -> Ints:
    """Weights [channels, taps, line] in the lanes of their inputs, with zeros in lanes that are read twice or past the
    end."""
    last = windows.vectors - 1
    behind = rows[..., LANES * last :]
    before = LANES * last - windows.start(last)
    ends = [(0, 0), (0, 0), (before, LANES - before - behind.shape[2])]
    return np.concatenate([rows[..., : LANES * last], np.pad(behind, ends)], axis=2)


def _by_lanes(numbers: Ints) -> Ints:
    """Numbers in rows of eight channels, even channels before odd ones."""
    eights = pad_to(numbers, 0, LANES).reshape(-1, LANES)
    return np.concatenate([eights[:, 0::2], eights[:, 1::2]], axis=1)


def _form(shape: tuple[int, ...]) -> str:
    return "_".join(map(str, shape)).replace("-", "m")


KERNELS = (
    Kernel("conv4_s16", (Conv2D,), INT16, _conv, header="conv4_s16", isa=HELIUM, lanes=2),
    Kernel("depthwise4_s16", (DepthwiseConv2D,), INT16, _depthwise, header="conv4_s16", isa=HELIUM, lanes=8),
)
