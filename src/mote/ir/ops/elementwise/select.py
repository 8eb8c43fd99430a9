"""SELECT and SELECT_V2: element-wise choice between two tensors by a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Range
from mote.ir.graph.rows import row_count
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import MAX_AXES, repeated_increment, row_of_operand


class Select(Op):
    """SELECT: input 1 where input 0 (the condition) is true, else input 2, with broadcasting. Values are copied
    unchanged."""

    leading: bool | None = None
    """Whether the condition is a vector along the first axis of the others, as in SELECT (not SELECT_V2)."""
    kind = "SELECT"

    def operand(self, g: Graph, position: int) -> Shape:
        """The shape of an input as it is broadcast: a vector condition gets trailing axes of size 1."""
        shape = self.input(g, position).shape
        return (*shape, *(1,) * (len(self.input(g, 1).shape) - 1)) if self.leading and position == 0 else shape

    def shapes(self, g: Graph) -> list[Shape]:
        return [np.broadcast_shapes(*(self.operand(g, p) for p in range(3)))]

    def unsupported(self, g: Graph) -> str | None:
        condition, x, y, out = (*(self.input(g, p) for p in range(3)), self.output(g))
        if condition.dtype != DType.BOOL:
            return f"a condition of type {condition.dtype} is not supported (only bool)"
        if not x.dtype == y.dtype == out.dtype:
            return f"{x.dtype} and {y.dtype} inputs with {out.dtype} output are not supported"
        shapes = [self.operand(g, p) for p in range(3)]
        if len({*shapes}) > 1 and len(out.shape) > MAX_AXES:
            return f"repeating {shapes}: more than {MAX_AXES} axes are not supported"
        return None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        condition, x, y = values
        assert condition is not None and x is not None and y is not None
        return [np.where(condition.reshape(self.operand(g, 0)) if self.leading else condition, x, y)]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        shape = self.output(g).shape
        if self.leading and row_count(shape) > 1:
            return None
        return row_of_operand(shape, self.operand(g, position), y)

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        return None if self.leading else repeated_increment(g, self, flows)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        _, x, y = inputs
        if x is None or y is None:
            return None
        channels = self.output(g).channels
        low, high = np.minimum(x.low, y.low), np.maximum(x.high, y.high)
        return Range(np.broadcast_to(low, channels), np.broadcast_to(high, channels))

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        """Output channel c depends on channel c of each operand; operands with a single channel (broadcast) are left
        out."""
        channels = self.output(g).channels
        return (
            None
            if self.leading
            else {
                p: np.arange(channels, dtype=np.int64) for p, i in self.computed(g) if g.tensors[i].channels == channels
            }
        )
