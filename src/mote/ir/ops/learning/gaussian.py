"""Gaussian naive Bayes over float32 features, learned sample by sample: a mean and a variance per class and feature.

States: means and sums of squared deviations (Welford's algorithm), float32 [classes, features] each; the sum of log
variances per class, float32 [classes]; and int32 counts [classes]. From `most` samples of a class on, its statistics
are exponential averages in which a new sample has weight 1 / `most`. A variance is the mean squared deviation plus
`smoothing`.

C code computes the operations of the reference in the same order, each rounded to float32. Its logarithms are within 1
ulp; so are sums of products where a compiler fuses multiply-adds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.learning.samples import added, inputs_problem, learnable, output_problem

MOST_COUNTED = 1 << 22
"""Maximum of `most`: sums of squares of the largest features stay finite."""
LEAST_SMOOTHING = 2.0**-60
LEAST_SCORE = float(np.finfo(np.float32).min)
"""The score of a class without samples."""


def _problem(g: Graph, op: Op, first: int, most: int, smoothing: float) -> str | None:
    """Why an operator's attributes, features or states (inputs from position `first` on) are not supported, or None."""
    if not 1 <= most <= MOST_COUNTED:
        return f"averages over {most} samples are not supported (1 to {MOST_COUNTED})"
    if not LEAST_SMOOTHING <= smoothing <= 1:
        return f"a smoothing of {smoothing} is not supported ({LEAST_SMOOTHING:.1g} to 1)"
    classes, size = op.input(g, first + 3).size, op.input(g).size
    wanted = [
        (first, DType.FLOAT32, (classes, size)),
        (first + 1, DType.FLOAT32, (classes, size)),
        (first + 2, DType.FLOAT32, (classes,)),
        (first + 3, DType.INT32, (classes,)),
    ]
    return inputs_problem(g, op, DType.FLOAT32, wanted)


class GaussianUpdate(Op):
    """GAUSSIAN_UPDATE: learns a sample. Inputs: features, label int32 [1]; states: means, squares, log variances,
    counts. Outputs: number of samples of that class, up to `most`, or 0 if the label is invalid or a feature NaN or too
    large; and the states."""

    most: int = MOST_COUNTED
    smoothing: float = 1e-6
    kind = "GAUSSIAN_UPDATE"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 2, 2: 3, 3: 4, 4: 5}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1,), *(self.input(g, position).shape for position in range(2, 6))]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return (0, self.most) if position == 5 else None

    def unsupported(self, g: Graph) -> str | None:
        label = self.input(g, 1)
        if (label.dtype, label.shape) != (DType.INT32, (1,)):
            return f"a label of {label.dtype} {label.shape} is not supported (int32 (1,))"
        return _problem(g, self, 2, self.most, self.smoothing) or output_problem(g, self, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, label, *states = values
        assert x is not None and label is not None
        means, squares, logarithms, counts = (s.copy() for s in states if s is not None)
        x, own = x.reshape(-1), int(label[0])
        if not 0 <= own < len(counts) or not learnable(x):
            return [np.zeros(1, np.int32), means, squares, logarithms, counts]
        before = min(max(int(counts[own]), 0), self.most)
        after = min(before + 1, self.most)
        if before == 0:
            means[own], squares[own] = 0, 0
        deviations = x - means[own]
        means[own] += deviations / np.float32(after)
        faded = squares[own] * np.float32(1 - 1 / self.most) if before == self.most else squares[own]
        squares[own] = faded + deviations * (x - means[own])
        variances = squares[own] / np.float32(after) + np.float32(self.smoothing)
        logarithms[own] = added(np.float32(0), np.log(variances))
        counts[own] = after
        return [np.array([after], np.int32), means, squares, logarithms, counts]


class GaussianScores(Op):
    """GAUSSIAN_SCORES: log joint probability of each class and the features, up to a constant: log(count) minus half
    the sum of log variances and of squared deviations divided by the variances. A class without samples has the
    smallest float. Inputs: features, means, squares, log variances, counts; output: float32 scores [classes]."""

    most: int = MOST_COUNTED
    smoothing: float = 1e-6
    kind = "GAUSSIAN_SCORES"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g, 4).shape]

    def unsupported(self, g: Graph) -> str | None:
        return _problem(g, self, 1, self.most, self.smoothing) or output_problem(g, self, DType.FLOAT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, means, squares, logarithms, counts = values
        assert x is not None and means is not None and squares is not None
        assert logarithms is not None and counts is not None
        scores = np.full(len(counts), LEAST_SCORE, np.float32)
        for k, number in enumerate(counts.tolist()):
            count = np.float32(min(max(number, 0), self.most))
            if count:
                variances = squares[k] / count + np.float32(self.smoothing)
                with np.errstate(over="ignore", invalid="ignore"):
                    deviations = x.reshape(-1) - means[k]
                    total = added(logarithms[k], deviations * deviations / variances)
                scores[k] = np.log(count) - np.float32(0.5) * total
        return [scores]
