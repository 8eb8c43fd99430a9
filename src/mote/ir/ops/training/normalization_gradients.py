"""Gradients of SOFTMAX, LAYER_NORMALIZATION and RMS_NORMALIZATION, along the last axis, each vector by itself. Sums are
in double precision, and results rounded to float32 once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.reductions.normalize import Normalization
from mote.ir.ops.training.types import real_problem


class VectorGradient(Normalization):
    """A gradient of vectors: inputs (gradient of the output, the output or the input), of one shape."""

    def unsupported(self, g: Graph) -> str | None:
        gradient, at = self.input(g), self.input(g, 1)
        if gradient.shape != at.shape:
            return f"a gradient of {gradient.shape} is not that of vectors of {at.shape}"
        return real_problem(g, self)

    def work(self, g: Graph) -> int:
        return 4 * self.input(g).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        gradient, at = values
        assert gradient is not None and at is not None
        return [self.real(gradient.astype(np.float64), at.astype(np.float64)).astype(np.float32)]

    def real(self, gradient: Array, at: Array) -> Array:
        raise NotImplementedError


class SoftmaxGradient(VectorGradient):
    """beta * y * (gradient - sum(gradient * y)) of the output y."""

    beta: float = 1.0
    kind = "SOFTMAX_GRADIENT"

    def real(self, gradient: Array, at: Array) -> Array:
        return np.asarray(np.float32(self.beta) * at * (gradient - (gradient * at).sum(axis=-1, keepdims=True)))

    def cancelled(self, g: Graph, values: Sequence[Array | None]) -> float:
        assert values[0] is not None
        return float(abs(self.beta) * np.abs(values[0]).max(initial=0))


class LayerNormalizationGradient(VectorGradient):
    """Of the input, from the gradient of the normalized vectors (that of the output times the scale) and the input:
    with z = x - mean, s = sqrt(variance + epsilon) and n = z / s it is (gradient - mean(gradient) - n * mean(gradient *
    n)) / s."""

    epsilon: float
    kind = "LAYER_NORMALIZATION_GRADIENT"

    def centered(self, x: Array) -> Array:
        return np.asarray(x - x.mean(axis=-1, keepdims=True))

    def real(self, gradient: Array, at: Array) -> Array:
        z = self.centered(at)
        deviation = np.sqrt(np.square(z).mean(axis=-1, keepdims=True) + np.float32(self.epsilon))
        n = z / deviation
        return np.asarray((self.centered(gradient) - n * (gradient * n).mean(axis=-1, keepdims=True)) / deviation)


class RmsNormalizationGradient(LayerNormalizationGradient):
    """The gradient without means: z is x, and no mean is taken off the gradient."""

    kind = "RMS_NORMALIZATION_GRADIENT"

    def centered(self, x: Array) -> Array:
        return x
