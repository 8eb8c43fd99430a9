"""Nearest class mean (prototypes) over int8 features, in integers.

States: int32 sums of the samples of each class [classes, features], and their counts [classes]. When a class has `most`
samples, its sum and count are halved before the next one is added: old samples fade out, and sums never exceed 30 bits.
Restored states are clamped to the valid range.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.learning.samples import NONE, inputs_problem, output_problem

MOST_SAMPLES = 1 << 22
"""Maximum of `most`, the number of samples at which sums are halved."""
MOST_CLASSES = 32768
COSINE_FRACTION = 15
"""Fraction bits of cosine similarities."""


def _most_problem(most: int) -> str | None:
    if 2 <= most <= MOST_SAMPLES and most % 2 == 0:
        return None
    return f"sums of {most} samples are not supported (an even number from 2 to {MOST_SAMPLES})"


def _classes_problem(classes: int) -> str | None:
    return None if 1 <= classes <= MOST_CLASSES else f"{classes} classes are not supported (1 to {MOST_CLASSES})"


def _clamped_state(sums: Array, count: int, most: int) -> tuple[Array, int]:
    """Sums and count of a class, clamped to the valid range."""
    count = min(max(count, 0), most)
    return np.clip(sums.astype(np.int64), -128 * count, 127 * count), count


class PrototypeUpdate(Op):
    """PROTOTYPE_UPDATE: adds a sample to its class. Inputs: features, label int32 [1], and the states: sums, counts.
    Outputs: number of samples of that class, 0 if the label is invalid; and the states."""

    most: int = MOST_SAMPLES
    kind = "PROTOTYPE_UPDATE"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 2, 2: 3}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1,), self.input(g, 2).shape, self.input(g, 3).shape]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return (0, self.most) if position == 3 else None

    def unsupported(self, g: Graph) -> str | None:
        classes = self.input(g, 3).size
        wanted = [
            (1, DType.INT32, (1,)),
            (2, DType.INT32, (classes, self.input(g).size)),
            (3, DType.INT32, (classes,)),
        ]
        return (
            _most_problem(self.most)
            or _classes_problem(classes)
            or inputs_problem(g, self, DType.INT8, wanted)
            or output_problem(g, self, DType.INT32)
        )

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, label, sums, counts = values
        assert x is not None and label is not None and sums is not None and counts is not None
        place = int(label[0])
        if not 0 <= place < len(counts):
            return [np.zeros(1, np.int32), sums, counts]
        sums, counts = sums.copy(), counts.copy()
        own, count = _clamped_state(sums[place], int(counts[place]), self.most)
        if count == self.most:
            own, count = np.sign(own) * (np.abs(own) // 2), count // 2
        sums[place], counts[place] = own + x.reshape(-1), count + 1
        return [np.array([count + 1], np.int32), sums, counts]


class ClassMeans(Op):
    """Base of class mean scores: similarity of the features to the mean of each class; the smallest int32 for a class
    without samples. Inputs: features, sums, counts; output: int32 scores [classes]."""

    most: int = MOST_SAMPLES

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g, 2).shape]

    def unsupported(self, g: Graph) -> str | None:
        classes = self.input(g, 2).size
        wanted = [(1, DType.INT32, (classes, self.input(g).size)), (2, DType.INT32, (classes,))]
        return (
            _most_problem(self.most)
            or _classes_problem(classes)
            or inputs_problem(g, self, DType.INT8, wanted)
            or output_problem(g, self, DType.INT32)
        )

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, sums, counts = values
        assert x is not None and sums is not None and counts is not None
        flat, scores = x.reshape(-1).astype(np.int64), np.full(len(counts), NONE, np.int32)
        for place, number in enumerate(counts.tolist()):
            own, count = _clamped_state(sums[place], number, self.most)
            if count:
                scores[place] = self._score(flat, (2 * own + count) // (2 * count))
        return [scores]

    def _score(self, x: Array, mean: Array) -> int:
        """The score of features for a class, whose mean is rounded to int8, halves up."""
        raise NotImplementedError


class PrototypeScores(ClassMeans):
    """PROTOTYPE_SCORES: negative squared Euclidean distance to the mean of each class: the nearest class has the
    highest score. Scores are in units of the squared scale of the features."""

    kind = "PROTOTYPE_SCORES"

    def _score(self, x: Array, mean: Array) -> int:
        return -int(np.square(x - mean).sum())


class PrototypeCosines(ClassMeans):
    """PROTOTYPE_COSINES: cosine similarity of features and the mean of each class, both minus the zero point `zero`,
    with COSINE_FRACTION fraction bits; independent of the amplitude, so that one threshold fits all classes. 0 if
    either vector is 0."""

    zero: int = 0
    kind = "PROTOTYPE_COSINES"

    def unsupported(self, g: Graph) -> str | None:
        if not -128 <= self.zero <= 127:
            return f"a zero point of {self.zero} is not supported (-128 to 127)"
        return super().unsupported(g)

    def _score(self, x: Array, mean: Array) -> int:
        x, mean = x - self.zero, mean - self.zero
        lengths = isqrt(int(x @ x) * int(mean @ mean))
        return ((int(x @ mean) << COSINE_FRACTION) + lengths // 2) // lengths if lengths else 0
