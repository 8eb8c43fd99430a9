"""CONSTANT: SHAPE, RANK, FILL, ZEROS_LIKE, RANGE, BROADCAST_ARGS and WHERE with results known at compile time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape


class ConstantOutput(Op):
    """CONSTANT: an output known at compile time: one value for all elements, or one each."""

    values: tuple[int | float, ...]
    shape: Shape
    kind = "CONSTANT"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        constant = np.array(self.values)
        return [np.full(self.shape, constant[0]) if constant.size == 1 else constant.reshape(self.shape)]
