"""Nearest neighbours over int8 features: a memory of the last samples, and the votes of those nearest, in integers.

States are the samples, int8 [capacity, features], their labels, int8 [capacity], and the place of the next one, int32
[1]. A place whose label is no class, such as -1, is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.base.integers import bincount
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.learning.samples import inputs_problem, output_problem

MOST_LABELS = 128
"""The most classes: labels are int8."""
MOST_VOTES = 255
"""The most neighbours that vote."""
MOST_KEPT = 32768
"""The most samples of a memory."""


def _memory_problem(classes: int, capacity: int) -> str | None:
    if not 1 <= classes <= MOST_LABELS:
        return f"{classes} classes are not supported (1 to {MOST_LABELS})"
    return None if 1 <= capacity <= MOST_KEPT else f"{capacity} samples are not supported (1 to {MOST_KEPT})"


class KnnUpdate(Op):
    """A sample takes the place of the oldest one. Inputs: features, label int32 [1], samples, labels, place; outputs:
    samples of that class in the memory now, 0 where the label is no class, then samples, labels and place. A place
    outside of the memory, which a caller may have restored, is the first one."""

    classes: int
    kind = "KNN_UPDATE"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 2, 2: 3, 3: 4}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1,), *(self.input(g, position).shape for position in (2, 3, 4))]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return {3: (-1, self.classes - 1), 4: (0, self.input(g, 3).size - 1)}.get(position)

    def unsupported(self, g: Graph) -> str | None:
        capacity = self.input(g, 3).size
        wanted = [
            (1, DType.INT32, (1,)),
            (2, DType.INT8, (capacity, self.input(g).size)),
            (3, DType.INT8, (capacity,)),
            (4, DType.INT32, (1,)),
        ]
        return (
            _memory_problem(self.classes, capacity)
            or inputs_problem(g, self, DType.INT8, wanted)
            or output_problem(g, self, DType.INT32)
        )

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, label, samples, labels, place = values
        assert x is not None and label is not None and samples is not None and labels is not None and place is not None
        own, at = int(label[0]), int(place[0])
        if not 0 <= own < self.classes:
            return [np.zeros(1, np.int32), samples, labels, place]
        at = at if 0 <= at < len(labels) else 0
        samples, labels = samples.copy(), labels.copy()
        samples[at], labels[at] = x.reshape(-1), own
        seen = np.array([np.count_nonzero(labels == own)], np.int32)
        return [seen, samples, labels, np.array([(at + 1) % len(labels)], np.int32)]


class KnnScores(Op):
    """The votes of the `neighbors` samples with the least squared Euclidean distance: of equal ones, of those at lower
    places of the memory. A memory with fewer samples has as many votes. Inputs: features, samples, labels; output:
    int32 votes [classes], of which the first of equals is the best class; all are 0 where nothing was learned."""

    neighbors: int
    classes: int
    kind = "KNN_SCORES"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.classes,)]

    def unsupported(self, g: Graph) -> str | None:
        capacity = self.input(g, 2).size
        if not 1 <= self.neighbors <= min(MOST_VOTES, capacity):
            return f"{self.neighbors} neighbors are not supported (1 to {min(MOST_VOTES, capacity)})"
        wanted = [(1, DType.INT8, (capacity, self.input(g).size)), (2, DType.INT8, (capacity,))]
        return (
            _memory_problem(self.classes, capacity)
            or inputs_problem(g, self, DType.INT8, wanted)
            or output_problem(g, self, DType.INT32)
        )

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, samples, labels = values
        assert x is not None and samples is not None and labels is not None
        (full,) = np.nonzero((labels >= 0) & (labels < self.classes))
        apart = np.square(samples[full].astype(np.int64) - x.reshape(-1)).sum(1)
        nearest = full[np.argsort(apart, kind="stable")[: self.neighbors]]
        return [bincount(labels[nearest], self.classes).astype(np.int32)]
