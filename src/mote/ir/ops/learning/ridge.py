"""Ridge regression by recursive least squares: after each sample the weights are optimal for all samples so far.

States: the weights of a linear model (see `linear.py`), and the inverse covariance of the features with the bias's 1
appended: upper triangle of a symmetric matrix by rows, float32 [n * (n + 1) / 2]. It begins as the identity divided by
the penalty `ridge` (`first_inverse`). With a `forgetting` factor below 1 older samples fade out; without new
information the inverse stops growing at its initial value, which prevents wind-up. Its diagonal never falls below 2^-24
of that, so that it stays positive despite rounding.

C code is bit-exact with the reference unless a compiler fuses multiply-adds; rounding then differs, by an amount that
grows with the condition number of the covariance: features of similar scale keep it small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.learning.linear import extended, predicted, weights_problem
from mote.ir.ops.learning.samples import LARGEST, added, learnable, output_problem

MOST_FEATURES = 4095
LEAST_SHARE = 2.0**-24
"""Minimum of the inverse's diagonal, relative to its initial value."""


def first_inverse(size: int, ridge: float) -> Array:
    """The initial inverse covariance for `size` features."""
    rows, columns = np.triu_indices(size + 1)
    return np.where(rows == columns, np.float32(1 / ridge), np.float32(0))


class RidgeUpdate(Op):
    """RIDGE_UPDATE: learns a sample. Inputs: features, targets (float32 [outputs], or a label, int32 [1], that stands
    for its one-hot vector), and the states: weights, inverse covariance. Outputs: 1 if the sample was learned, else 0;
    and the states. Not learned: invalid labels, features that are too large or NaN, and results beyond float32."""

    ridge: float
    forgetting: float = 1.0
    kind = "RIDGE_UPDATE"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 2, 2: 3}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1,), self.input(g, 2).shape, self.input(g, 3).shape]

    def unsupported(self, g: Graph) -> str | None:
        if not 1e-6 <= self.ridge <= 1e6 or not 0.5 <= self.forgetting <= 1:
            return (
                f"a ridge of {self.ridge} and a forgetting factor of {self.forgetting} are not supported "
                "(1e-6 to 1e6, 0.5 to 1)"
            )
        if self.input(g).size > MOST_FEATURES:
            return f"{self.input(g).size} features are not supported (1 to {MOST_FEATURES})"
        target, inverse, n = self.input(g, 1), self.input(g, 3), self.input(g).size + 1
        if (inverse.dtype, inverse.shape) != (DType.FLOAT32, (n * (n + 1) // 2,)):
            return f"an inverse of {inverse.dtype} {inverse.shape} is not supported (float32 {n * (n + 1) // 2})"
        outputs = self.input(g, 2).shape[0]
        if target.dtype != DType.INT32 and (target.dtype, target.shape) != (DType.FLOAT32, (outputs,)):
            return f"targets of {target.dtype} {target.shape} are not supported (float32 {outputs}, or int32 1)"
        labelled = target.dtype == DType.INT32
        return weights_problem(g, self, 2, label=labelled) or output_problem(g, self, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, target, weights, inverse = values
        assert x is not None and target is not None and weights is not None and inverse is not None
        outputs, unchanged = len(weights), [np.zeros(1, np.int32), weights, inverse]
        if not learnable(x) or (target.dtype == np.int32 and not 0 <= target[0] < outputs):
            return unchanged
        if target.dtype == np.int32:
            target = (np.arange(outputs, dtype=np.int64) == target[0]).astype(np.float32)
        z = extended(x)
        with np.errstate(over="ignore", invalid="ignore"):
            errors = target - predicted(x, weights)
            gain_vector = self._gain_vector(inverse, z)
            power = added(np.float32(0), gain_vector * z)
        if not 0 <= power <= LARGEST or not (np.abs(errors) <= LARGEST).all():
            return unchanged
        gains = gain_vector * (np.float32(1) / (np.float32(self.forgetting) + power))
        return [np.ones(1, np.int32), weights + errors[:, None] * gains, self._updated(inverse, gains, gain_vector)]

    @staticmethod
    def _gain_vector(inverse: Array, z: Array) -> Array:
        """The symmetric inverse (stored as upper triangle) times the feature vector."""
        gain_vector, begin, n = np.zeros(len(z), np.float32), 0, len(z)
        for i in range(n):
            row = inverse[begin : begin + n - i]
            gain_vector[i] = added(gain_vector[i], row * z[i:])
            gain_vector[i + 1 :] += row[1:] * z[i]
            begin += n - i
        return gain_vector

    def _updated(self, inverse: Array, gains: Array, gain_vector: Array) -> Array:
        rows, columns = np.triu_indices(len(gains))
        after: Array = inverse - gains[rows] * gain_vector[columns]
        most = np.float32(1 / self.ridge)
        diagonal = rows == columns
        after[diagonal] = np.maximum(after[diagonal], np.float32(LEAST_SHARE / self.ridge))
        grown = np.float32(1 / self.forgetting)
        if after[diagonal].max() * grown <= most:
            after *= grown
        return after
