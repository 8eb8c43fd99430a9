"""Budgets that include what is known only after a build: plans and builds a model until it fits all of them.

What a build shows (code size, constants that do not fit in RAM, the error of estimates) is reserved in the next plan. A
reserve only grows, in finitely many steps: constants move to flash once, recomputed activations are at most all of
them, reserved code grows by at least a byte of RAM or `RESERVED` bytes of flash until the budget is gone, and attempts
for a time limit are counted. So the loop ends.

Example: with --flash 60K the first plan leaves 1 KB for code other than kernels, and takes 59 KB. The linked firmware
has 63 KB. The next plan reserves 4 KB, takes smaller kernels, and its firmware has 59.5 KB.
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
"""Minimum growth of the reserve for code in flash, in bytes: with a smaller one the plan might not change."""
Made = TypeVar("Made")


class Replan(NamedTuple):
    """The request for another plan, with a larger reserve and the reason."""

    reserve: Reserve
    why: str


class BuiltBudget(Generic[Made]):
    """A budget that includes what is known only after a build. `Made`: what is planned or built."""

    def measured(self, made: Made) -> Made | Replan:
        """Checks a result: returns it (with measurements), or requests another one with a larger reserve."""
        return made

    def refused(self, error: BudgetError, reserve: Reserve) -> Made | Replan | None:
        """Called if no plan leaves room for a reserve: another request, an earlier result, or None to raise the
        error."""
        return None


def fit(
    attempt: Callable[[Reserve], Made], budgets: Sequence[BuiltBudget[Made]], reserve: Reserve, tell: Say = silent
) -> Made:
    """The first result that all budgets accept. `attempt` plans (and builds) with a reserve; the first is `reserve`.
    `tell` is called with the reason for each further attempt."""
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
    """The budget of RAM for constants (`--place-constants ram`) beside the plan. If they do not all fit, those read
    most are placed there, and the next plan counts wait states of flash."""

    def measured(self, made: Compiled) -> Compiled | Replan:
        room = made.reserve.room(made.settings, made.plan)
        if made.ram_constants > room:
            over = made.ram_constants - room
            reserve = replace(made.reserve, flash_constants=True)
            return Replan(reserve, f"RAM lacks {over:,} bytes for all constants, so that some stay in flash")
        check_budgets(made, code=0)
        return made


class CodeInRam(BuiltBudget[Compiled]):
    """The budget of RAM for code that runs from RAM, beside the plan."""

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
    """The flash budget of code and constants. If a larger reserve does not change the plan, the step is doubled. If
    that plan exceeds its own flash limit already, all flash is reserved: the plan with the least flash decides."""

    before: Plan | None = None
    """The plan of the last attempt."""
    step = RESERVED
    """Minimum growth of the reserve in the next attempt, in bytes."""

    def measured(self, made: Compiled) -> Compiled | Replan:
        code, left = code_size(made), made.plan.goal.flash
        over = code.flash - (made.settings.flash_limit or 0)
        if over <= 0 or not left:
            check_budgets(made, code=code.nbytes, what=code.what, constants=code.constants)
            return made
        unchanged = self._is_unchanged(made.plan)
        self.step = 2 * self.step if unchanged else RESERVED
        more = left if unchanged and flash(step.kernel for step in made.plan.steps) > left else max(over, self.step)
        self.before = made.plan
        reserve = replace(made.reserve, flash_code=made.reserve.flash_code + more)
        return Replan(reserve, f"constants and code exceed the flash budget by {over:,} bytes")

    def _is_unchanged(self, plan: Plan) -> bool:
        """Whether the last attempt had the same plan, for another flash limit."""
        return self.before is not None and replace(plan, goal=self.before.goal) == self.before
