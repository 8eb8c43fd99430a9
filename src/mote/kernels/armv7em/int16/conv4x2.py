"""Convolutions of int16 images four pixels and two channels at a time: the weights, constants and code of
`mote_conv4x2_s16.h`."""

from __future__ import annotations

from functools import partial

import numpy as np

from mote.graph.numeric.fixedpoint import Ints, wrap32
from mote.graph.types import DType
from mote.kernels.armv7em.common import DSP
from mote.kernels.armv7em.int16.conv4x2_assembly import MOST_OFFSET, Outputs, code
from mote.kernels.contract import Call, Entry, Instance, Kernel, Needs, Packed, Price, Refusal, View, signature
from mote.kernels.pack.params import pad_to, window_params
from mote.kernels.pack.requantize.high_s16 import HighScale, high_scale
from mote.ops.common import WindowOp
from mote.ops.windows.conv import Conv2D

INT16 = signature(DType.INT16, DType.INT16)
PIXELS = 4
ODD = Refusal("channels are computed two at a time")
DILATED = Refusal("windows are dilated")
FAR = Refusal("pixels have too many channels")


def in_image(view: View) -> bool:
    """Whether no window leaves the image."""
    op = view.the(WindowOp)
    rows, columns = view.input.shape[1:3]
    axes = ((op.vertical, rows, view.output.shape[1]), (op.horizontal, columns, view.output.shape[2]))
    return all(
        axis.before == 0 and (count - 1) * axis.stride + (axis.kernel - 1) * axis.dilation < size
        for axis, size, count in axes
    )


def blocks(view: View, name: str, stream: Ints, codes: dict[int, Instance], costs: Price) -> Packed:
    """The kernel of blocks whose functions are `codes`, by the pixels that they compute."""
    op, channels = view.the(WindowOp), view.input.shape[3]
    names = [str(codes[n].arguments[0]) for n in sorted(codes, reverse=True)]
    columns = 3 * op.horizontal.stride + op.horizontal.kernel
    scratch = 0 if in_image(view) else 2 * op.vertical.kernel * columns * channels
    params = {
        **window_params(view),
        "in_channels": channels,
        "channels": view.output.shape[3],
        "stream": wrap32(stream).astype(np.int32),
    }
    return Packed(
        name,
        params,
        Entry(Call.ROWS, row=f"{name}_row", taps=op.vertical.kernel),
        Needs(scratch=scratch),
        costs,
        instances=(*codes.values(), Instance("MOTE_BLOCKS_S16", (name, names[0], names[-1]))),
    )


def pixels_of(view: View) -> list[int]:
    """How many pixels blocks of a row have: four, and what is left."""
    width = view.output.shape[2]
    return [n for n in (PIXELS if width >= PIXELS else 0, width % PIXELS) if n]


def outputs_of(scale: HighScale) -> Outputs:
    return Outputs(scale.shift, scale.low, scale.high, len(scale.bias))


def bytes_in_words(data: Ints) -> Ints:
    """Four bytes a word, the first one lowest; bytes are on the last axis."""
    fours = (data & 0xFF).reshape(*data.shape[:-1], -1, 4)
    return np.asarray((fours << np.arange(0, 32, 8)).sum(axis=-1))


def halves_in_words(data: Ints) -> Ints:
    """Two half words a word, the first one lowest."""
    return np.asarray((data[..., 0::2] & 0xFFFF) | (data[..., 1::2] & 0xFFFF) << 16)


def _stream(weights: Ints, scale: HighScale, *, wide: bool) -> Ints:
    """For each pair of channels biases, weights and multipliers; of weights [channels, taps, line]."""
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
    stream = _stream(w.reshape(channels, taps, line), scale, wide=wide)
    return blocks(view, f"conv_blocks_s16_{form}_{view.output.shape[2] % PIXELS}", stream, codes, Price(tile=(1, 4)))


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
