"""Optimizer steps, which update trainable weights (states) in place: SGD, ADAM_8BIT, and gradient accumulation.

All arithmetic is float32 with a fixed order of operations, bit-exact on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.base.integers import repeat
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.training.noise import hashed
from mote.ir.ops.training.types import real_problem

Floats = NDArray[np.float32]
BLOCK = 64
"""Number of Adam moments per block with a common scale."""
WEIGHTS, GRADIENT, RATE, STEP, MOMENTS = 0, 1, 2, 3, 4
"""Input positions of an optimizer step."""
COUNT = 2
"""Input position of the step number in ACCUMULATE_GRADIENT."""


class AccumulateGradient(Op):
    """ACCUMULATE_GRADIENT: sum of the gradients of `every` inferences. Inputs: old sum (a state), gradient, step
    number; output: new sum. The sum restarts when the step number is a multiple of `every`."""

    every: int
    kind = "ACCUMULATE_GRADIENT"

    @property
    def updates(self) -> dict[int, int]:
        return {0: 0}

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def unsupported(self, g: Graph) -> str | None:
        if self.input(g).shape != self.input(g, 1).shape:
            return f"a gradient of {self.input(g, 1).shape} cannot be added to one of {self.input(g).shape}"
        return real_problem(g, self, 0, 1) or step_problem(g, self, COUNT)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        total, gradient, step = values
        assert total is not None and gradient is not None and step is not None
        return [gradient if step.item() % self.every == 0 else total + gradient]


@dataclass(frozen=True, eq=False)
class StepInputs:
    """Inputs of an optimizer step: weights, gradient, learning rate, step number (from 1)."""

    weights: Floats
    gradient: Floats
    rate: np.float32
    number: int


class OptimizerStep(Op):
    """Base of optimizer steps. Inputs: weights, gradient, learning rate (one float32, changeable at run time), step
    number or absent, moments...; outputs: weights, moments..., updated in place. The gradient is a sum over `every`
    inferences and divided by that; only the last of these inferences changes anything."""

    weight_decay: float = 0.0
    every: int = 1

    @property
    def updates(self) -> dict[int, int]:
        return {0: WEIGHTS} | {k: k + MOMENTS - 1 for k in range(1, len(self.outputs))}

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g, p).shape for p in (WEIGHTS, *range(MOMENTS, len(self.inputs)))]

    def unsupported(self, g: Graph) -> str | None:
        weights, gradient = self.input(g), self.input(g, GRADIENT)
        if weights.shape != gradient.shape:
            return f"a gradient of {gradient.shape} is not that of weights of {weights.shape}"
        if self.input(g, RATE).size != 1:
            return f"a learning rate of {self.input(g, RATE).shape} is not supported (one number)"
        if self.every > 1 and self.tensor(g, STEP) is None:
            return f"the mean of {self.every} gradients needs the number of the step"
        return real_problem(g, self, WEIGHTS, GRADIENT, RATE) or step_problem(g, self, STEP)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        step, before = values[STEP], [values[WEIGHTS], *values[MOMENTS:]]
        weights, *moments = [value for value in before if value is not None]
        gradient, rate = values[GRADIENT], values[RATE]
        assert gradient is not None and rate is not None
        number = 0 if step is None else step.item()
        if (number + 1) % self.every:
            return [weights, *moments]
        mean = np.divide(gradient, np.float32(self.every), dtype=np.float32)
        return self.step(StepInputs(weights, mean, rate.reshape(-1)[0], (number + 1) // self.every), moments)

    def step(self, at: StepInputs, moments: Sequence[Array]) -> list[Array]:
        """Weights and moments after a step."""
        raise NotImplementedError


class SgdStep(OptimizerStep):
    """SGD as in PyTorch: d = gradient + weight_decay * weights; with momentum v = momentum * v + d, and d = v; weights
    -= learning_rate * d. The moment v is a state if there is momentum."""

    momentum: float = 0.0
    kind = "SGD"

    def step(self, at: StepInputs, moments: Sequence[Array]) -> list[Array]:
        decayed = at.gradient + np.float32(self.weight_decay) * at.weights if self.weight_decay else at.gradient
        if not moments:
            return [at.weights - at.rate * decayed]
        velocity = np.float32(self.momentum) * moments[0] + decayed
        return [at.weights - at.rate * velocity, velocity]


class AdamStep(OptimizerStep):
    """ADAM_8BIT: PyTorch's AdamW with moments in 8 bits. The moments are four states: codes of the means (int8) and a
    scale per block of 64; codes of the roots of the mean squares (uint8) and their scales. A code stands for sign *
    code^2 * scale, which covers a large dynamic range. Codes are rounded stochastically, with a hash of step and
    element as noise (`encoded`, `uniform`); a nonzero root has at least code 1, so that no step is divided by 0. The
    step itself uses the moments before rounding."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    kind = "ADAM_8BIT"

    def unsupported(self, g: Graph) -> str | None:
        moments = [(t.dtype, t.shape) for t in (self.input(g, p) for p in range(MOMENTS, len(self.inputs)))]
        if moments != moment_types(self.input(g).size) or self.tensor(g, STEP) is None:
            return "it needs the number of the step and moments in 8 bits"
        return super().unsupported(g)

    def step(self, at: StepInputs, moments: Sequence[Array]) -> list[Array]:
        means, mean_scales, roots, root_scales = moments
        one, flat, number = np.float32(1), at.gradient.reshape(-1), at.number
        beta1, beta2 = np.float32(self.beta1), np.float32(self.beta2)
        mean = beta1 * _decoded(means, mean_scales) + (one - beta1) * flat
        before = _decoded(roots, root_scales)
        square = beta2 * (before * before) + (one - beta2) * (flat * flat)
        root = np.sqrt(square)
        rate = at.rate / (one - power(beta1, number))
        divisor = root / np.sqrt(one - power(beta2, number)) + np.float32(self.epsilon)
        decay_factor = one - at.rate * np.float32(self.weight_decay)
        after = at.weights.reshape(-1) * decay_factor - rate * (mean / divisor)
        noise = uniform(number, 2 * flat.size)
        new_means, new_mean_scales = encoded(mean, 127, noise[: flat.size])
        new_roots, new_root_scales = encoded(root, 255, noise[flat.size :])
        new_roots = np.where(root > 0, np.maximum(new_roots, 1), new_roots)
        states = [new_means.astype(np.int8), new_mean_scales, new_roots.astype(np.uint8), new_root_scales]
        return [after.reshape(at.weights.shape), *states]


