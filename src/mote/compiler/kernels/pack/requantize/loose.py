"""Round-to-even layers in which some channels have no exact constants: the kernel rounds once, and `patch.py` corrects
the few results that are off by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.ranges import Range
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.round_once import once_multiplier
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


class LooseConv2D(Conv2D):
    """A convolution that rounds once, instead of to even, in the channels `loose`."""

    loose: tuple[int, ...] = ()

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        return loosened(super().sums(g, inputs), self.loose)


class LooseFullyConnected(FullyConnected):
    """A fully connected layer that rounds once, instead of to even, in the channels `loose`."""

    loose: tuple[int, ...] = ()

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        return loosened(super().sums(g, inputs), self.loose)


class LooseDepthwiseConv2D(DepthwiseConv2D):
    """A depthwise convolution that rounds once, instead of to even, in the channels `loose`."""

    loose: tuple[int, ...] = ()

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        return loosened(super().sums(g, inputs), self.loose)


def loosened(sums: Accumulators, loose: tuple[int, ...]) -> Accumulators:
    """The layer's accumulators with constants that round once for the channels `loose`."""
    assert sums.real is not None
    limit = int(np.maximum(np.abs(sums.low), np.abs(sums.high)).max())
    mult, shift, mask = sums.mult.copy(), sums.shift.copy(), np.zeros(len(sums.mult), np.bool_)
    for channel in loose:
        mask[channel] = True
        mult[channel], shift[channel] = once_multiplier(float(sums.real[channel]), sums.zero, limit)
    return replace(sums, mult=mult, shift=shift, loose=mask)
