"""Optimizers: their settings, and the operators and states that update a tensor by its gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.base.errors import MoteError
from mote.compiler.passes.training.tape import Tape
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.control.state import Assign
from mote.ir.ops.elementwise.arithmetic import Add
from mote.ir.ops.training.optimizers import AccumulateGradient, AdamStep, OptimizerStep, SgdStep, moment_types


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """Settings of all optimizers. A subclass says which operator makes a step, with which states."""

    learning_rate: float
    weight_decay: float = 0.0
    accumulate: int = 1
    """Number of inferences per step, which uses their mean gradient."""

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate < np.inf or not 0 <= self.weight_decay < np.inf or self.accumulate < 1:
            raise MoteError(
                f"a learning rate of {self.learning_rate:g} with a weight decay of {self.weight_decay:g}, "
                f"accumulated over {self.accumulate} inferences, cannot learn",
                where="optimizer",
                remedy="choose a learning rate above 0, a weight decay of 0 or more, and 1 inference or more",
            )

    @property
    def counts(self) -> bool:
        """Whether the optimizer needs the number of the step."""
        return self.accumulate > 1

    def moments(self, size: int, shape: tuple[int, ...]) -> list[tuple[DType, tuple[int, ...]]]:
        """The types and shapes of the optimizer's states for a tensor of this size and shape."""
        return []

    def operator(self) -> tuple[type[OptimizerStep], dict[str, float]]:
        """The class of the operator that makes a step, and its own attributes."""
        raise NotImplementedError

    def update(self, t: Tape, weights: int, gradient: int, rate: int, step: int) -> None:
        """Adds the operators and states that update weights by their gradient. `rate`: the tensor with the learning
        rate; `step`: the tensor with the number of the step, or ABSENT."""
        initial = t.learns(weights)
        if self.accumulate > 1:
            gradient = self._accumulated(t, gradient, step)
        kinds = self.moments(initial.size, initial.shape)
        moments = [t.tensor("moment", shape, dtype) for dtype, shape in kinds]
        kind, attributes = self.operator()
        common = {"weight_decay": self.weight_decay, "every": self.accumulate}
        after = t.add(kind, [weights, gradient, rate, step, *moments], "update", **common, **attributes)
        t.state(weights, after[0], initial, StateRole.LEARNED)
        for before, made, (dtype, shape) in zip(moments, after[1:], kinds, strict=True):
            t.state(before, made, np.zeros(shape, dtype.numpy), StateRole.OPTIMIZER)

    def _accumulated(self, t: Tape, gradient: int, step: int) -> int:
        shape = t.shape(gradient)
        before = t.tensor("gradient_total", shape)
        after = t.one(AccumulateGradient, [before, gradient, step], "accumulate", every=self.accumulate)
        t.state(before, after, np.zeros(shape, np.float32), StateRole.OPTIMIZER)
        return after


@dataclass(frozen=True, kw_only=True)
class Sgd(Optimizer):
    """Stochastic gradient descent, with momentum if it is above 0."""

    momentum: float = 0.0

    def moments(self, size: int, shape: tuple[int, ...]) -> list[tuple[DType, tuple[int, ...]]]:
        return [(DType.FLOAT32, shape)] if self.momentum else []

    def operator(self) -> tuple[type[OptimizerStep], dict[str, float]]:
        return SgdStep, {"momentum": self.momentum}


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    """AdamW with 8-bit moments: 2 bytes per weight, and 8 per block of 64 weights."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    @property
    def counts(self) -> bool:
        return True

    def moments(self, size: int, shape: tuple[int, ...]) -> list[tuple[DType, tuple[int, ...]]]:
        return moment_types(size)

    def operator(self) -> tuple[type[OptimizerStep], dict[str, float]]:
        return AdamStep, {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}


def counted(t: Tape, step: int) -> None:
    """Increments the number of the step, after all readers."""
    one = t.tensor("one", (1,), DType.INT32, np.ones(1, np.int32))
    after = t.one(Add, [step, one], "count")
    t.state(step, t.one(Assign, [step, after], "step"), np.zeros(1, np.int32), StateRole.OPTIMIZER)
