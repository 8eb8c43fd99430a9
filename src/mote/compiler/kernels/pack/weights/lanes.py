"""Weights grouped so that sums of products fit 16-bit lanes: `mote_lanes_s8.h`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.pack.params import pad_to
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Range

LEAST, MOST = -(1 << 15), (1 << 15) - 1


@dataclass(frozen=True, eq=False)
class Spilled:
    """Weight matrix in which weights of groups that might overflow 16 bits are zeroed (`weights`), and the removed
    weights (`taken`), which kernels add separately."""

    weights: Ints
    taken: Ints

    @property
    def lists(self) -> NDArray[np.int16]:
        """Removed weights of each channel: their number, then pairs of input index and weight."""
        return self.lists_at(np.arange(self.taken.shape[1], dtype=np.int64))

    def lists_at(self, places: Ints) -> NDArray[np.int16]:
        """Removed weights of each channel: their number, then pairs of the input's entry in `places` and the weight."""
        rows = ([(places[i], row[i]) for i in np.flatnonzero(row)] for row in self.taken)
        parts = [np.array([len(row), *(number for pair in row for number in pair)], np.int16) for row in rows]
        return np.concatenate(parts)


def product_ends(weights: Ints, inputs: Range, zero: int) -> tuple[Ints, Ints]:
    """Minimum and maximum of each product of [channels, taps * inputs] weights; padding counts as the zero point."""
    times = weights.shape[1] // len(inputs.low)
    low, high = np.tile(np.minimum(inputs.low, zero), times), np.tile(np.maximum(inputs.high, zero), times)
    return np.minimum(weights * low, weights * high), np.maximum(weights * low, weights * high)


def spilled(weights: Ints, inputs: Range, zero: int, group: int) -> Spilled:
    """Weights padded to whole groups of `group` products. While a group's sum might overflow 16 bits, its largest
    weights are removed."""
    padded = pad_to(weights, 1, group)
    ends = np.stack([pad_to(end, 1, group) for end in product_ends(weights, inputs, zero)])
    kept, ends = padded.reshape(len(padded), -1, group).copy(), ends.reshape(2, len(padded), -1, group)
    while True:
        low, high = ends.sum(axis=3)
        channels, groups = np.nonzero((low < LEAST) | (high > MOST))
        if not len(channels):
            break
        largest = np.abs(kept[channels, groups]).argmax(axis=1)
        kept[channels, groups, largest] = 0
        ends[:, channels, groups, largest] = 0
    whole = kept.reshape(padded.shape)
    return Spilled(whole, padded - whole)
