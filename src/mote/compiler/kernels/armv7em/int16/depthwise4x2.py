"""Depthwise convolutions of int16 images four pixels and two channels at a time: packed weights, constants and code of
`mote_depthwise4x2_s16.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.armv7em.int16.conv4x2 import outputs_of
from mote.compiler.kernels.armv7em.int16.depthwise4x2_assembly import MOST_ROWS, code
from mote.compiler.kernels.assembly import MOST_OFFSET
from mote.compiler.kernels.contract import Instance, Kernel, Packed, Refusal, View
from mote.compiler.kernels.pack.blocks_s16 import DILATED, FAR, INT16, ODD, PIXELS, edged, edges_of, halves_in_words
from mote.compiler.kernels.pack.requantize.high_s16 import high_scale
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


def _pack(view: View) -> Packed | Refusal:
    op, w = view.the(DepthwiseConv2D), view.constant(1)[0].astype(np.int64)
    taps, columns, channels = w.shape
    step = op.horizontal.stride
    if op.multiplier != 1:
        return Refusal("inputs go into several output channels")
    if channels % 2:
        return ODD
    if op.horizontal.dilation > 1:
        return DILATED
    if taps > MOST_ROWS:
        return Refusal("windows have too many rows")
    if 2 * channels * ((PIXELS - 1) * step + columns) > MOST_OFFSET:
        return FAR
    scale = high_scale(view, op.activation, axis=3)
    if isinstance(scale, Refusal):
        return scale
    out = outputs_of(scale)
    edges = edges_of(view)
    if isinstance(edges, Refusal):
        return edges
    form = f"{taps}x{columns}_{step}_{channels}_{out.shift}_{out.low}_{out.high}".replace("-", "m")
    ends = channels, out.shift, out.low, out.high
    codes = {
        edge: Instance(
            "MOTE_DEPTHWISE4X2_S16_CODE",
            (f"depthwise4x2_s16_{edge}_{form}", edge.pixels, taps, columns, step, edge.left, edge.right, *ends),
            code(edge, taps, columns, step, out),
        )
        for edge in dict.fromkeys(edges)
    }
    pairs = halves_in_words(scale.weights(w, 2).reshape(-1, channels)).T
    stream = np.concatenate([scale.bias.reshape(-1, 2), pairs, scale.factor.reshape(-1, 2)], axis=1).reshape(-1)
    return edged(view, f"depthwise_blocks_s16_{form}", stream, codes, edges)


KERNELS = (
    Kernel(
        "depthwise4x2_s16", (DepthwiseConv2D,), INT16, _pack, header="depthwise4x2_s16", isa=DSP,
        unless=frozenset({"mve"}), lanes=2,
    ),
)  # fmt: skip
