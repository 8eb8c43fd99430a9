"""Accumulators of a layer with weights: bounds and requantization."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints, rescale, scale_even, scale_once
from mote.ir.graph.ranges import LEAST, Peak, Range
from mote.ir.graph.tensor import Array, Tensor
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import bias_ends, bias_values, channel_scales, even_scales, int8_range, real_scales, wide_sums
from mote.ir.ops.matrix.round_once import once_multiplier, same_once

Ends = tuple[Ints, Ints]
"""A range of sums: arrays of the smallest and the largest values."""
WIDE = 256
"""Additional magnitude, per 9-bit weight, in bounds of partial sums: kernels may split such a weight into two int8
weights, whose two products together exceed the single product by at most this times the input."""


@dataclass(frozen=True)
class Accumulators:
    """The accumulators of a layer, bias included: per channel the range of values and the requantization."""

    low: Ints
    high: Ints
    mult: Ints
    shift: Ints
    """Shift per channel; right shifts are negative."""
    zero: int
    """The output's zero point. (The output range is all of int8.)"""
    real: NDArray[np.float64] | None = None
    """Float scales, if results are rounded once (LiteRT's FULLY_CONNECTED) or to even; else None."""
    even: bool = False
    """Whether results are computed in single precision and rounded to even. Multiplier and shift are then those for
    which integer rounding gives equal results, if there are any."""
    loose: NDArray[np.bool_] | None = None
    """Mask of channels that kernels round once although a few results differ: the kernel patches those."""

    @property
    def once(self) -> bool:
        """Whether requantization rounds once."""
        return self.real is not None

    @cached_property
    def exact(self) -> NDArray[np.bool_]:
        """Mask of channels whose multiplier and shift reproduce all results exactly."""
        if self.real is None:
            return np.ones(len(self.mult), np.bool_)
        limit = int(np.maximum(np.abs(self.low), np.abs(self.high)).max())
        loose = np.zeros(len(self.mult), np.bool_) if self.loose is None else self.loose
        evens = (self.even & ~loose).tolist()
        scales = zip(self.real.tolist(), self.mult.tolist(), self.shift.tolist(), evens, strict=True)
        return np.array(
            [same_once(real, self.zero, limit, (mult, shift), even=even) for real, mult, shift, even in scales]
        )

    @property
    def linear(self) -> bool:
        """Whether rounding of negative results matters: sums are rounded twice, and negative results are not all
        clamped."""
        return self.zero > -128 and not self.once and bool(np.any(self.low < 0))

    def outputs(self, x: Ints, channel: int | slice = slice(None)) -> Ints:
        if self.real is None:
            scaled = rescale(x, self.mult[channel], self.shift[channel])
        else:
            scaled = (scale_even if self.even else scale_once)(x, self.real[channel])
        if self.loose is not None and self.real is not None:
            scaled = np.where(self.loose[channel], scale_once(x, self.real[channel]), scaled)
        return np.clip(scaled + self.zero, -128, 127)

    def some(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Accumulators:
        """A copy of the accumulators with only the selected channels."""
        real = None if self.real is None else self.real[which]
        loose = None if self.loose is None else self.loose[which]
        return Accumulators(
            self.low[which], self.high[which], self.mult[which], self.shift[which], self.zero, real, self.even, loose
        )

    @property
    def left(self) -> Ints:
        """Left shift of the 32-bit accumulators before they are multiplied."""
        return np.zeros_like(self.shift) if self.once else np.maximum(self.shift, 0)

    @property
    def fits(self) -> NDArray[np.bool_]:
        """Mask of channels whose sums do not overflow, also after the left shift."""
        return np.maximum(-self.low, self.high + 1) <= 1 << 31 >> self.left

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Mask of channels that have one result for all possible sums."""
        same: NDArray[np.bool_] = self.outputs(self.low) == self.outputs(self.high)
        return same & self.fits


def products(weights: NDArray[np.int8], low: Ints, high: Ints) -> Ends:
    """Range of dot products (over the last axis) of weights and inputs between `low` and `high`. Computed in floats,
    which are exact here, and faster."""
    above, below = np.maximum(weights, 0).astype(np.float64), np.minimum(weights, 0).astype(np.float64)
    return (above @ low + below @ high).astype(np.int64), (above @ high + below @ low).astype(np.int64)


def layer_products(w: Tensor, low: Ints, high: Ints) -> Ends:
    """Range of the sums of products of a layer's int8 weights; for trainable weights, over all values that they can
    take."""
    if w.data is not None:
        return products(w.data, low, high)
    most = np.full(w.shape[:-1], -LEAST * int(np.maximum(np.abs(low), np.abs(high)).sum()), np.int64)
    return -most, most


def extreme_weights(w: Tensor) -> Array:
    """The weights if constant; for trainable weights, the value of largest magnitude (-128) everywhere."""
    return np.full(w.shape, LEAST, np.int8) if w.data is None else w.data


def largest_bias(g: Graph, op: Op, channels: int) -> Ints:
    """Maximum magnitude of each channel's bias."""
    low, high = bias_ends(g, op, channels)
    return np.maximum(np.abs(low), np.abs(high))


def window_ends(taps: Ends, rows: Ints, columns: Ints) -> Ends:
    """Range of sums over the window taps [rows, columns, channels], given masks of the taps inside the image."""
    low, high = (np.einsum("yk,xl,klc->yxc", rows, columns, t, optimize=True) for t in taps)
    return low.min(axis=(0, 1)), high.max(axis=(0, 1))


def layer_sums(g: Graph, op: Op, ends: Ends, rounding: Rounding) -> Accumulators:
    """Accumulators of a layer: adds the bias to the range `ends` of the sums, and computes the requantization."""
    x, w, y = op.input(g), op.input(g, 1), op.output(g)
    low, high = (bias + end for bias, end in zip(bias_ends(g, op, y.channels), ends, strict=True))
    if rounding is Rounding.TWICE:
        return Accumulators(low, high, *channel_scales(x, w, y, y.channels), y.zero_point)
    even = rounding is Rounding.EVEN
    real, limit = (even_scales if even else real_scales)(x, w, y, y.channels), int(np.abs([low, high]).max())
    mult, shift = np.array([once_multiplier(r, y.zero_point, limit, even=even) for r in real.tolist()], np.int64).T
    return Accumulators(low, high, mult, shift, y.zero_point, real, even)


def layer_range(g: Graph, op: Op, activation: Activation, sums: Accumulators) -> Range:
    """Range of a layer's int8 outputs; where accumulators might overflow, all that the activation allows."""
    y = op.output(g)
    lo, hi = int8_range(activation, y)
    low, high = (np.clip(sums.outputs(ends), lo, hi) for ends in (sums.low, sums.high))
    return Range(np.where(sums.fits, low, lo), np.where(sums.fits, high, hi))


def layer_peak(g: Graph, op: Op, sums: Accumulators, axis: int = 0) -> Peak:
    """Accumulator bounds of a layer whose weights have output channels on `axis`, also for kernels that fold the
    input's zero point into the bias."""
    x, weights = op.input(g), extreme_weights(op.input(g, 1))
    largest = np.maximum(np.abs(sums.low), np.abs(sums.high))
    bias = largest_bias(g, op, len(largest))
    after = max(map(rescaled, largest.tolist(), sums.left.tolist()))
    return Peak(int(largest.max()), max(parts(weights, axis, x.zero_point, bias), after))


def vector_peak(weights: Array, zero: int, bias: Ints, inputs: Range, shift: int) -> Peak:
    """Accumulator bounds (not tight) of [rows, depth] weights times vectors."""
    size = np.abs(weights.astype(np.int16)).sum(axis=1, dtype=np.int64)
    largest = int((np.abs(bias) + size * inputs.max_distance(zero)).max())
    return Peak(largest, max(parts(weights, 0, zero, bias), rescaled(largest, max(shift, 0))))


def parts(weights: Array, axis: int, zero: int, bias: Ints) -> int:
    """Upper bound of partial sums of products with int8 inputs, in any order, with the zero point folded or not."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    size = np.abs(weights.astype(np.int16)).sum(axis=others, dtype=np.int64)
    if weights.dtype == np.int16:
        size = size + WIDE * (weights.size // weights.shape[axis])
    return int((np.abs(bias) + size * (abs(zero) - LEAST)).max())


def rescaled(largest: int, left: int) -> int:
    """Upper bound after left shift, multiplication and addition of the zero point, for sums up to `largest`."""
    return (largest << left) - LEAST


def wide_parts(weights: Array, axis: int, bias: Ints) -> int:
    """Upper bound of partial sums of products with int16 inputs (zero point 0), in any order."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    size = np.abs(weights.astype(np.int64)).sum(axis=others)
    return int((np.abs(bias) + size * -DType.INT16.limits[0]).max())


def narrow_peak(g: Graph, op: Op) -> Peak | None:
    """Accumulator bounds of a layer with int16 inputs that LiteRT accumulates in 32 bits; its weights have output
    channels on the first axis."""
    x, w, y = op.input(g), op.input(g, 1), op.output(g)
    if x.dtype != DType.INT16 or wide_sums(g, op) or w.data is None:
        return None
    total = wide_parts(w.data, 0, bias_values(op.tensor(g, 2), y.channels))
    _, shift = channel_scales(x, w, y, y.channels)
    return Peak(total, total << max(int(shift.max()), 0))
