"""Accumulators of a layer with weights: their bounds, and their requantization."""

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
from mote.ir.ops.common import (
    bias_ends,
    bias_values,
    channel_scales,
    even_scales,
    int8_range,
    real_scales,
    wide_sums,
)
from mote.ir.ops.matrix.round_once import once_multiplier, same_once

Ends = tuple[Ints, Ints]
"""The least and the largest."""
WIDE = 256
"""Kernels may take weights of 9 bits apart, so that two products of int8 stand for one: both of them together are no
more than so many times an input further from it."""


@dataclass(frozen=True)
class Accumulators:
    """The sums of a layer, bias included: how each channel's is scaled, and the values that it can have."""

    low: Ints
    high: Ints
    mult: Ints
    shift: Ints
    """As in the model: a right shift is negative."""
    zero: int
    """The output's zero point; its range is all of int8."""
    real: NDArray[np.float64] | None = None
    """The float scale of sums whose results are rounded once, as FULLY_CONNECTED does, or to even."""
    even: bool = False
    """They are rounded to even, in single precision. The multiplier and the shift are then those with which integers
    rounded once give the same results, where there are such."""
    loose: NDArray[np.bool_] | None = None
    """Channels that kernels round once although a few results then differ: the kernel patches those."""

    @property
    def once(self) -> bool:
        """Whether kernels round once."""
        return self.real is not None

    @cached_property
    def exact(self) -> NDArray[np.bool_]:
        """Channels for which the multiplier and the shift say all."""
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
        """Whether there are negative results that can be seen, and differ by it."""
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
        """Selects channels."""
        real = None if self.real is None else self.real[which]
        loose = None if self.loose is None else self.loose[which]
        return Accumulators(
            self.low[which], self.high[which], self.mult[which], self.shift[which], self.zero, real, self.even, loose
        )

    @property
    def left(self) -> Ints:
        """How far sums are shifted left before they are scaled, in 32 bits."""
        return np.zeros_like(self.shift) if self.once else np.maximum(self.shift, 0)

    @property
    def fits(self) -> NDArray[np.bool_]:
        """Channels whose sums do not wrap, also where they are shifted left."""
        return np.maximum(-self.low, self.high + 1) <= 1 << 31 >> self.left

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Channels with one result for all sums."""
        same: NDArray[np.bool_] = self.outputs(self.low) == self.outputs(self.high)
        return same & self.fits


def products(weights: NDArray[np.int8], low: Ints, high: Ints) -> Ends:
    """The range of the dot products of weights with inputs between `low` and `high`, over the last axis. Floats hold
    these sums exactly, and are faster."""
    above, below = np.maximum(weights, 0).astype(np.float64), np.minimum(weights, 0).astype(np.float64)
    return (above @ low + below @ high).astype(np.int64), (above @ high + below @ low).astype(np.int64)


def layer_products(w: Tensor, low: Ints, high: Ints) -> Ends:
    """The ends of the sums of a layer's int8 weights: where these learn, for all that they can become."""
    if w.data is not None:
        return products(w.data, low, high)
    most = np.full(w.shape[:-1], -LEAST * int(np.maximum(np.abs(low), np.abs(high)).sum()), np.int64)
    return -most, most


def farthest_weights(w: Tensor) -> Array:
    """Constant weights, or for each that learns the one of largest magnitude."""
    return np.full(w.shape, LEAST, np.int8) if w.data is None else w.data


def farthest_bias(g: Graph, op: Op, channels: int) -> Ints:
    """The largest magnitude of each channel's bias."""
    low, high = bias_ends(g, op, channels)
    return np.maximum(np.abs(low), np.abs(high))


def window_ends(taps: Ends, rows: Ints, columns: Ints) -> Ends:
    """The range of the sums over [rows, columns, channels] taps, counting only taps inside the image."""
    low, high = (np.einsum("yk,xl,klc->yxc", rows, columns, t, optimize=True) for t in taps)
    return low.min(axis=(0, 1)), high.max(axis=(0, 1))


