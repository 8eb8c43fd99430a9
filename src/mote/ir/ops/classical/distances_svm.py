"""DISTANCES, for nearest neighbours and clusters, and SUPPORT_VECTORS, decision functions of support vector
machines."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import prod

import numpy as np
from numpy.typing import NDArray

from mote.base.integers import repeat
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

VECTORS, WEIGHTS = 1, 2
"""Input positions of the constants of DISTANCES."""
COEFFICIENTS, INTERCEPTS = 2, 3
"""Input positions of the constants of SUPPORT_VECTORS (with VECTORS)."""
AT_ONCE = 1 << 20
"""Maximum number of element differences that the NumPy reference holds in memory at once."""

Floats = NDArray[np.float64]


class Metric(StrEnum):
    """Distance between two vectors: sum of squared differences, its square root, or sum of absolute differences."""

    SQUARED = "squared"
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"


def _problem(g: Graph, op: Op) -> str | None:
    """Why an operator on float32 vectors and constants is not supported, or None."""
    x, vectors = op.input(g), op.input(g, VECTORS)
    for position, i in enumerate(op.inputs):
        t = g.tensors[i]
        if t.dtype != DType.FLOAT32:
            return f"{t.dtype} tensor '{t.name}' is not supported (only float32)"
        if position and t.data is None:
            return f"'{t.name}' is computed at run time: that is not supported"
    if op.output(g).dtype != DType.FLOAT32 or len(vectors.shape) != 2 or not x.shape:
        return f"vectors of {vectors.shape} with an input of {x.shape} are not supported"
    return None if x.shape[-1] == vectors.shape[1] else f"{vectors.shape} does not fit an input of {x.shape}"


def _given(values: Sequence[Array | None]) -> list[Floats]:
    return [np.asarray(v, np.float64) for v in values if v is not None]


class Distances(Op):
    """Distances [.., count] between input vectors [.., depth] and constant vectors [count, depth]. An optional third
    input, of the shape of the second, weights the squared differences (for MANHATTAN the absolute differences)."""

    metric: Metric
    kind = "DISTANCES"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape[:-1], self.input(g, VECTORS).shape[0])]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.input(g).shape[-1]

    def unsupported(self, g: Graph) -> str | None:
        if problem := _problem(g, self):
            return problem
        weights = self.tensor(g, WEIGHTS)
        if weights is not None and weights.shape != self.input(g, VECTORS).shape:
            return f"weights of {weights.shape} do not fit vectors of {self.input(g, VECTORS).shape}"
        return None

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no DISTANCES"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, vectors, *weights = _given(values)
        rows = x.reshape(-1, x.shape[-1])
        distances = np.empty((len(rows), len(vectors)))
        for i, row in enumerate(rows):
            differences = np.abs(row - vectors)
            terms = differences if self.metric == Metric.MANHATTAN else differences**2
            distances[i] = (terms * weights[0] if weights else terms).sum(axis=1)
        if self.metric == Metric.EUCLIDEAN:
            distances = np.sqrt(distances)
        return [distances.reshape(self.shapes(g)[0]).astype(np.float32)]


class KernelFunction(StrEnum):
    """Kernel function of two vectors: (gamma * <x, v> + offset) ** degree, exp(-gamma * |x - v|^2), or tanh(gamma * <x,
    v> + offset)."""

    POLYNOMIAL = "poly"
    RADIAL = "rbf"
    SIGMOID = "sigmoid"


class SupportVectors(Op):
    """Decision function of a support vector machine for each pair of classes (0 and 1, 0 and 2, .. 1 and 2, ..): a
    weighted sum over the support vectors of both. Inputs: [.., depth]; constant vectors [count, depth], grouped by
    class; coefficients [count, classes - 1], per vector one for each other class; intercepts, one per pair. `counts`:
    number of vectors per class. A regression is a decision between two classes of which one has no vectors."""

    function: KernelFunction
    gamma: float
    offset: float
    degree: int
    counts: tuple[int, ...]
    kind = "SUPPORT_VECTORS"

    @property
    def pairs(self) -> int:
        return len(self.counts) * (len(self.counts) - 1) // 2

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape[:-1], self.pairs)]

    def macs(self, g: Graph) -> int:
        vectors = self.input(g, VECTORS)
        return prod(self.input(g).shape[:-1]) * (vectors.size + self.input(g, COEFFICIENTS).size)

    def unsupported(self, g: Graph) -> str | None:
        if problem := _problem(g, self):
            return problem
        count, classes = self.input(g, VECTORS).shape[0], len(self.counts)
        shapes = self.input(g, COEFFICIENTS).shape, self.input(g, INTERCEPTS).shape
        if sum(self.counts) != count or classes < 2 or shapes != ((count, classes - 1), (self.pairs,)):
            return f"coefficients and intercepts of {shapes} do not fit {count} vectors of {classes} classes"
        return None if self.degree >= 0 else f"a power of {self.degree} is not supported"

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no SUPPORT_VECTORS"

    def spread(self, coefficients: Floats) -> Floats:
        """The coefficients of support vectors as a sparse matrix [vectors, pairs of classes]."""
        classes = len(self.counts)
        numbers = {pair: i for i, pair in enumerate((a, b) for a in range(classes) for b in range(a + 1, classes))}
        owners = repeat(np.arange(classes, dtype=np.int64), self.counts)
        matrix = np.zeros((len(owners), self.pairs))
        for at, own in enumerate(owners.tolist()):
            others = [c for c in range(classes) if c != own]
            matrix[at, [numbers[min(own, c), max(own, c)] for c in others]] = coefficients[at]
        return matrix

    def _numbers(self, x: Floats, vectors: Floats) -> Floats:
        if self.function == KernelFunction.RADIAL:
            squares = ((x[:, None] - vectors) ** 2).sum(axis=-1)
            return np.asarray(np.exp(-self.gamma * squares))
        inner = self.gamma * (x @ vectors.T) + self.offset
        return np.asarray(inner**self.degree if self.function == KernelFunction.POLYNOMIAL else np.tanh(inner))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, vectors, coefficients, intercepts = _given(values)
        matrix = self.spread(coefficients)
        at_once = max(1, AT_ONCE // vectors.size)
        rows = x.reshape(-1, x.shape[-1])
        parts = [self._numbers(rows[i : i + at_once], vectors) @ matrix for i in range(0, len(rows), at_once)]
        return [(np.concatenate(parts) + intercepts).reshape(self.shapes(g)[0]).astype(np.float32)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """Magnitude of the decision sums (for tolerances): exp and tanh are at most 1, but as inexact as their
        arguments."""
        x, vectors, coefficients, intercepts = _given(values)
        inner = abs(self.gamma) * (x.reshape(-1, x.shape[-1]) @ vectors.T) + abs(self.offset)
        if self.function == KernelFunction.POLYNOMIAL:
            numbers = inner**self.degree
        else:
            numbers = np.ones_like(inner) if self.function == KernelFunction.RADIAL else np.maximum(inner, 1.0)
        return [(numbers @ self.spread(np.abs(coefficients)) + np.abs(intercepts)).reshape(self.shapes(g)[0])]
