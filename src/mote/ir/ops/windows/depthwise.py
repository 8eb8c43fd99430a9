"""DEPTHWISE_CONV_2D with constant or trainable weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.base.integers import repeat
from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, Rounding
from mote.ir.ops.common import WindowOp, absolute_weights, real_weights, rounded_inputs, weight_problem
from mote.ir.ops.matrix.accumulators import (
    Accumulators,
    extreme_weights,
    layer_peak,
    layer_range,
    layer_sums,
    window_ends,
)
from mote.ir.ops.windows.conv import finish


class DepthwiseConv2D(WindowOp):
    """DEPTHWISE_CONV_2D: each channel is convolved separately; output channel c reads input channel c // multiplier."""

    multiplier: int = 1
    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TWICE
    kind = "DEPTHWISE_CONV_2D"
    pads_with_zero = True
    weights = 1

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        return [(x[0], *self.spatial(g), x[3] * self.multiplier)]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.vertical.kernel * self.horizontal.kernel

    def work(self, g: Graph) -> int:
        """Estimated cost in multiplications; more than those, as it is no matrix product in NumPy."""
        return 8 * self.macs(g)

    def unsupported(self, g: Graph) -> str | None:
        return weight_problem(g, self)

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        x, w = self.input(g), self.input(g, 1)
        weights = extreme_weights(w)[0]
        ends = [repeat(e - x.zero_point, self.multiplier) * weights for e in (inputs.low, inputs.high)]
        if w.data is None:
            ends += [-end for end in ends]
        taps = np.minimum.reduce(ends), np.maximum.reduce(ends)
        return layer_sums(g, self, window_ends(taps, *self.present(g)), self.rounding)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return layer_range(g, self, self.activation, self.sums(g, inputs[0])) if inputs[0] else None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        return layer_peak(g, self, self.sums(g, inputs[0]), axis=3) if inputs[0] else None

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        return {0: np.arange(self.output(g).channels, dtype=np.int64) // self.multiplier}

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        zero = self.input(g).zero_point
        weights = real_weights(g, self, w, axis=3)[0]
        sums = []
        for patches in self.windows(x, zero):
            patches = np.repeat(patches, self.multiplier, axis=3) if self.multiplier > 1 else patches
            taps = np.ndindex(weights.shape[:2])
            sums.append(sum(((patches[(..., *at)] - float(zero)) * weights[at] for at in taps), np.zeros(())))
        return [finish(g, self, values, np.concatenate(sums, axis=1), self.activation, self.rounding)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, absolute_weights(values, 1))

    def misjudged(self, g: Graph) -> str | None:
        return rounded_inputs(g, self)
