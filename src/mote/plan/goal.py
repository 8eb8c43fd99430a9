"""What is asked of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from mote.kernels import cost
from mote.kernels.cost import Costs


@dataclass(frozen=True)
class Goal:
    """What memory a plan may take."""

    ram: int | None = None
    """Bytes for the arena and the counters: no plan may take more."""
    spend: bool = True
    """The fastest plan within these bytes is wanted. Otherwise they are only what there is, as on a part: the plan is
    the one that would be wanted without a limit, if that fits."""
    flash: int | None = None
    """Bytes for constants and for the code of kernels, about."""
    most_cost: float | None = None
    """What an inference may take, in the unit of the costs: of the plans that take no more, the one with the least
    memory is wanted."""
    least: bool = False
    """The smallest plan is wanted."""
    pushed: bool = False
    """The caller hands the input over row by row."""
    small_steps: bool = False
    """No step computes more than one row, where an operator can be run by rows."""
    zone: int = 0
    """Bytes of red zone around every buffer."""
    recompute: float = 0.0
    """How much more of the model's work may be done, in percent, to need less memory."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """Layers, by name or number, and the kernels that they must have, by name or family."""
    lent: tuple[int, ...] = ()
    """Tensors that lie in the caller's memory, each by itself: inputs and outputs of a body of control flow."""
    costs: Costs = field(default_factory=partial(cost.load, cost.USUAL))
    """What kernels take on the core: what fast is measured by."""


class DoesNotFitError(Exception):
    """No plan was found within the budget."""

    def __init__(self, least: int) -> None:
        super().__init__(f"the least that was found is {least} bytes")
        self.least = least


class TooSlowError(Exception):
    """No plan was found that takes no more time."""

    def __init__(self, taken: float) -> None:
        super().__init__(f"the fastest that was found takes {taken:.0f}")
        self.taken = taken
