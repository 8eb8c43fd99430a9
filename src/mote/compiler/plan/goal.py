"""The goal of a plan: budgets and constraints, and the errors of goals that cannot be met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from mote.compiler.kernels import cost
from mote.compiler.kernels.cost import Costs


@dataclass(frozen=True)
class Goal:
    """The budgets of a plan (RAM, flash, time), and the options that it must obey."""

    ram: int | None = None
    """RAM budget in bytes for arena and counters."""
    spend: bool = True
    """Whether the RAM budget is to be used for speed. Otherwise it is only a capacity, such as that of a part: the
    default plan is taken if it fits."""
    flash: int | None = None
    """Flash budget in bytes for constants and (estimated) code of kernels."""
    most_cost: float | None = None
    """Latency budget of an inference, in the unit of `costs`: the plan with the least RAM within it is chosen."""
    least: bool = False
    """Minimize RAM."""
    pushed: bool = False
    """The caller pushes the input row by row."""
    outputs_kept: bool = False
    """Outputs are copied out of the arena, and the caller may push parts of rows, whose samples are counted."""
    small_steps: bool = False
    """No step computes more than one row, where an operator can run by rows."""
    zone: int = 0
    """Bytes of red zone around every buffer."""
    recompute: float = 0.0
    """Percent of the model's work that may be recomputed to save memory."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """Pinned kernels (name or family) by layer (name or number)."""
    lent: tuple[int, ...] = ()
    """Tensors in the caller's memory: inputs and outputs of a control flow body."""
    costs: Costs = field(default_factory=partial(cost.load, cost.USUAL))
    """The cost table of kernels on the core."""
    cores: int = 1
    """Cores that compute one inference: with two, layers are split where that pays."""
    loads: bool = False
    """Constants may be copied to RAM before a layer reads them, where flash has wait states."""
    barrier: float = 0.0
    """Cost of a barrier between two cores, in the unit of `costs`."""


class DoesNotFitError(Exception):
    """Raised when no plan fits the memory budget."""

    def __init__(self, least: int) -> None:
        super().__init__(f"the least that was found is {least} bytes")
        self.least = least


class TooSlowError(Exception):
    """Raised when no plan is within the time limit."""

    def __init__(self, taken: float) -> None:
        super().__init__(f"the fastest that was found takes {taken:.0f}")
        self.taken = taken
