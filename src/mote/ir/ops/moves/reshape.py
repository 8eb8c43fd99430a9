"""RESHAPE, SQUEEZE, EXPAND_DIMS: the same bytes with another shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Self

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Range
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.pointwise import rising


class Reshape(Op):
    """RESHAPE: copies nothing; the planner assigns the input's buffer to the output."""

    shape: Shape
    kind = "RESHAPE"
    is_view = True

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        return None if x.dtype == y.dtype else f"{x.dtype} input with {y.dtype} output is not supported"

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        """Streaming form, if the streamed axis is preserved: an axis of equal size, with as many elements before and
        after it."""
        flow, x = flows[0], self.input(g).shape
        for axis, n in enumerate(self.shape):
            same = prod(self.shape[:axis]) == prod(x[: flow.axis]) and n == flow.size
            if same and prod(self.shape[axis + 1 :]) == prod(x[flow.axis + 1 :]):
                to = flow.on(axis)
                return Increment(self.with_(shape=to.cut(self.shape)), to, {0: flow.fresh})
        return None

    def is_identity(self, g: Graph) -> bool:
        """Bytes of another quantization are other numbers."""
        x = self.input(g)
        return x.shape == self.shape and x.quant == self.output(g).quant

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [x.reshape(self.shape)]

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        """Output channel c is input channel c modulo the input's channels; None if the output's channels are no
        multiple of them."""
        before, after = self.input(g).channels, self.output(g).channels
        return None if after % before else {0: np.arange(after, dtype=np.int64) % before}

    def narrowed(self, g: Graph, kept: Sequence[Ints]) -> Self:
        return self.with_(shape=(*self.shape[:-1], len(kept[-1]))) if self.shape else self
