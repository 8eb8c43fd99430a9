"""Time limits of compiled models, held against the emulated core."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from mote.base.errors import BudgetError, MoteError
from mote.bench.measure.profiler.costs import profile
from mote.bench.measure.profiler.instructions import cycle_model
from mote.compiler.compiled import Compiled
from mote.compiler.settings import Settings
from mote.hardware import toolchain
from mote.hardware.toolchain.builder import board_of

ROUNDS = 3
"""Most plans that are measured for a time limit."""
CLOSE = 1.03
"""How many times the limit a plan may take on the emulated core, where none takes less."""


def within_time(compiled: Compiled, again: Callable[[Settings], Compiled]) -> Compiled:
    """Measures a model with a time limit on the emulated core, and plans it again where its estimate was too low; an
    error where that does not meet the limit. Without tools for the core the model stays as it is."""
    limit = compiled.settings.cycle_limit
    if limit is None or not _can_run(compiled):
        return compiled
    best = measured = _measured(compiled)
    for _ in range(ROUNDS - 1):
        assert measured.cycles is not None and best.cycles is not None
        if best.cycles <= limit:
            return best
        with suppress(BudgetError):
            low = max(measured.cycles / measured.cost, measured.settings.low * measured.cycles / limit)
            measured = _measured(again(replace(measured.settings, low=low)))
            assert measured.cycles is not None
            best = min(best, measured, key=_cycles)
            continue
        break
    if _cycles(best) > CLOSE * limit:
        over = _cycles(best) - limit
        raise BudgetError(
            f"takes {_cycles(best):,} cycles on the emulated core, {over:,} ({over / limit:.1%}) more than the"
            f" {limit:,} that it may take",
            where=f"{compiled.path} on {compiled.settings.target.name}",
            remedy="use a faster part, a smaller model, or a larger --latency or --cycles budget",
        )
    return best


def _cycles(compiled: Compiled) -> int:
    assert compiled.cycles is not None
    return compiled.cycles


def _measured(compiled: Compiled) -> Compiled:
    return replace(compiled, cycles=profile(compiled, layers=False).cycles)


def _can_run(compiled: Compiled) -> bool:
    """Whether there is a compiler and an emulator for the core, and a model of its cycles."""
    target = compiled.settings.target
    try:
        toolchain.find_compiler(target)
        toolchain.find_emulator(target)
        board_of(target)
        cycle_model(target)
    except MoteError:
        return False
    return compiled.settings.cores == 1
