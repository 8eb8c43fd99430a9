"""The room that a plan leaves for code and constants, whose sizes are known once they were built."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from mote.compiler.emit.c.options import CONSTANTS
from mote.compiler.kernels.cost import Costs
from mote.compiler.plan.plan import Plan
from mote.compiler.settings import PlanOptions
from mote.hardware.targets import Target

STACK = 4096
"""Bytes of a part's RAM that constants leave to the stack."""
OWN_CODE = 1 << 10
"""Bytes of a flash budget reserved for code other than kernels, until it was built."""
USUAL_CODE = 4 << 10
"""Bytes of a part's flash reserved for code other than kernels where there is no budget; the size is checked later."""


@dataclass(frozen=True)
class Reserve:
    """Reserved memory and time: what building and running a plan has shown that it takes."""

    flash_code: int = OWN_CODE
    """Bytes of a flash budget for code other than kernels."""
    ram_code: int = 0
    """Bytes of RAM for code."""
    flash_constants: bool = False
    """Whether RAM does not hold all constants that options place there, so that kernels read some from flash."""
    estimate_error: float = 1.0
    """Cycles of a plan by its estimate."""
    recomputed: int = 0
    """Activations that a step of training computes again instead of keeping them."""

    def exceeds(self, other: Reserve) -> bool:
        """Whether it is another reserve that leaves at least as much room for everything."""
        return self != other and all(a >= b for a, b in zip(astuple(self), astuple(other), strict=True))

    def ram_limit(self, options: PlanOptions) -> int | None:
        """The RAM limit of a plan."""
        limit = options.ram_limit
        return limit if limit is None else max(limit - beside(options.target, self.ram_code), 0)

    def flash_limit(self, options: PlanOptions) -> int | None:
        """The flash limit of the constants and kernels of a plan."""
        limit = 0 if options.least_flash else options.flash_limit
        code = self.flash_code if options.flash is not None else USUAL_CODE
        return limit if limit is None else max(limit - code, 0)

    def costs(self, options: PlanOptions) -> Costs:
        """The cost table of kernels on the target."""
        return options.costs_of(in_ram=options.place_constants == "ram" and not self.flash_constants)

    def room(self, options: PlanOptions, plan: Plan) -> int:
        """Bytes of RAM for constants beside a plan: of the budget, or of what the part has beside a stack."""
        own = options.target.ram
        limits = [limit for limit in (options.ram, None if own is None else own - STACK) if limit is not None]
        return max(min(limits) - beside(options.target, self.ram_code) - plan.ram, 0) if limits else CONSTANTS.size


FIRST = Reserve()
"""The reserve of the first plan, before anything was built."""


def beside(target: Target, code: int) -> int:
    """Bytes of code in the RAM that a plan shares with it: 0 where code has a memory of its own."""
    rams = target.code_rams
    return code if not rams or "data" in rams[0].holds else 0
