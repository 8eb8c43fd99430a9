"""Constants that requantize 32-bit accumulators of int16 layers with the high word of one product.

LiteRT's reference multiplies by 15 bits and shifts right by 17 bits or more with one rounding. Here each channel's
multiplier is shifted left until all channels have the same final shift.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Refusal, View
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints, reduced
from mote.ir.graph.types import Activation
from mote.ir.ops.common import bias_values, channel_scales, quantized_range, wide_sums

MOST_LIFT = 16
"""Maximum left shift of a 15-bit multiplier, so that it fits 31 bits."""
MOST_SHIFT = 16
"""Maximum right shift of the vector instruction that narrows 32 bits to 16."""
MOST_RIGHT = 46
"""LiteRT's largest right shift."""


MOST_FIXED = 1 << 31
"""Exclusive limit for the start value of accumulators in constant channels (`HighScale.fixed`)."""
UNIT = 1 << 30
"""Multiplier of constant channels, whose accumulators are then shifted to the result."""


@dataclass(frozen=True, eq=False)
class HighScale:
    """Constants of `(high word of (accumulator * factor) + 2^(shift - 1)) >> shift`, clamped to `low`..`high`.
    Accumulators start with `bias`."""

    bias: Ints
    factor: Ints
    shift: int
    low: int
    high: int
    fixed: NDArray[np.bool_]
    """Constant channels: those with the same result for all inputs. Their weights are replaced by zeros, and `bias`
    gives the result, as channels that training has left without weights have scales far from the others'."""

    def weights(self, weights: Ints, axis: int) -> Ints:
        """The weights that the kernel multiplies: zero for constant channels. `axis`: the output channels."""
        shape = [-1 if i == axis else 1 for i in range(weights.ndim)]
        return np.where(self.fixed.reshape(shape), 0, weights)


def high_scale(view: View, activation: Activation, axis: int = 0) -> HighScale | Refusal:
    """Constants for a layer whose weights have the output channels on `axis`, or a refusal."""
    channels, weights = view.output.channels, view.constant(1).astype(np.int64)
    if not wide_sums(view.graph, view.op):
        return Refusal("sums wrap in 32 bits and are rounded twice")
    bias = bias_values(view.op.tensor(view.graph, 2), channels)
    reach = np.abs(weights).sum(axis=tuple(i for i in range(weights.ndim) if i != axis)) << 15
    mult, shift = channel_scales(view.input, view.op.input(view.graph, 1), view.output, channels)
    factor, right = (
        np.broadcast_to(x, bias.shape) for x in (reduced(mult), np.where(mult == 0, MOST_RIGHT, 15 - shift))
    )
    low, high = quantized_range(activation, view.output)
    exact = np.abs(bias) + reach < 1 << 47
    least, most = (np.clip((x * factor + (1 << right >> 1)) >> right, low, high) for x in (bias - reach, bias + reach))
    fixed = exact & (least == most)
    if (np.abs(bias) + reach)[~fixed].max(initial=0) > INT32_MAX:
        return Refusal("sums might not fit 32 bits")
    common = min(int(right[~fixed].min(initial=MOST_LIFT + MOST_SHIFT)) - MOST_LIFT, MOST_SHIFT)
    lift = np.where(fixed, 0, common + 32 - right)
    if common < 1 or lift.min() < 0:
        return Refusal("the scales of its channels are too far apart, or results are hardly smaller than sums")
    constant = least << (common + 2)
    if np.abs(constant[fixed]).max(initial=0) >= MOST_FIXED:
        return Refusal("results that are the same for all inputs are too large for its shift")
    factors = np.where(fixed, UNIT, factor << lift)
    return HighScale(np.where(fixed, constant, bias), factors, common, low, high, fixed)
