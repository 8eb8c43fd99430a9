"""Gradients of activations, element by element, in float32. Inputs: the gradient of the output, and the activation's
output or input. The order of operations is fixed."""

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
    """Base of activation gradients: gradient * f'(x), computed from the activation's output or its input."""

    of_output: ClassVar[bool] = True
    """Whether input 1 is the activation's output (else its input)."""

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
    """Gradient of RELU, RELU6 and others, also fused ones: the gradient where the output is strictly between the
    bounds, else 0."""

    activation: Activation
    kind = "RELU_GRADIENT"

    def real(self, gradient: Floats, at: Floats) -> Floats:
        low, high = self.activation.bounds
        return np.where((at > low) & (at < high), gradient, np.float32(0))


class LogisticGradient(ActivationGradient):
    """Gradient of the sigmoid: gradient * (y * (1 - y)) with output y."""

    kind = "LOGISTIC_GRADIENT"

    def real(self, gradient: Floats, at: Floats) -> Floats:
        return gradient * (at * (ONE - at))


class TanhGradient(ActivationGradient):
    """Gradient of tanh: gradient * (1 - y * y) with output y."""

    kind = "TANH_GRADIENT"

    def real(self, gradient: Floats, at: Floats) -> Floats:
        return gradient * (ONE - at * at)


class LeakyReluGradient(ActivationGradient):
    """Gradient of LEAKY_RELU: the gradient, times alpha where the input is <= 0."""

    alpha: float
    of_output = False
    kind = "LEAKY_RELU_GRADIENT"

    def real(self, gradient: Floats, at: Floats) -> Floats:
        return np.where(at > 0, gradient, gradient * np.float32(self.alpha))


class HardSwishGradient(ActivationGradient):
    """Gradient of HARD_SWISH with input x: 0 for x <= -3, the gradient for x >= 3, else gradient * (x / 3 + 1 / 2)."""

    of_output = False
    kind = "HARD_SWISH_GRADIENT"

    def real(self, gradient: Floats, at: Floats) -> Floats:
        slope = np.where(at >= THREE, ONE, at / THREE + np.float32(0.5))
        return gradient * np.where(at <= -THREE, np.float32(0), slope)