def moment_types(size: int) -> list[tuple[DType, Shape]]:
    """Types and shapes of Adam's states for `size` weights."""
    blocks = (DType.FLOAT32, (-(-size // BLOCK),))
    return [(DType.INT8, (size,)), blocks, (DType.UINT8, (size,)), blocks]


def step_problem(g: Graph, op: Op, position: int) -> str | None:
    """Why an operator's step number, the input at `position`, is not supported, or None."""
    step = op.tensor(g, position)
    if step is None or (step.dtype == DType.INT32 and step.size == 1):
        return None
    return f"a step of {step.dtype} {step.shape} is not supported (one int32)"


def power(base: np.float32, exponent: int) -> np.float32:
    """Power by repeated squaring, from the lowest bit of the exponent: a fixed order of float32 operations."""
    result = np.float32(1)
    while exponent:
        result = result * base if exponent & 1 else result
        base, exponent = base * base, exponent >> 1
    return result


def uniform(step: int, count: int) -> Floats:
    """Uniform random numbers in [0, 1), multiples of 2^-24, for elements 0, 1, .. of a step."""
    x = hashed(step, count)
    return (x >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def encoded(values: Floats, largest: int, noise: Floats) -> tuple[Floats, Floats]:
    """Encode values in 8 bits: codes up to `largest` with the values' signs, and a scale per block (largest absolute
    value / largest^2). The magnitude of a code is the square root of |value| / scale, stochastically rounded by `noise`
    so that the decoded value is correct on average. NaN has code 0."""
    blocks = np.zeros((-(-values.size // BLOCK), BLOCK), np.float32)
    blocks.reshape(-1)[: values.size] = values
    scales = np.abs(blocks).max(axis=1) / np.float32(largest * largest)
    q = np.abs(values) / _spread(np.where(scales > 0, scales, np.float32(1)), values.size)
    low = np.floor(np.sqrt(q))
    up = noise < (q - low * low) / (np.float32(2) * low + np.float32(1))
    codes = np.where(np.isnan(q), np.float32(0), np.minimum(low + up, np.float32(largest)))
    return np.copysign(codes, values), scales


def _decoded(codes: Array, scales: Floats) -> Floats:
    real = codes.astype(np.float32)
    return real * np.abs(real) * _spread(scales, codes.size)


def _spread(scales: Floats, size: int) -> Floats:
    """Expand block scales to one scale per element."""
    return repeat(scales, BLOCK)[:size]
