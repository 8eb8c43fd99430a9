"""Building blocks of classical models: decision functions, probabilities, votes, distances and support vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from mote.base.integers import bincount
from mote.frontends.build import elementwise, matrix, moves, norms, reductions
from mote.frontends.build.builder import Builder, Value
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.classical.distances_svm import Distances, KernelFunction, Metric, SupportVectors


def affine(b: Builder, x: Value, weights: Array, bias: Array | None) -> Value:
    """[.., features] times [outputs, features], plus a bias. A bias of zeros is omitted."""
    given = None if bias is None or not np.any(bias) else np.asarray(bias, np.float32)
    return matrix.linear(b, x, np.asarray(weights, np.float32).T, given)


def shifted(b: Builder, x: Value, offset: Array | None, factor: Array | None) -> Value:
    """(x - offset) * factor along the last axis; either is omitted where it has no effect."""
    if offset is not None and np.any(offset):
        x = elementwise.sub(b, x, b.constant(np.asarray(offset, np.float32)))
    if factor is not None and np.any(np.asarray(factor) != 1):
        x = elementwise.mul(b, x, b.constant(np.asarray(factor, np.float32)))
    return x


def best(b: Builder, scores: Value) -> Value:
    """The index of the largest score along the last axis, the first of equal ones."""
    return reductions.arg_max(b, scores, -1, keep=False, dtype=DType.INT32)


def nearest(b: Builder, distances: Value) -> Value:
    """The index of the smallest distance, the first of equal ones."""
    return reductions.arg_min(b, distances, -1, keep=False, dtype=DType.INT32)


def above(b: Builder, scores: Value, threshold: float = 0.0) -> Value:
    """1 for scores above a threshold, else 0: the class that a single score of a binary classifier decides for."""
    exceeds = elementwise.greater(b, scores, elementwise.scalar(b, threshold))
    return moves.squeeze(b, elementwise.cast(b, exceeds, DType.INT32), [-1])


def pair(b: Builder, score: Value) -> Value:
    """The probabilities of both classes of a binary classifier with a single score."""
    both = moves.concat(b, [elementwise.neg(b, score), score], -1)
    return elementwise.sigmoid(b, both)


def shares(b: Builder, values: Value) -> Value:
    """Divided by their sum along the last axis."""
    return elementwise.div(b, values, reductions.sum_(b, values, [-1], True))


def shares_of_odds(b: Builder, odds: Value) -> Value:
    """Probabilities of log-odds, normalized to add up to 1 along the last axis; computed by logarithms, because single
    probabilities may underflow."""
    return norms.softmax(b, elementwise.neg(b, elementwise.softplus(b, elementwise.neg(b, odds))))


def distances(b: Builder, x: Value, vectors: Array, metric: Metric, weights: Array | None = None) -> Value:
    """The distances of [.., depth] vectors to each of [count, depth]."""
    constants = [vectors] if weights is None else [vectors, weights]
    inputs = [b.plain(x), *(b.tensor(np.asarray(c, np.float32)) for c in constants)]
    shape = (*x.shape[:-1], len(vectors))
    return b.value(b.op(Distances, inputs, shape, metric=metric), shape)


def pairwise(b: Builder, x: Value, y: Value, power: float) -> Value:
    """[.., rows, columns]: the distances of each vector of [.., rows, depth] to each of [.., columns, depth], in the
    norm of that power. Vectors that a model holds need no differences in memory."""
    metric = {1.0: Metric.MANHATTAN, 2.0: Metric.EUCLIDEAN}.get(power)
    if y.data is not None and metric is not None and y.size == y.shape[-2] * y.shape[-1]:
        return distances(b, x, y.data.reshape(y.shape[-2:]), metric)
    apart = elementwise.sub(b, moves.unsqueeze(b, x, [x.rank - 1]), moves.unsqueeze(b, y, [y.rank - 2]))
    if power == 2:
        return reductions.l2(b, apart, [-1], False)
    if power == 0:
        differs = elementwise.not_equal(b, apart, elementwise.scalar(b, 0.0))
        return reductions.sum_(b, elementwise.cast(b, differs, DType.FLOAT32), [-1], False)
    sizes = elementwise.abs_(b, apart)
    if math.isinf(power):
        return reductions.maximum(b, sizes, [-1], False)
    if power == 1:
        return reductions.sum_(b, sizes, [-1], False)
    total = reductions.sum_(b, elementwise.power(b, sizes, elementwise.scalar(b, power)), [-1], False)
    return elementwise.power(b, total, elementwise.scalar(b, 1 / power))


def apart(b: Builder, x: Value, means: Array, axes: Sequence[Array]) -> Value:
    """[samples, count]: squared distances to means, each along axes of its own [features, axes]. All are one layer,
    which takes the input minus the mean of the means, so that no large number is subtracted."""
    middle, widest = means.mean(axis=0), max(a.shape[1] for a in axes)
    padded = [np.pad(a, ((0, 0), (0, widest - a.shape[1]))) for a in axes]
    bias = -np.concatenate([(m - middle) @ a for m, a in zip(means, padded, strict=True)])
    along = affine(b, shifted(b, x, middle, None), np.concatenate([a.T for a in padded]), bias)
    squares = moves.reshape(b, elementwise.mul(b, along, along), (-1, len(means), widest))
    return reductions.sum_(b, squares, [-1], False)


def decisions(
    b: Builder,
    x: Value,
    kernel: str,
    vectors: Array,
    coefficients: Array,
    intercepts: Array,
    counts: Sequence[int],
    *,
    gamma: float = 0.0,
    offset: float = 0.0,
    degree: int = 0,
) -> Value:
    """The pairwise decision values of support vectors. Coefficients are [classes - 1, count], in the layout of libsvm.
    A linear kernel is one matrix product with the weighted sum of the vectors."""
    if kernel == "linear":
        weights = np.stack([c @ vectors for c in spread(coefficients, counts).T])
        return affine(b, x, weights, intercepts)
    constants = (vectors, coefficients.T, intercepts.reshape(-1))
    inputs = [b.plain(x), *(b.tensor(np.ascontiguousarray(c, np.float32)) for c in constants)]
    shape = (*x.shape[:-1], intercepts.size)
    made = b.op(
        SupportVectors,
        inputs,
        shape,
        function=KernelFunction(kernel),
        gamma=float(gamma),
        offset=float(offset),
        degree=int(degree),
        counts=tuple(int(n) for n in counts),
    )
    return b.value(made, shape)


def spread(coefficients: Array, counts: Sequence[int]) -> Array:
    """Coefficients [classes - 1, count] as a matrix [count, pairs of classes]."""
    classes = len(counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns = []
    for i, j in combinations(range(classes), 2):
        column = np.zeros(int(starts[-1]))
        column[starts[i] : starts[i + 1]] = coefficients[j - 1, starts[i] : starts[i + 1]]
        column[starts[j] : starts[j + 1]] = coefficients[i, starts[j] : starts[j + 1]]
        columns.append(column)
    return np.stack(columns, axis=1)


def votes(b: Builder, decided: Value, classes: int) -> Value:
    """The number of pairwise decisions that each class wins: the first class where a decision is above zero. Votes are
    small integers, so that ties stay ties."""
    won = elementwise.cast(b, elementwise.greater(b, decided, elementwise.scalar(b, 0.0)), DType.FLOAT32)
    second = bincount([j for _, j in combinations(range(classes), 2)], classes)
    return affine(b, won, _sides(classes), second)


def one_against_rest(b: Builder, decided: Value, won: Value) -> Value:
    """A score for each class: its votes, plus a measure of their confidence between -1/3 and 1/3."""
    classes = won.shape[-1]
    clear = affine(b, decided, _sides(classes), None)
    room = elementwise.scaled(b, elementwise.scaled(b, elementwise.abs_(b, clear), 1, 1), 3)
    return elementwise.add(b, won, elementwise.div(b, clear, room))


def _sides(classes: int) -> Array:
    """[classes, pairs]: 1 for the first class of a pair, -1 for the second."""
    sides = np.zeros((classes, classes * (classes - 1) // 2))
    for number, (i, j) in enumerate(combinations(range(classes), 2)):
        sides[i, number], sides[j, number] = 1, -1
    return sides


def matches(b: Builder, x: Value, numbers: Sequence[float]) -> Value:
    """One-hot comparison of each element with some numbers, along a new last axis."""
    wide = moves.unsqueeze(b, x, [x.rank])
    known = b.constant(np.asarray(numbers, x.dtype.numpy))
    return elementwise.cast(b, elementwise.equal(b, wide, known), DType.FLOAT32)


def filled(b: Builder, x: Value, values: Array, missing: float) -> Value:
    """x with the values in place of `missing` elements, which may be NaN."""
    if np.isnan(missing):
        absent = elementwise.not_equal(b, x, x)
    else:
        absent = elementwise.equal(b, x, elementwise.scalar(b, missing, x.dtype))
    return elementwise.where(b, absent, b.constant(np.asarray(values, x.dtype.numpy)), x)


def normalized(b: Builder, x: Value, norm: str) -> Value:
    """Vectors along the last axis divided by their l1, l2 or max norm. Zero vectors stay zero."""
    if norm == "max":
        length = reductions.maximum(b, elementwise.abs_(b, x), [-1], True)
    else:
        length = (reductions.l1 if norm == "l1" else reductions.l2)(b, x, [-1], True)
    none = elementwise.equal(b, length, elementwise.scalar(b, 0.0))
    return elementwise.div(b, x, elementwise.where(b, none, elementwise.scalar(b, 1.0), length))
