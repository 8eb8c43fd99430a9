"""FOREST: decision trees over the elements of a row, whose leaf values are summed.

Every condition of a model format (less, less or equal, equal, member of a set, missing) is expressed as one test: is a
feature at most a threshold, and which child does NaN take. Softmax or argmax of the sums are separate operators.
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
"""Largest supported sum of integer leaf values, for any combination of leaves."""


@dataclass(frozen=True, eq=False)
class Trees:
    """A forest as arrays. A reference >= 0 is a node index, a negative one is leaf `~reference`. Nodes come before
    their children, so that every traversal ends. Nodes may share children."""

    features: int
    """Number of features: elements of a row of the input."""
    feature: Ints
    """Per node: index of the feature that it compares."""
    threshold: Array
    """Per node: the threshold, in the input's element type."""
    yes: Ints
    """Per node: reference of the child taken if the feature is at most the threshold."""
    no: Ints
    """Per node: reference of the child taken if the feature is greater than the threshold."""
    missing: NDArray[np.bool_]
    """Per node: whether NaN takes the child `yes`."""
    roots: Ints
    """Per tree: reference of the root. Leaf values are summed in the order of the trees."""
    columns: Ints
    """Per leaf: index of the output that its first value is added to; its other values are added to the outputs after
    that."""
    values: Array
    """Leaf values: a row per leaf, integers or float32."""
    base: Array
    """Initial values of the outputs, to which leaf values are added."""
    numbers: bool = False
    """Features are never NaN, so that `missing` is irrelevant."""

    @property
    def outputs(self) -> int:
        return self.base.size

    @property
    def nodes(self) -> int:
        return self.feature.size

    @property
    def width(self) -> int:
        """Number of values per leaf."""
        return int(self.values.shape[1])

    @cached_property
    def depths(self) -> Ints:
        """Per node: length of the longest path to a leaf."""
        depths = np.zeros(self.nodes, np.int64)
        for i in reversed(range(self.nodes)):
            depths[i] = 1 + max(depths[r] if r >= 0 else 0 for r in (self.yes[i], self.no[i]))
        return depths

    def depth(self, tree: int) -> int:
        root = self.roots[tree]
        return int(self.depths[root]) if root >= 0 else 0

    def walk(self, root: int) -> Iterator[int]:
        """All nodes and leaves reachable from `root` as references, each once."""
        seen: set[int] = set()
        stack = [int(root)]
        while stack:
            reference = stack.pop()
            if reference in seen:
                continue
            seen.add(reference)
            yield reference
            if reference >= 0:
                stack += [int(self.no[reference]), int(self.yes[reference])]

    @cached_property
    def leaves(self) -> list[Ints]:
        """Indices of the leaves of each tree."""
        return [np.array(sorted(~r for r in self.walk(root) if r < 0), np.int64) for root in self.roots]

    @cached_property
    def magnitudes(self) -> NDArray[np.float64]:
        """Per output: upper bound of the sum of absolute values of initial value and leaf values (for tolerances)."""
        magnitudes = np.abs(self.base.astype(np.float64))
        for leaves in self.leaves:
            most = np.zeros(self.outputs)
            for at in range(self.width):
                np.maximum.at(most, self.columns[leaves] + at, np.abs(self.values[leaves, at].astype(np.float64)))
            magnitudes = magnitudes + most
        return magnitudes

    def reached(self, rows: Array) -> Ints:
        """Index of the leaf that each row of features (first axis) reaches in each tree (second axis)."""
        at = np.repeat(self.roots[None, :], len(rows), axis=0)
        while True:
            row, tree = np.nonzero(at >= 0)
            if not row.size:
                return np.asarray(~at)
            node = at[row, tree]
            element = rows[row, self.feature[node]]
            takes_yes = (element <= self.threshold[node]) | ((element != element) & self.missing[node])
            at[row, tree] = np.where(takes_yes, self.yes[node], self.no[node])

    def sums(self, rows: Array) -> Array:
        """The outputs for each row of features; float32 sums are rounded after each tree."""
        sums = np.repeat(self.base[None, :], len(rows), axis=0)
        each = np.arange(len(rows), dtype=np.int64)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            for leaf in self.reached(rows).T:
                sums[each, self.columns[leaf][:, None] + np.arange(self.width, dtype=np.int64)] += self.values[leaf]
        return sums


class Forest(Op):
    """Sum of the leaf values that each row of features reaches."""

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
        """Estimated cost in multiplications: visiting a node takes NumPy as long as 50."""
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
