"""Gradients of SOFTMAX, LAYER_NORMALIZATION and RMS_NORMALIZATION, for each vector along the last axis. Sums are in
double precision, results rounded to float32 once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.reductions.normalize import Normalization
from mote.ir.ops.training.types import real_problem


class VectorGradient(Normalization):
    """Base of gradients per vector. Inputs: gradient of the output; the output or the input, of equal shape."""

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
    """SOFTMAX_GRADIENT: beta * y * (gradient - sum(gradient * y)) with output y."""

    beta: float = 1.0
    kind = "SOFTMAX_GRADIENT"

    def real(self, gradient: Array, at: Array) -> Array:
        return np.asarray(np.float32(self.beta) * at * (gradient - (gradient * at).sum(axis=-1, keepdims=True)))

    def cancelled_magnitude(self, g: Graph, values: Sequence[Array | None]) -> float:
        assert values[0] is not None
        return float(abs(self.beta) * np.abs(values[0]).max(initial=0))


class LayerNormalizationGradient(VectorGradient):
    """LAYER_NORMALIZATION_GRADIENT: gradient of the input, from the gradient of the normalized vectors (output gradient
    times scale) and the input. With z = x - mean, s = sqrt(variance + epsilon), n = z / s: (gradient - mean(gradient) -
    n * mean(gradient * n)) / s."""

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
    """RMS_NORMALIZATION_GRADIENT: like LAYER_NORMALIZATION_GRADIENT, but no means are subtracted from input and
    gradient."""

    kind = "RMS_NORMALIZATION_GRADIENT"

    def centered(self, x: Array) -> Array:
        return x
