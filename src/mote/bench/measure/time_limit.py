"""Checks time limits of compiled models on the emulated core."""

from __future__ import annotations

from dataclasses import replace

from mote.base.errors import BudgetError, MoteError
from mote.bench.measure.profiler.costs import profile
from mote.bench.measure.profiler.instructions import cycle_model
from mote.compiler.compiled import Compiled
from mote.compiler.fitting.fit import BuiltBudget, Replan
from mote.compiler.fitting.reserve import Reserve
from mote.hardware import toolchain
from mote.hardware.toolchain.builder import board_of

ROUNDS = 3
"""Maximum number of plans measured for a time limit."""
CLOSE = 1.03
"""Tolerated ratio of measured cycles to the limit if no plan meets it."""


class MeasuredTime(BuiltBudget[Compiled]):
    """Compiler feedback loop for time limits: measures a plan on the emulated core, replans if the estimate was too
    low, and raises an error if no plan meets the limit. Without tools for the core the model is accepted as is."""

    def __init__(self) -> None:
        self.best: Compiled | None = None
        self.rounds = 0

    def measured(self, made: Compiled) -> Compiled | Replan:
        limit = made.settings.cycle_limit
        if limit is None or not _can_run(made):
            return made
        made = _measured(made)
        self.rounds += 1
        self.best = made if self.best is None else min(self.best, made, key=_cycles)
        if _cycles(self.best) <= limit or self.rounds == ROUNDS:
            return _checked(self.best, limit)
        taken = _cycles(made)
        error = max(taken / made.cost, made.reserve.estimate_error * taken / limit)
        reserve = replace(made.reserve, estimate_error=error)
        return Replan(reserve, f"{taken:,} cycles were measured, {taken - limit:,} more than the limit")

    def refused(self, error: BudgetError, reserve: Reserve) -> Compiled | Replan | None:
        limit = None if self.best is None else self.best.settings.cycle_limit
        return None if self.best is None or limit is None else _checked(self.best, limit)


def _checked(best: Compiled, limit: int) -> Compiled:
    """Raises an error for a model clearly above its time limit."""
    if _cycles(best) > CLOSE * limit:
        over = _cycles(best) - limit
        raise BudgetError(
            f"takes {_cycles(best):,} cycles on the emulated core, {over:,} ({over / limit:.1%}) more than the"
            f" {limit:,} that it may take",
            where=f"{best.path} on {best.settings.target.name}",
            remedy="use a faster part, a smaller model, or a larger --latency or --cycles budget",
        )
    return best


def _cycles(compiled: Compiled) -> int:
    assert compiled.cycles is not None
    return compiled.cycles


def _measured(compiled: Compiled) -> Compiled:
    return replace(compiled, cycles=profile(compiled, layers=False).cycles)


def _can_run(compiled: Compiled) -> bool:
    """Whether compiler, emulator and cycle model for the core are available."""
    target = compiled.settings.target
    try:
        toolchain.find_compiler(target)
        toolchain.find_emulator(target)
        board_of(target)
        cycle_model(target)
    except MoteError:
        return False
    return compiled.settings.cores == 1
