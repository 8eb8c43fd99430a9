"""Budgets that depend on what was built: one loop, whose reserve grows until everything fits or cannot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import mote
from mote.base.errors import BudgetError
from mote.compiler.compiled import Compiled
from mote.compiler.fitting.code_size import CodeSize
from mote.compiler.fitting.fit import BuiltBudget, Replan, fit
from mote.compiler.fitting.reserve import FIRST, Reserve
from mote.compiler.line import compile
from mote.ui.cli import main

DIGITS = Path(__file__).parents[2] / "models" / "digits.tflite"


class NeedsCode(BuiltBudget[int]):
    """Plans that take so much code as there is room for, and a little more."""

    def __init__(self, most: int) -> None:
        self.most = most

    def measured(self, made: int) -> int | Replan:
        return made if made >= self.most else Replan(Reserve(ram_code=made + 100), f"{made} bytes are too few")


class Settles(BuiltBudget[int]):
    """Takes what there was before an error."""

    def refused(self, error: BudgetError, reserve: Reserve) -> int | None:
        return -1 if reserve.ram_code else None


def test_the_reserve_grows_until_it_is_enough() -> None:
    told: list[str] = []
    tried: list[int] = []

    def attempt(reserve: Reserve) -> int:
        tried.append(reserve.ram_code)
        return reserve.ram_code

    assert fit(attempt, [NeedsCode(250)], FIRST, told.append) == 300
    assert tried == [0, 100, 200, 300]
    assert told == ["0 bytes are too few", "100 bytes are too few", "200 bytes are too few"]


def test_an_error_is_raised_or_an_earlier_result_taken() -> None:
    def attempt(reserve: Reserve) -> int:
        if reserve.ram_code >= 200:
            raise BudgetError("no room", where="here", remedy="none")
        return reserve.ram_code

    with pytest.raises(BudgetError, match="no room"):
        fit(attempt, [NeedsCode(250)], FIRST)
    assert fit(attempt, [NeedsCode(250), Settles()], FIRST) == -1


def test_a_reserve_that_does_not_grow_is_a_bug() -> None:
    """The loop would not end."""

    class Repeats(BuiltBudget[int]):
        def measured(self, made: int) -> int | Replan:
            return Replan(FIRST, "once more")

    with pytest.raises(AssertionError, match="only grows"):
        fit(lambda reserve: 0, [Repeats()], FIRST)
    assert not replace(FIRST, ram_code=1, flash_code=0).exceeds(FIRST) and not FIRST.exceeds(FIRST)


@pytest.fixture
def code(monkeypatch: pytest.MonkeyPatch) -> list[Compiled]:
    """Code of 20,000 bytes, 3,000 of them in RAM, and the models that it was built of."""
    built: list[Compiled] = []

    def counted(compiled: Compiled) -> CodeSize:
        built.append(compiled)
        return CodeSize(20_000, compiled.project.constants, ram=3000)

    monkeypatch.setattr("mote.compiler.fitting.fit.code_size", counted)
    return built


def test_the_reason_for_another_plan_is_told(
    code: list[Compiled], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plain = compile(DIGITS, target="cortex-m4", optimize="speed")
    said: list[str] = []
    just = plain.project.constants + 19_900
    within = compile(DIGITS, target="cortex-m4", optimize="speed", flash=just, say=said.append)
    assert within.project.constants + 20_000 <= just and within.plan != plain.plan and not plain.replanned
    assert within.replanned[0] == "constants and code exceed the flash budget by 100 bytes"
    assert f"planning again: {within.replanned[0]}" in said
    assert 1 < len(code) == len(within.replanned) + 1 < 8, "steps double while a larger reserve changes nothing"
    command = ["compile", str(DIGITS), "-t", "cortex-m4", "--optimize", "speed", "--flash", str(just)]
    assert main([*command, "-o", str(tmp_path / "out")]) == 0
    assert f"planned again: {within.replanned[0]}" in capsys.readouterr().out


def test_a_budget_that_no_plan_meets_is_refused_after_a_few_plans(code: list[Compiled]) -> None:
    with pytest.raises(BudgetError, match=r"code 20000\)"):
        mote.compile(DIGITS, target="cortex-m4", flash=22_000)
    assert 1 <= len(code) <= 4


def test_code_in_ram_is_reserved_once_it_was_built(code: list[Compiled]) -> None:
    free = compile(DIGITS, target="rp2040", place_code="ram", optimize="speed")
    tight = compile(DIGITS, target="rp2040", place_code="ram", optimize="speed", ram=free.plan.ram + 2900)
    assert not free.replanned and free.ram_code == 3000 and free.reserve.ram_code == 0
    assert tight.replanned == ("code takes 3,000 bytes of RAM, and 0 were reserved",)
    assert tight.plan.ram + 3000 <= free.plan.ram + 2900 and tight.reserve.ram_code == 3000


def test_settings_hold_what_users_chose_and_nothing_that_was_built(code: list[Compiled]) -> None:
    made = compile(DIGITS, target="rp2040", place_code="ram", ram="24K")
    assert made.settings == replace(mote.Settings(made.settings.target, place_code="ram", ram=24 << 10), name=made.name)
