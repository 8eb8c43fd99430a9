"""Distances of nearest neighbours and clusters, and decision functions of support vector machines."""

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
"""The positions of what a model holds among the inputs of distances."""
COEFFICIENTS, INTERCEPTS = 2, 3
"""The positions of what a model holds among the inputs of support vector machines."""
AT_ONCE = 1 << 20
"""Differences of elements that the reference holds at once."""

Floats = NDArray[np.float64]


class Metric(StrEnum):
    """The metric between two vectors: the sum of squares of differences, its root, the sum of differences."""

    SQUARED = "squared"
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"


def _problem(g: Graph, op: Op) -> str | None:
    """Why an operator on float32 vectors and constants does not fit, or None."""
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
    """[.., depth] and [count, depth] constant vectors: [.., count] distances. A third input, of the shape of the
    second, weighs the differences (the squares of them, but of MANHATTAN)."""

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
    """The kernel function of two vectors: (gamma * <x, v> + offset) ** degree, exp(-gamma * |x - v|^2), or
    tanh(gamma * <x, v> + offset)."""

    POLYNOMIAL = "poly"
    RADIAL = "rbf"
    SIGMOID = "sigmoid"


class SupportVectors(Op):
    """The decision function for each pair of classes (0 and 1, 0 and 2, .. 1 and 2, ..): a sum over the support vectors
    of both. Inputs: [.., depth]; constant vectors [count, depth], those of a class one after another; coefficients
    [count, classes - 1], for each vector one for each other class; intercepts, one for each two classes. `counts`: of
    vectors, by class. A regression is a decision between two classes of which one has no vectors."""

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
        """The coefficients as a matrix [count, pairs], of which most are zero."""
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
        """The magnitude of the kernel values: exp and tanh are 1 at most, but are as inexact as their arguments."""
        x, vectors, coefficients, intercepts = _given(values)
        inner = abs(self.gamma) * (x.reshape(-1, x.shape[-1]) @ vectors.T) + abs(self.offset)
        if self.function == KernelFunction.POLYNOMIAL:
            numbers = inner**self.degree
        else:
            numbers = np.ones_like(inner) if self.function == KernelFunction.RADIAL else np.maximum(inner, 1.0)
        return [(numbers @ self.spread(np.abs(coefficients)) + np.abs(intercepts)).reshape(self.shapes(g)[0])]
