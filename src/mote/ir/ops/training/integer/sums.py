"""Sums of int8 gradients over all positions: the gradients of biases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.training.integer.types import type_problem

MOST_POSITIONS = 1 << 23
"""Maximum number of int8 values whose sum fits 31 bits."""


class GradientSums(Op):
    """GRADIENT_SUMS: the int32 sum per channel of an int8 gradient [1, .., channels]. Rows are accumulated one by one,
    so that a gradient that only a bias needs is never completely in RAM."""

    kind = "GRADIENT_SUMS"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).channels,)]

    def work(self, g: Graph) -> int:
        return self.input(g).size

    def unsupported(self, g: Graph) -> str | None:
        gradient = self.input(g)
        if gradient.shape[0] != 1 or gradient.size // gradient.channels > MOST_POSITIONS:
            return f"gradients of {gradient.shape} are not supported (one sample, at most {MOST_POSITIONS} positions)"
        return type_problem(g, self, DType.INT8)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        gradient = values[0]
        assert gradient is not None
        return [gradient.reshape(-1, gradient.shape[-1]).sum(axis=0, dtype=np.int32)]
