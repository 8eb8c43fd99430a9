"""PART: one output of a multi-output operator: all outputs are computed into one tensor, of which each is a slice."""

from __future__ import annotations

from collections.abc import Sequence

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape


class Part(Op):
    """PART: elements from `begin` on, converted to the output's type and shape. If tensor `count` has the number of
    results, each result has `each` elements of which `used` are meaningful; all others are zero here, but undefined in
    a reference."""

    begin: int
    shape: Shape
    count: int | None = None
    each: int = 1
    used: int = 1
    kind = "PART"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        y = self.output(g)
        return [x.reshape(-1)[self.begin : self.begin + y.size].astype(y.dtype.numpy).reshape(self.shape)]

    def meaning(self, value: Array, counted: Array) -> Array:
        """A reference's value of this output with all meaningless elements set to zero; `counted`: the number of
        results."""
        rows = value.copy().reshape(-1, self.each)
        rows[int(counted.reshape(-1)[0]) :] = 0
        rows[:, self.used :] = 0
        return rows.reshape(value.shape)
