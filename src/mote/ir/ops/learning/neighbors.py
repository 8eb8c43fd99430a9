"""k nearest neighbours over int8 features: a ring buffer of the last samples, and votes of the nearest, in integers.

States: samples, int8 [capacity, features]; their labels, int8 [capacity]; and the write index, int32 [1]. An entry
whose label is no class, such as -1, is empty.
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
"""Maximum number of classes: labels are int8."""
MOST_VOTES = 255
"""Maximum number of voting neighbours."""
MOST_KEPT = 32768
"""Maximum number of stored samples."""


def _memory_problem(classes: int, capacity: int) -> str | None:
    if not 1 <= classes <= MOST_LABELS:
        return f"{classes} classes are not supported (1 to {MOST_LABELS})"
    return None if 1 <= capacity <= MOST_KEPT else f"{capacity} samples are not supported (1 to {MOST_KEPT})"


class KnnUpdate(Op):
    """KNN_UPDATE: stores a sample in place of the oldest one. Inputs: features, label int32 [1], and the states:
    samples, labels, write index. Outputs: number of stored samples of that class, 0 if the label is invalid; and the
    states. A write index out of range, which a caller may have restored, counts as 0."""

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
    """KNN_SCORES: votes of the `neighbors` samples with the smallest squared Euclidean distance; of equal distances
    those at lower indices. If fewer samples are stored, all of them vote. Inputs: features, samples, labels; output:
    int32 votes [classes], all 0 if no sample is stored. The best class is the first with the most votes."""

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
        distances = np.square(samples[full].astype(np.int64) - x.reshape(-1)).sum(1)
        nearest = full[np.argsort(distances, kind="stable")[: self.neighbors]]
        return [bincount(labels[nearest], self.classes).astype(np.int32)]
