"""3x3 convolutions by Winograd's algorithm with 4x4 outputs per tile, for cores without SIMD: transformed weights and
constants of `mote_winograd_words_s8.h`. Kernels for direct convolution offer it by their knob `tile`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import Call, Entry, Instance, Knob, Needs, Packed, Params, Price, Refusal, View
from mote.compiler.kernels.pack.params import window_params
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.compiler.kernels.portable.windows.conv import sums_of
from mote.compiler.kernels.scalar.depthwise import long_bytes, short_bytes
from mote.compiler.kernels.scalar.winograd_assembly import POSITIONS, products
from mote.ir.graph.numeric.fixedpoint import wrap32
from mote.ir.ops.common import bias_values, int8_range
from mote.ir.ops.windows.conv import Conv2D

DIRECT, TILE = 1, 4
"""Values of the knob `tile`: outputs of a tile in each direction."""
MATRIX = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 6]], np.int64)
"""Transform of the weights in one direction: [transformed, 3]."""
OFFSET = 128
"""Offset that is added to inputs before their transform."""
MOST = 1 << 25
"""Exclusive limit of the absolute values of sums."""
UNROLLED = 16
"""Largest unroll factor of the loop over input channels."""
SHARE = 0.7
"""Estimated cost relative to direct convolution."""
HEADER = "winograd_words_s8"


def fits(view: View) -> bool:
    """Whether Winograd's algorithm fits the layer's shape: 3x3, stride 1, channels in fours."""
    op = view.the(Conv2D)
    axes = [(a.kernel, a.stride, a.dilation) for a in (op.vertical, op.horizontal)]
    return axes == [(3, 1, 1)] * 2 and view.input.shape[3] % 4 == 0 and min(view.output.shape[1:3]) > 1


def knobs(view: View) -> dict[str, tuple[Knob, ...]]:
    """The knob `tile` of a direct-convolution kernel, if Winograd's algorithm fits the layer's shape."""
    return {"tile": (DIRECT, TILE)} if fits(view) else {}


def pack(view: View, *, tiles: int, lanes: int, short: bool) -> Packed | Refusal:
    """The Winograd kernel, with `tiles` tiles and `lanes` output channels at once; `short`: for cores without 64-bit
    products."""
    op, x, y = view.the(Conv2D), view.input, view.output
    if not fits(view) or y.shape[3] % lanes:
        return Refusal(f"it is for windows of 3x3, input channels in fours and output channels in blocks of {lanes}")
    if rounds_to_even(view):
        return TO_EVEN
    weights = view.constant(1).astype(np.int64)
    if np.abs(weights).sum(axis=(1, 2, 3)).max() * (OFFSET + 127) >= MOST:
        return Refusal("sums are too large for tiles of 4x4")
    bias = bias_values(op.tensor(view.graph, 2), len(weights)) - (x.zero_point + OFFSET) * weights.sum(
        axis=(1, 2, 3), dtype=np.int64
    )
    limits = int8_range(op.activation, y)
    how = (short_bytes if short else long_bytes)(sums_of(view), wrap32(bias), limits)
    if isinstance(how, Refusal):
        return how
    transformed = np.einsum("pi,qj,oijc->opqc", MATRIX, MATRIX, weights).reshape(-1, lanes, POSITIONS, x.shape[3])
    params: Params = {
        **window_params(view),
        "images": x.shape[0],
        "in_channels": x.shape[3],
        "channels": y.shape[3],
        "in_zero": x.zero_point,
        "lo": how.lo,
        "hi": how.hi,
        "weights": np.ascontiguousarray(transformed.transpose(0, 2, 3, 1)).astype(np.int16),
        "channel": wrap32(how.constants).astype(np.int32),
    }
    name = f"{tiles}x{lanes}_{x.shape[3]}"
    loop = Instance("MOTE_WINOGRAD_WORDS_LOOP", (name, tiles, lanes))
    if short:
        unroll = next(n for n in (UNROLLED, 12, 8, 4) if x.shape[3] % n == 0)
        loop = Instance("MOTE_WINOGRAD_WORDS_CODE", loop.arguments, products(x.shape[3], unroll))
    words = POSITIONS * tiles * (x.shape[3] + lanes)
    return Packed(
        f"winograd_words_{how.form}_{name}",
        params,
        Entry(Call.WHOLE),
        Needs(4 * words + POSITIONS * x.shape[3]),
        Price(density=SHARE),
        (
            loop,
            Instance("MOTE_WINOGRAD_WORDS_FINISH", (how.form,)),
            Instance("MOTE_WINOGRAD_WORDS", (how.form, tiles, lanes, name)),
        ),
        (HEADER,),
    )
