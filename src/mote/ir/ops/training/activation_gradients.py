"""Gradients of activations, element by element: inputs (gradient of the output, the activation's output or its input),
computed in float32, operation by operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation
from mote.ir.ops.pointwise import Pointwise
from mote.ir.ops.training.types import real_problem

Floats = NDArray[np.float32]
ONE, THREE, SIX = (np.float32(n) for n in (1, 3, 6))


class ActivationGradient(Pointwise):
    """gradient * f'(x). A subclass says whether it knows f' from the output or needs the input."""

    of_output: ClassVar[bool] = True
    """Input 1 is the activation's output; else its input."""

    def unsupported(self, g: Graph) -> str | None:
        gradient, at = self.input(g), self.input(g, 1)
        if gradient.shape != at.shape:
            return f"a gradient of {gradient.shape} is not that of values of {at.shape}"
        return real_problem(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        gradient, at = values
        assert gradient is not None and at is not None
        return [self.real(gradient, at)]

    def real(self, gradient: Floats, at: Floats) -> Floats:
        raise NotImplementedError


class ClampGradient(ActivationGradient):
    """Of RELU, RELU6 and their kin, fused ones too: the gradient where the output lies between the bounds, else 0."""

    activation: Activation
    kind = "RELU_GRADIENT"

    def real(self, gradient: Floats, at: Floats) -> Floats:
        low, high = self.activation.bounds
        return np.where((at > low) & (at < high), gradient, np.float32(0))


class LogisticGradient(ActivationGradient):
    """gradient * (y * (1 - y)) of the output y."""

    kind = "LOGISTIC_GRADIENT"

    def real(self, gradient: Floats, at: Floats) -> Floats:
        return gradient * (at * (ONE - at))


class TanhGradient(ActivationGradient):
    """gradient * (1 - y * y) of the output y."""

    kind = "TANH_GRADIENT"

    def real(self, gradient: Floats, at: Floats) -> Floats:
        return gradient * (ONE - at * at)


class LeakyReluGradient(ActivationGradient):
    """The gradient, times alpha where the input is not above 0."""

    alpha: float
    of_output = False
    kind = "LEAKY_RELU_GRADIENT"

    def real(self, gradient: Floats, at: Floats) -> Floats:
        return np.where(at > 0, gradient, gradient * np.float32(self.alpha))


class HardSwishGradient(ActivationGradient):
    """Of the input x: 0 up to -3, the gradient from 3 on, gradient * (x / 3 + 1 / 2) between them."""

    of_output = False
    kind = "HARD_SWISH_GRADIENT"

    def real(self, gradient: Floats, at: Floats) -> Floats:
        slope = np.where(at >= THREE, ONE, at / THREE + np.float32(0.5))
        return gradient * np.where(at <= -THREE, np.float32(0), slope)
