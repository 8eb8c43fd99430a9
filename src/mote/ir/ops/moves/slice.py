"""SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, UNPACK: parts of a tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.moves.pad_concat_transpose import CopySpan, Join


class Slice(Join):
    """SLICE: `size` elements of each axis from `begin` on with stride `strides`, then reshaped to `shape` (which only
    adds or drops axes of size 1)."""

    begin: tuple[int, ...]
    size: tuple[int, ...]
    strides: tuple[int, ...]
    shape: Shape
    kind = "SLICE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        """Streaming form: elements that are cut off at the end of the window delay the output."""
        flow, rank = flows[0], len(self.size)
        if len(self.shape) != rank or self.shape != self.size or self.strides[flow.axis] != 1:
            return None
        size = self.size[flow.axis]
        lag = flow.size - self.begin[flow.axis] - size
        if size < flow.fresh:
            return None
        cut = flow.cut(self.size)
        begin = flow.cut(self.begin, 0)
        return Increment(
            self.with_(begin=begin, size=cut, shape=cut), StreamAxis(flow.axis, size, flow.fresh), {0: flow.fresh + lag}
        )

    def spans(self, g: Graph) -> list[list[CopySpan]]:
        axes = zip(self.input(g).shape, self.begin, self.strides, self.size, strict=True)
        return [[CopySpan(n, begin, step, size, 0, size) for n, begin, step, size in axes]]

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        if not self.shape or self.shape[-1] != self.size[-1] or self.strides[-1] != 1:
            return None
        return {0: self.begin[-1] + np.arange(self.size[-1], dtype=np.int64)}

    def narrowed(self, g: Graph, kept: Sequence[Ints]) -> Self:
        before, count = int((kept[0] < self.begin[-1]).sum()), len(kept[-1])
        return self.with_(
            begin=(*self.begin[:-1], before), size=(*self.size[:-1], count), shape=(*self.shape[:-1], count)
        )

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        axes = zip(self.begin, self.size, self.strides, strict=True)
        picked = x[np.ix_(*(begin + step * np.arange(size, dtype=np.int64) for begin, size, step in axes))]
        return [picked.reshape(self.shape)]
