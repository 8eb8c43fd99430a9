"""GATHER with constant indices, and MIRROR_PAD: gathers with an index list per axis.

Elements are copied as bytes, so every type is supported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Range
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.pointwise import rising

Places = tuple[int, ...]
"""Indices of the elements that are gathered along an axis."""


class Pick(Op):
    """GATHER with constant index lists per axis (None: the whole axis), then reshaped to `shape`."""

    places: tuple[Places | None, ...]
    shape: Shape
    kind = "GATHER"

    def picked(self, g: Graph) -> Shape:
        """The shape of the gathered elements before the final reshape."""
        return tuple(n if p is None else len(p) for n, p in zip(self.input(g).shape, self.places, strict=True))

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def indices(self, g: Graph) -> list[Ints]:
        """The indices that are gathered along each axis."""
        sizes = self.input(g).shape
        return [
            np.arange(n, dtype=np.int64) if p is None else np.array(p) for n, p in zip(sizes, self.places, strict=True)
        ]

    def by_rows(self, g: Graph) -> bool:
        """Whether each output row is made from one input row: the final reshape changes nothing."""
        return self.picked(g) == self.shape

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        if not self.by_rows(g):
            return None
        x, row, rows = self.input(g).shape, 0, 1
        for n, m, places in reversed(list(zip(x, self.shape, self.places, strict=True))[: row_axes(x)]):
            y, at = divmod(y, m)
            row += rows * (at if places is None else places[at])
            rows *= n
        return (row,)

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        same = self.places and self.places[-1] is None and self.shape[-1] == self.input(g).channels
        return {0: np.arange(self.shape[-1], dtype=np.int64)} if same else None

    def narrowed(self, g: Graph, kept: Sequence[Ints]) -> Self:
        return self.with_(shape=(*self.shape[:-1], len(kept[-1])))

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        return None if x.dtype == y.dtype else f"{x.dtype} input with {y.dtype} output is not supported"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [x[np.ix_(*self.indices(g))].reshape(self.shape)]

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)


def row_axes(shape: Shape) -> int:
    """Number of leading axes that rows are counted over: all but the last two; of a matrix, one."""
    return len(shape) - 2 if len(shape) > 2 else max(len(shape) - 1, 0)


class MirrorPad(Pick):
    """MIRROR_PAD: pads the input with its mirrored edges."""

    kind = "MIRROR_PAD"
