"""The sums of products of a layer with weights: between which bounds they are, and what becomes of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph, Op
from mote.graph.fixedpoint import Ints
from mote.graph.ranges import Range
from mote.graph.types import Activation
from mote.ops.common import bias_values, channel_scales, int8_range
from mote.ops.narrow import Sums

Ends = tuple[Ints, Ints]
"""The least and the largest."""


def products(weights: NDArray[np.int8], low: Ints, high: Ints) -> Ends:
    """Of weights with inputs between `low` and `high`, one for each of the last axis, which is summed over. Floats hold
    these sums exactly, and are faster."""
    above, below = np.maximum(weights, 0).astype(np.float64), np.minimum(weights, 0).astype(np.float64)
    return (above @ low + below @ high).astype(np.int64), (above @ high + below @ low).astype(np.int64)


def window_ends(taps: Ends, rows: Ints, columns: Ints) -> Ends:
    """Of the sums of [rows, columns, channels] taps, of which those count that lie inside the image."""
    low, high = (np.einsum("yk,xl,klc->yxc", rows, columns, t, optimize=True) for t in taps)
    return low.min(axis=(0, 1)), high.max(axis=(0, 1))


def layer_sums(g: Graph, op: Op, ends: Ends, *, once: bool = False) -> Sums:
    """With the bias, and how they are scaled."""
    x, w, y = op.input(g), op.input(g, 1), op.output(g)
    bias = bias_values(op.tensor(g, 2), y.channels)
    return Sums(bias + ends[0], bias + ends[1], *channel_scales(x, w, y, y.channels), y.zero_point, once)


def layer_range(g: Graph, op: Op, activation: Activation, sums: Sums) -> Range:
    """Of the outputs: any that the activation lets pass where sums might not fit their 32 bits."""
    y = op.output(g)
    lo, hi = int8_range(activation, y)
    left = np.zeros_like(sums.shift) if sums.once else np.maximum(sums.shift, 0)
    fits = np.maximum(-sums.low, sums.high + 1) << left <= 1 << 31
    low, high = (np.clip(sums.outputs(ends), lo, hi) for ends in (sums.low, sums.high))
    return Range(np.where(fits, low, lo), np.where(fits, high, hi))
