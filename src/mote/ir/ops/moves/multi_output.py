"""One output of a multi-output operator: all outputs are computed into one tensor, and each is a slice of it."""

from __future__ import annotations

from collections.abc import Sequence

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape


class Part(Op):
    """Elements from `begin` on, as the output's type and shape. Where the tensor `count` says how many results there
    are, each takes `each` elements and means `used` of them; the rest is zero, a reference may leave anything there."""

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
        """The output as a reference computed it, without what has no meaning."""
        rows = value.copy().reshape(-1, self.each)
        rows[int(counted.reshape(-1)[0]) :] = 0
        rows[:, self.used :] = 0
        return rows.reshape(value.shape)
