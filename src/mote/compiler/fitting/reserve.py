"""The memory that a plan leaves for code and constants, whose sizes are known only after a build."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from mote.compiler.emit.c.options import CONSTANTS
from mote.compiler.kernels.cost import Costs
from mote.compiler.plan.plan import Plan
from mote.compiler.settings import PlanOptions
from mote.hardware.targets import Target

STACK = 4096
"""Bytes of a part's RAM that are left to the stack if constants are placed in RAM."""
OWN_CODE = 1 << 10
"""Bytes of a flash budget that the first plan reserves for code other than kernels."""
USUAL_CODE = 4 << 10
"""Bytes of a part's flash reserved for code other than kernels if there is no flash budget; checked after the build."""


@dataclass(frozen=True)
class Reserve:
    """What a plan leaves room for, as earlier builds and runs have shown: code, constants, the error of estimates."""

    flash_code: int = OWN_CODE
    """Bytes of a flash budget reserved for code other than kernels."""
    ram_code: int = 0
    """Bytes of RAM for code that runs from RAM."""
    flash_constants: bool = False
    """Whether constants that options place in RAM do not all fit, so that kernels read some from flash."""
    estimate_error: float = 1.0
    """Factor on estimated cycles under a time limit, raised by measurements."""
    recomputed: int = 0
    """Number of activations that a training step recomputes instead of keeping them."""

    def exceeds(self, other: Reserve) -> bool:
        """Whether this reserve differs from another one, and is nowhere smaller."""
        return self != other and all(a >= b for a, b in zip(astuple(self), astuple(other), strict=True))

    def ram_limit(self, options: PlanOptions) -> int | None:
        """The RAM limit of the plan itself, in bytes; None: no limit."""
        limit = options.ram_limit
        return limit if limit is None else max(limit - beside(options.target, self.ram_code), 0)

    def flash_limit(self, options: PlanOptions) -> int | None:
        """The flash limit of the plan's constants and kernels, in bytes; None: no limit."""
        limit = 0 if options.least_flash else options.flash_limit
        code = self.flash_code if options.flash is not None else USUAL_CODE
        return limit if limit is None else max(limit - code, 0)

    def costs(self, options: PlanOptions) -> Costs:
        """The cost table of kernels on the target, with constants in RAM or in flash."""
        return options.costs_of(in_ram=options.place_constants == "ram" and not self.flash_constants)

    def room(self, options: PlanOptions, plan: Plan) -> int:
        """Bytes of RAM left for constants beside a plan: of the budget, or of the part's RAM without the stack."""
        own = options.target.ram
        limits = [limit for limit in (options.ram, None if own is None else own - STACK) if limit is not None]
        return max(min(limits) - beside(options.target, self.ram_code) - plan.ram, 0) if limits else CONSTANTS.size


FIRST = Reserve()
"""The reserve of the first plan, before anything was built."""


def beside(target: Target, code: int) -> int:
    """Bytes of code in the RAM that the plan shares: 0 if code in RAM has its own memory."""
    rams = target.code_rams
    return code if not rams or "data" in rams[0].holds else 0
