"""SHAPE, RANK, FILL, ZEROS_LIKE, RANGE, BROADCAST_ARGS, WHERE: folded at compile time, because shapes are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape


class ConstantOutput(Op):
    """A constant output: one value for all elements, or one for each."""

    values: tuple[int | float, ...]
    shape: Shape
    kind = "CONSTANT"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        given = np.array(self.values)
        return [np.full(self.shape, given[0]) if given.size == 1 else given.reshape(self.shape)]
