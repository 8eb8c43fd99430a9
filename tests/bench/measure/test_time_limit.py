"""Time limits, held against the emulated core."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mote import compile
from mote.base.errors import BudgetError
from mote.bench.measure import time_limit
from mote.bench.measure.time_limit import MeasuredTime
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile_within
from mote.compiler.settings import make_settings
from mote.ui.cli import main
from tests.helpers.support import emulated

DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"
CORE = "cortex-m4"


def test_size_within_a_time_limit_is_built_like_balanced() -> None:
    free, bound = (compile(DIGITS, target=CORE, optimize="size", cycles=n) for n in (None, 260_000))
    assert free.project.options.optimization.level == "-Os" and free.settings.built_for == "size"
    assert bound.project.options.optimization.level == "-O2" and bound.settings.built_for == "balanced"
    assert free.settings.costs.slower and not bound.settings.costs.slower


def test_a_limit_holds_on_the_emulated_core(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    emulated(CORE)
    given = ["compile", str(DIGITS), "--target", CORE, "--optimize", "size", "--cycles", "260000"]
    assert main([*given, "-o", str(tmp_path / "c")]) == 0
    assert "of it, on the emulated core" in capsys.readouterr().out


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Cores on which everything takes 1.2 times the estimate: the errors of the estimate that plans were made with."""
    tried: list[float] = []

    def measured(compiled: Compiled) -> Compiled:
        tried.append(compiled.reserve.estimate_error)
        return replace(compiled, cycles=round(1.2 * compiled.cost))

    monkeypatch.setattr(time_limit, "_can_run", lambda compiled: True)
    monkeypatch.setattr(time_limit, "_measured", measured)
    return tried


def within(cycles: int | None) -> Compiled:
    return compile_within(DIGITS, make_settings(CORE, cycles=cycles), [MeasuredTime()])


def test_a_low_estimate_is_planned_again(low: list[float]) -> None:
    kept = within(130_000)
    assert kept.cycles is not None and kept.cycles <= 130_000
    assert low[0] == 1.0 and len(low) > 1 and all(x > 1.19 for x in low[1:])


def test_a_limit_that_no_plan_meets_is_refused(low: list[float]) -> None:
    fastest = compile(DIGITS, target=CORE, optimize="speed").cost
    with pytest.raises(BudgetError, match=r"takes [\d,]+ cycles on the emulated core, [\d,]+ \(.*%\) more than"):
        within(round(1.02 * fastest))


def test_without_tools_or_a_limit_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "_can_run", lambda compiled: False)
    for cycles in (None, 130_000):
        assert within(cycles).cycles is None
