"""Activation functions of recurrent layers' gates."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class GateActivation(IntEnum):
    """Activation functions of gates; the values are used in C. The first two are the default ones."""

    LOGISTIC = 0
    TANH = 1
    RELU = 2
    AFFINE = 3
    LEAKY_RELU = 4
    THRESHOLDED_RELU = 5
    SCALED_TANH = 6
    HARD_SIGMOID = 7
    ELU = 8
    SOFTSIGN = 9
    SOFTPLUS = 10


@dataclass(frozen=True)
class Gate:
    """An activation function with its parameters alpha and beta; its argument is clamped to +-`clip` (0: not
    clamped)."""

    function: GateActivation
    alpha: float = 0.0
    beta: float = 0.0
    clip: float = 0.0

    @property
    def usual(self) -> bool:
        return self.function <= GateActivation.TANH and self.clip == 0

    def of(self, x: Floats) -> Floats:
        alpha, beta = float(np.float32(self.alpha)), float(np.float32(self.beta))
        if self.clip:
            x = np.clip(x, -self.clip, self.clip)
        with np.errstate(over="ignore"):
            activations: dict[GateActivation, Floats] = {
                GateActivation.LOGISTIC: 1 / (1 + np.exp(-x)),
                GateActivation.TANH: np.tanh(x),
                GateActivation.RELU: np.maximum(x, 0),
                GateActivation.AFFINE: alpha * x + beta,
                GateActivation.LEAKY_RELU: np.where(x < 0, alpha * x, x),
                GateActivation.THRESHOLDED_RELU: np.where(x > alpha, x, 0.0),
                GateActivation.SCALED_TANH: alpha * np.tanh(beta * x),
                GateActivation.HARD_SIGMOID: np.clip(alpha * x + beta, 0, 1),
                GateActivation.ELU: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x),
                GateActivation.SOFTSIGN: x / (1 + np.abs(x)),
                GateActivation.SOFTPLUS: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
            }
        return activations[self.function]


SIGMOID, HYPERBOLIC = Gate(GateActivation.LOGISTIC), Gate(GateActivation.TANH)
