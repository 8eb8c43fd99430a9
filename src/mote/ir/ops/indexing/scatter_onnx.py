"""SCATTER (ONNX): writes updates into a tensor, or combines them with its elements, at computed indices.

Updates with indices out of range are dropped, as in SCATTER_ND.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from math import prod

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.indexing.gather import flat_indices, index_problem, output_type_problem
from mote.ir.ops.indexing.scatter import WIDE_INDICES


class Combine(StrEnum):
    """How an update is combined with the existing element."""

    PUT = "put"
    ADD = "add"
    MULTIPLY = "mul"
    LEAST = "min"
    MOST = "max"


class Scatter(Op):
    """SCATTER: combines slices of input 1 into input 0 at index tuples (input 2), in order. Integers wrap."""

    combine: Combine
    kind = "SCATTER"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        depth = self.input(g, 2).shape[-1]
        return (0, min(self.input(g).shape[:depth]) - 1) if position == 2 else None

    def unsupported(self, g: Graph) -> str | None:
        x, parts = self.input(g), self.input(g, 1)
        if parts.dtype != x.dtype:
            return f"{parts.dtype} parts of {x.dtype} are not supported"
        if x.dtype == DType.BOOL and self.combine is not Combine.PUT:
            return f"'{self.combine}' of bool is not supported"
        return output_type_problem(g, self) or index_problem(g, self, 2, WIDE_INDICES)

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no such operator"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, parts, indices = values
        assert x is not None and parts is not None and indices is not None
        depth = indices.shape[-1]
        at, inside = flat_indices(indices, x.shape)
        part = prod(x.shape[depth:])
        result = x.reshape(-1, part).copy()
        of = _OF[self.combine]
        with np.errstate(all="ignore"):
            for place, new in zip(at[inside], parts.reshape(-1, part)[inside], strict=True):
                result[place] = of(result[place], new)
        return [result.reshape(x.shape)]


_OF: dict[Combine, Callable[[Array, Array], Array]] = {
    Combine.PUT: lambda old, new: new,
    Combine.ADD: np.add,
    Combine.MULTIPLY: np.multiply,
    Combine.LEAST: lambda old, new: np.where(new < old, new, old),
    Combine.MOST: lambda old, new: np.where(new > old, new, old),
}
