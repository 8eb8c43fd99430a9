"""FOREST: decision trees over the elements of a row, whose leaves are added up.

Everything that a format can ask at a node (less, at least, equal, one of a set, nothing there) is asked here in one
way: is an element at most a threshold, and where does one go that is no number. What is done with the sums, a softmax
or the choice of a class, is done by other operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

FEATURE_TYPES = (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32)
SUM_TYPES = (DType.INT32, DType.FLOAT32)
LARGEST = (1 << 31) - 1
"""Sums of integers stay within it, whatever leaves are reached."""


@dataclass(frozen=True, eq=False)
class Trees:
    """A forest as tables. A reference from 0 on is a node, a negative one is leaf `~reference`; nodes come before those
    that they lead to, so that every walk ends. Several nodes may lead to the same one."""

    features: int
    """Elements of a row of the input."""
    feature: Ints
    """Of each node: the index of the element that it compares,"""
    threshold: Array
    """what that is compared with, in the type of the input,"""
    yes: Ints
    """where to go on if the element is at most the threshold,"""
    no: Ints
    """and where if it is more;"""
    missing: NDArray[np.bool_]
    """whether what is no number goes where `yes` leads."""
    roots: Ints
    """Of each tree: where it begins. Leaves are added up in the order of the trees."""
    columns: Ints
    """Of each leaf: the output that its first value is added to; the others follow."""
    values: Array
    """A row for each leaf, integers or float32."""
    base: Array
    """The initial sums, one for each output."""
    numbers: bool = False
    """Features are numbers: which leaf others lead to does not count."""

    @property
    def outputs(self) -> int:
        return self.base.size

    @property
    def nodes(self) -> int:
        return self.feature.size

    @property
    def width(self) -> int:
        """How many outputs a leaf adds to."""
        return int(self.values.shape[1])

    @cached_property
    def depths(self) -> Ints:
        """The longest way from each node to a leaf."""
        depths = np.zeros(self.nodes, np.int64)
        for i in reversed(range(self.nodes)):
            depths[i] = 1 + max(depths[r] if r >= 0 else 0 for r in (self.yes[i], self.no[i]))
        return depths

    def depth(self, tree: int) -> int:
        root = self.roots[tree]
        return int(self.depths[root]) if root >= 0 else 0

    def walk(self, root: int) -> Iterator[int]:
        """The references that can be reached from one, each once."""
        seen: set[int] = set()
        ahead = [int(root)]
        while ahead:
            reference = ahead.pop()
            if reference in seen:
                continue
            seen.add(reference)
            yield reference
            if reference >= 0:
                ahead += [int(self.no[reference]), int(self.yes[reference])]

    @cached_property
    def leaves(self) -> list[Ints]:
        """The leaves of each tree."""
        return [np.array(sorted(~r for r in self.walk(root) if r < 0), np.int64) for root in self.roots]

    @cached_property
    def magnitudes(self) -> NDArray[np.float64]:
        """How far the terms of each output add up at most, without their signs."""
        magnitudes = np.abs(self.base.astype(np.float64))
        for leaves in self.leaves:
            most = np.zeros(self.outputs)
            for at in range(self.width):
                np.maximum.at(most, self.columns[leaves] + at, np.abs(self.values[leaves, at].astype(np.float64)))
            magnitudes = magnitudes + most
        return magnitudes

    def reached(self, rows: Array) -> Ints:
        """The leaf of each tree (second axis) that each row of features (first axis) comes to."""
        at = np.repeat(self.roots[None, :], len(rows), axis=0)
        while True:
            row, tree = np.nonzero(at >= 0)
            if not row.size:
                return np.asarray(~at)
            node = at[row, tree]
            element = rows[row, self.feature[node]]
            goes = (element <= self.threshold[node]) | ((element != element) & self.missing[node])
            at[row, tree] = np.where(goes, self.yes[node], self.no[node])

    def sums(self, rows: Array) -> Array:
        """The outputs for each row of features: float32 sums are rounded after each tree."""
        sums = np.repeat(self.base[None, :], len(rows), axis=0)
        each = np.arange(len(rows), dtype=np.int64)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            for leaf in self.reached(rows).T:
                sums[each, self.columns[leaf][:, None] + np.arange(self.width, dtype=np.int64)] += self.values[leaf]
        return sums


class Forest(Op):
    """Sums of the leaves that a row of features comes to, for each row."""

    trees: Trees
    kind = "FOREST"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape[:-1], self.trees.outputs)]

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if x.dtype not in FEATURE_TYPES:
            return f"{x.dtype} features are not supported (only {', '.join(FEATURE_TYPES)})"
        if y.dtype not in SUM_TYPES:
            return f"{y.dtype} sums are not supported (only {', '.join(SUM_TYPES)})"
        if not x.shape or x.shape[-1] != self.trees.features:
            return f"rows of {x.shape[-1] if x.shape else 1} features do not fit trees over {self.trees.features}"
        if not np.all(np.isfinite(self.trees.magnitudes)):
            return "a leaf that is not finite is not supported"
        if y.dtype == DType.INT32 and self.trees.magnitudes.max(initial=0) > LARGEST:
            return "sums of leaves might not fit 32 bits"
        return None

    def work(self, g: Graph) -> int:
        """A look at a node takes NumPy as long as some tens of products."""
        return 50 * self.rows(g) * sum(map(self.trees.depth, range(self.trees.roots.size)))

    def rows(self, g: Graph) -> int:
        return prod(self.input(g).shape[:-1])

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        same = row_count(self.input(g).shape) == row_count(self.output(g).shape)
        return (y,) if same else None

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return [np.broadcast_to(self.trees.magnitudes, self.shapes(g)[0]).astype(np.float32)]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [self.trees.sums(x.reshape(-1, self.trees.features)).reshape(self.shapes(g)[0])]