def layer_sums(g: Graph, op: Op, ends: Ends, rounding: Rounding) -> Accumulators:
    """With the bias, and how they are scaled."""
    x, w, y = op.input(g), op.input(g, 1), op.output(g)
    low, high = (bias + end for bias, end in zip(bias_ends(g, op, y.channels), ends, strict=True))
    if rounding is Rounding.TWICE:
        return Accumulators(low, high, *channel_scales(x, w, y, y.channels), y.zero_point)
    even = rounding is Rounding.EVEN
    real, limit = (even_scales if even else real_scales)(x, w, y, y.channels), int(np.abs([low, high]).max())
    mult, shift = np.array([once_multiplier(r, y.zero_point, limit, even=even) for r in real.tolist()], np.int64).T
    return Accumulators(low, high, mult, shift, y.zero_point, real, even)


def layer_range(g: Graph, op: Op, activation: Activation, sums: Accumulators) -> Range:
    """The range of a layer's outputs: all that the activation lets pass where sums might overflow 32 bits."""
    y = op.output(g)
    lo, hi = int8_range(activation, y)
    low, high = (np.clip(sums.outputs(ends), lo, hi) for ends in (sums.low, sums.high))
    return Range(np.where(sums.fits, low, lo), np.where(sums.fits, high, hi))


def layer_peak(g: Graph, op: Op, sums: Accumulators, axis: int = 0) -> Peak:
    """The peak of a layer whose weights have the output channels on an axis. Kernels may fold the zero point into the
    bias."""
    x, weights = op.input(g), farthest_weights(op.input(g, 1))
    largest = np.maximum(np.abs(sums.low), np.abs(sums.high))
    bias = farthest_bias(g, op, len(largest))
    after = max(map(rescaled, largest.tolist(), sums.left.tolist()))
    return Peak(int(largest.max()), max(parts(weights, axis, x.zero_point, bias), after))


def vector_peak(weights: Array, zero: int, bias: Ints, inputs: Range, shift: int) -> Peak:
    """The peak of [rows, depth] weights times vectors, where bounds need not be tight."""
    size = np.abs(weights.astype(np.int16)).sum(axis=1, dtype=np.int64)
    largest = int((np.abs(bias) + size * inputs.farthest(zero)).max())
    return Peak(largest, max(parts(weights, 0, zero, bias), rescaled(largest, max(shift, 0))))


def parts(weights: Array, axis: int, zero: int, bias: Ints) -> int:
    """The upper bound of every partial sum of products with int8 inputs, in any order, for any placement of the zero
    point."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    size = np.abs(weights.astype(np.int16)).sum(axis=others, dtype=np.int64)
    if weights.dtype == np.int16:
        size = size + WIDE * (weights.size // weights.shape[axis])
    return int((np.abs(bias) + size * (abs(zero) - LEAST)).max())


def rescaled(largest: int, left: int) -> int:
    """The upper bound of sums of that magnitude after the left shift, the scaling and the zero point."""
    return (largest << left) - LEAST


def wide_parts(weights: Array, axis: int, bias: Ints) -> int:
    """The upper bound of every partial sum of products with int16 inputs, whose zero point is 0, in any order."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    size = np.abs(weights.astype(np.int64)).sum(axis=others)
    return int((np.abs(bias) + size * -DType.INT16.limits[0]).max())


def narrow_peak(g: Graph, op: Op) -> Peak | None:
    """The peak of a layer with int16 inputs whose weights have the output channels on their first axis, and whose sums
    LiteRT keeps in 32 bits."""
    x, w, y = op.input(g), op.input(g, 1), op.output(g)
    if x.dtype != DType.INT16 or wide_sums(g, op) or w.data is None:
        return None
    total = wide_parts(w.data, 0, bias_values(op.tensor(g, 2), y.channels))
    _, shift = channel_scales(x, w, y, y.channels)
    return Peak(total, total << max(int(shift.max()), 0))
