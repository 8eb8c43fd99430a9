"""The goals of a plan: budgets and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from mote.compiler.kernels import cost
from mote.compiler.kernels.cost import Costs


@dataclass(frozen=True)
class Goal:
    """The memory and time that a plan may take."""

    ram: int | None = None
    """RAM budget in bytes for arena and counters."""
    spend: bool = True
    """Use the RAM budget for speed. Otherwise it is only a capacity, as of a part: the plan is the unconstrained one,
    if that fits."""
    flash: int | None = None
    """Flash budget in bytes for constants and the kernels' code, estimated."""
    most_cost: float | None = None
    """Cost limit of an inference: the plan with the least memory within it is chosen."""
    least: bool = False
    """Minimize RAM."""
    pushed: bool = False
    """The caller pushes the input row by row."""
    outputs_kept: bool = False
    """Outputs are copied out of the arena, and samples of a row are counted: the caller pushes any number of them."""
    small_steps: bool = False
    """No step computes more than one row, where an operator can run by rows."""
    zone: int = 0
    """Bytes of red zone around every buffer."""
    recompute: float = 0.0
    """Percent of the model's work that may be recomputed to save memory."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """Required kernels, by name or family, for layers by name or number."""
    lent: tuple[int, ...] = ()
    """Tensors in the caller's memory: inputs and outputs of a control flow body."""
    costs: Costs = field(default_factory=partial(cost.load, cost.USUAL))
    """The cost table of kernels on the core."""
    cores: int = 1
    """Cores that compute one inference: with two, layers are split where that pays."""
    loads: bool = False
    """Constants may be copied to RAM before a layer reads them, where flash is waited for."""
    barrier: float = 0.0
    """Cost of a barrier between two cores."""


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
