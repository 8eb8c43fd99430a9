"""Filters of sampled signals, int16 [1, rows, unit, channels]: time is rows x unit, channels are interleaved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.graph import Graph
from mote.graph.tensor import Array, Shape
from mote.graph.types import DType
from mote.ops.features.sequential import Sequential

LEAST, MOST = -(1 << 15), (1 << 15) - 1
MEAN_BITS = 15
"""Fraction bits of the running mean."""


class RemoveDc(Sequential):
    """A signal without its running mean, per channel: mean += (x - mean) / 2^shift, y = x - mean. This is a one-pole
    high-pass with its -3 dB point near rate / (2 pi 2^shift). Inputs: the signal, the means as int32 [channels] with 15
    fraction bits."""

    shift: int
    kind = "REMOVE_DC"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape, self.input(g, 1).shape]

    def unsupported(self, g: Graph) -> str | None:
        x, y, mean = self.input(g), self.output(g), self.input(g, 1)
        if (x.dtype, y.dtype, mean.dtype, mean.shape) != (DType.INT16, DType.INT16, DType.INT32, x.shape[-1:]):
            return f"means of {mean.dtype} {mean.shape} and {y.dtype} outputs for {x.dtype} {x.shape} are not supported"
        return None if 1 <= self.shift <= MEAN_BITS else f"a shift of {self.shift} is not supported (1 to {MEAN_BITS})"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, means = values
        assert x is not None and means is not None
        half, lines = 1 << self.shift - 1, x.reshape(-1, x.shape[-1])
        y, after = np.empty_like(lines), np.clip(means, LEAST << MEAN_BITS, MOST << MEAN_BITS)
        for c, mean in enumerate(after.tolist()):
            line = []
            for sample in lines[:, c].tolist():
                mean += ((sample << MEAN_BITS) - mean + half) >> self.shift
                line.append(sample - ((mean + (1 << MEAN_BITS - 1)) >> MEAN_BITS))
            y[:, c], after[c] = np.clip(line, LEAST, MOST), mean
        return [y.reshape(x.shape), after]
