"""MONO: averages the channels of audio samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape


class Mono(Op):
    """MONO: the mean of the channels of int16 samples [1, rows, samples, channels], rounded halves up."""

    kind = "MONO"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape[:-1], 1)]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        channels = x.shape[-1]
        sums = 2 * x.astype(np.int64).sum(-1, keepdims=True) + channels
        return [(sums // (2 * channels)).astype(np.int16)]
