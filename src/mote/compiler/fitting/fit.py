"""Budgets that depend on what was built: a model is planned and built until everything holds what it takes.

What is known afterwards (the size of code, constants that RAM does not hold, the error of estimates) is reserved for
the next plan. A reserve only grows, and each growth is a finite step towards a limit: constants move to flash once,
activations that are computed again are counted up to all of them, reserved code gains at least a byte of RAM or
`RESERVED` bytes of flash until the budget is gone, and plans for a time limit are counted. So the loop ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from mote.base.errors import BudgetError
from mote.base.progress import Say, silent
from mote.compiler.checks.budgets import check_budgets
from mote.compiler.compiled import Compiled
from mote.compiler.fitting.code_size import code_size
from mote.compiler.fitting.reserve import Reserve
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.selection.code_size_model import flash

RESERVED = 512
"""Bytes of flash at least that are reserved for more code than expected, as another plan may be the same else."""
Made = TypeVar("Made")


class Replan(NamedTuple):
    """The request for another plan."""

    reserve: Reserve
    why: str


class BuiltBudget(Generic[Made]):
    """A budget that depends on what was built."""

    def measured(self, made: Made) -> Made | Replan:
        """The result with what was measured of it, or a larger reserve for another one."""
        return made

    def refused(self, error: BudgetError, reserve: Reserve) -> Made | Replan | None:
        """The answer where no plan leaves this reserve: another one, an earlier result, or None for the error."""
        return None


def fit(
    attempt: Callable[[Reserve], Made],
    budgets: Sequence[BuiltBudget[Made]],
    reserve: Reserve,
    tell: Say = silent,
) -> Made:
    """The first result that all budgets accept, from a reserve on. `tell` is called with the reason for each other plan
    than the first."""
    while True:
        outcome: Made | Replan | None
        try:
            outcome = _measured(attempt(reserve), budgets)
        except BudgetError as error:
            outcome = next((one for budget in budgets if (one := budget.refused(error, reserve)) is not None), None)
            if outcome is None:
                raise
        if not isinstance(outcome, Replan):
            return outcome
        assert outcome.reserve.exceeds(reserve), "a reserve only grows"
        reserve = outcome.reserve
        tell(outcome.why)


def _measured(made: Made, budgets: Sequence[BuiltBudget[Made]]) -> Made | Replan:
    for budget in budgets:
        outcome = budget.measured(made)
        if isinstance(outcome, Replan):
            return outcome
        made = outcome
    return made


class PlacedConstants(BuiltBudget[Compiled]):
    """Constants in RAM beside a plan: where it does not hold all of them, those that are read most are in RAM all the
    same, and the plan counts reads of flash."""

    def measured(self, made: Compiled) -> Compiled | Replan:
        room = made.reserve.room(made.settings, made.plan)
        if made.ram_constants > room:
            over = made.ram_constants - room
            reserve = replace(made.reserve, flash_constants=True)
            return Replan(reserve, f"RAM lacks {over:,} bytes for all constants, so that some stay in flash")
        check_budgets(made, code=0)
        return made


class CodeInRam(BuiltBudget[Compiled]):
    """Code in RAM beside a plan. Plans in less RAM may have more code."""

    def measured(self, made: Compiled) -> Compiled | Replan:
        known, code = made.reserve.ram_code, code_size(made).ram
        built = replace(made, ram_code=code)
        try:
            check_budgets(built, code=0)
        except BudgetError:
            if code <= known or not built.ram_beside:
                raise
            why = f"code takes {code:,} bytes of RAM, and {known:,} were reserved"
            return Replan(replace(made.reserve, ram_code=code), why)
        return built


class CodeInFlash(BuiltBudget[Compiled]):
    """Code and constants within a flash budget. As long as more reserved code changes nothing, twice as much is added.
    Where such a plan exceeds its own budget already, a plan for no flash at all decides: it has the least."""

    before: Plan | None = None
    step = RESERVED

    def measured(self, made: Compiled) -> Compiled | Replan:
        code, left = code_size(made), made.plan.goal.flash
        over = made.project.constants + code.nbytes - (made.settings.flash_limit or 0)
        if over <= 0 or not left:
            check_budgets(made, code=code.nbytes, what=code.what)
            return made
        unchanged = self._is_unchanged(made.plan)
        self.step = 2 * self.step if unchanged else RESERVED
        more = left if unchanged and flash(step.kernel for step in made.plan.steps) > left else max(over, self.step)
        self.before = made.plan
        reserve = replace(made.reserve, flash_code=made.reserve.flash_code + more)
        return Replan(reserve, f"constants and code exceed the flash budget by {over:,} bytes")

    def _is_unchanged(self, plan: Plan) -> bool:
        """Whether the plan before was the same, for another budget."""
        return self.before is not None and replace(plan, goal=self.before.goal) == self.before
