"""Convolutions of int16 images four pixels and two output channels at a time: packed weights, constants and code of
`mote_conv4x2_s16.h`."""

from __future__ import annotations

from functools import partial

import numpy as np

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.armv7em.int16.conv4x2_assembly import Outputs, code
from mote.compiler.kernels.assembly import MOST_OFFSET
from mote.compiler.kernels.contract import Instance, Kernel, Packed, Refusal, View
from mote.compiler.kernels.pack.blocks_s16 import (
    DILATED,
    FAR,
    INT16,
    ODD,
    PIXELS,
    blocks,
    bytes_in_words,
    halves_in_words,
    pixels_of,
)
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.requantize.high_s16 import HighScale, high_scale
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.windows.conv import Conv2D


def outputs_of(scale: HighScale) -> Outputs:
    return Outputs(scale.shift, scale.low, scale.high, len(scale.bias))


def _stream(weights: Ints, scale: HighScale, *, wide: bool) -> Ints:
    """Serialize weights [channels, taps, line]: for each pair of channels the biases, weights and multipliers; `wide`:
    16-bit weights."""
    padded = pad_to(weights, 2, 2)
    steps = padded.reshape(len(weights) // 2, 2, -1, 2)
    if wide:
        words = halves_in_words(steps.transpose(0, 2, 1, 3)).reshape(len(steps), -1)
    else:
        words = bytes_in_words(steps.transpose(0, 2, 3, 1).reshape(len(steps), -1))
    parts = scale.bias.reshape(-1, 2), words, scale.factor.reshape(-1, 2)
    return np.concatenate(parts, axis=1).reshape(-1)


def _pack(view: View, *, wide: bool) -> Packed | Refusal:
    op, w = view.the(Conv2D), view.constant(1).astype(np.int64)
    channels, taps, columns, depth = w.shape
    pixel, line = op.horizontal.stride * depth, columns * depth
    if channels % 2:
        return ODD
    if op.horizontal.dilation > 1:
        return DILATED
    if 2 * (PIXELS - 1) * max(pixel, channels) + 4 * 64 > MOST_OFFSET:
        return FAR
    scale = view.once(_scale)
    if isinstance(scale, Refusal):
        return scale
    out = outputs_of(scale)
    form = f"{'wide' if wide else 'bytes'}_{taps}x{line}_{pixel}_{channels}_{out.shift}_{out.low}_{out.high}"
    form = form.replace("-", "m")
    codes = {
        n: Instance(
            "MOTE_CONV4X2_S16_CODE",
            (f"conv{n}x2_s16_{form}", n, taps, line, pixel, channels, int(wide), out.shift, out.low, out.high),
            code(n, taps, line, pixel, wide=wide, out=out),
        )
        for n in pixels_of(view)
    }
    stream = _stream(scale.weights(w, 0).reshape(channels, taps, line), scale, wide=wide)
    return blocks(view, f"conv_blocks_s16_{form}", stream, codes)


def _scale(view: View) -> HighScale | Refusal:
    return high_scale(view, view.the(Conv2D).activation)


KERNELS = tuple(
    Kernel(
        f"conv4x2_s16{'_wide' if wide else ''}",
        (Conv2D,),
        INT16,
        partial(_pack, wide=wide),
        header="conv4x2_s16",
        isa=DSP,
        unless=frozenset({"mve"}),
        lanes=2,
    )
    for wide in (True, False)
)
