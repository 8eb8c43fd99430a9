"""Constants that turn 32-bit sums of int16 layers into int16 with the high word of one product: LiteRT's reference
multiplies by 15 bits and shifts right by 17 bits or more with one rounding, so the channels' multipliers are shifted
left until all of them are followed by the same shift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.graph.numeric.fixedpoint import INT32_MAX, Ints, reduced
from mote.graph.types import Activation
from mote.kernels.contract import Refusal, View
from mote.ops.common import bias_values, channel_scales, quantized_range, wide_sums
from mote.ops.matrix.accumulators import wide_parts

MOST_LIFT = 16
"""A multiplier of 15 bits that is shifted left by more does not fit 31 bits."""
MOST_SHIFT = 16
"""The furthest that vectors of 32 bits are narrowed to 16."""


@dataclass(frozen=True, eq=False)
class HighScale:
    """`(high word of (sum * factor) + 2^(shift - 1)) >> shift`, kept inside the limits; sums begin with `bias`."""

    bias: Ints
    factor: Ints
    shift: int
    low: int
    high: int


def high_scale(view: View, activation: Activation, axis: int = 0) -> HighScale | Refusal:
    """Of a layer whose weights have the output's channels on an axis."""
    channels = view.output.channels
    if not wide_sums(view.graph, view.op):
        return Refusal("sums wrap in 32 bits and are rounded twice")
    bias = bias_values(view.op.tensor(view.graph, 2), channels)
    if wide_parts(view.constant(1), axis, bias) > INT32_MAX:
        return Refusal("sums might not fit 32 bits")
    mult, shift = channel_scales(view.input, view.op.input(view.graph, 1), view.output, channels)
    factor, right = reduced(mult), np.where(mult == 0, 15 - shift.min(), 15 - shift)
    common = min(int(right.min()) - MOST_LIFT, MOST_SHIFT)
    lift = common + 32 - right
    if common < 1 or lift.min() < 0:
        return Refusal("the scales of its channels are too far apart, or results are hardly smaller than sums")
    low, high = quantized_range(activation, view.output)
    return HighScale(bias, np.broadcast_to(factor << lift, bias.shape), common, low, high)
