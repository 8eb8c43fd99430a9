"""Budgets of RAM that do not hold all activations that gradients read: some are computed again."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote import frontends
from mote.base.errors import RamError
from mote.compiler.fitting.code_size import CodeSize
from mote.compiler.line import compile_graph, planned
from mote.compiler.packer import pack
from mote.compiler.plan.plan import Plan
from mote.compiler.settings import make_settings

FILE = Path(__file__).parents[3] / "models" / "digits_float.tflite"
TRAIN, MODEL = "0:rate=0.02", frontends.load(FILE)


def least(count: int) -> int:
    """The RAM that plans need at least where so many activations are computed again."""
    return planned(MODEL, make_settings("cortex-m4", train=f"{TRAIN},recompute={count}", ram="min")).ram


def within(ram: int, train: str = TRAIN) -> Plan:
    return planned(MODEL, make_settings("cortex-m4", train=train, ram=ram))


def test_the_fewest_that_fit_are_computed_again() -> None:
    one, two, three = least(1), least(2), least(3)
    assert three < two < one
    for ram, count in ((one, 1), (one - 1, 2), (two - 1, 3)):
        compiled = compile_graph(MODEL, make_settings("cortex-m4", train=TRAIN, ram=ram))
        assert str(compiled.settings.train) == f"{TRAIN},recompute={count}" and compiled.plan.ram <= ram


def test_nothing_is_computed_again_without_need() -> None:
    usual = planned(MODEL, make_settings("cortex-m4", train=TRAIN))
    compiled = compile_graph(MODEL, make_settings("cortex-m4", train=TRAIN, ram=usual.ram))
    assert str(compiled.settings.train) == TRAIN


def test_code_in_ram_leaves_less_for_activations(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much less is known once it is built."""
    monkeypatch.setattr("mote.compiler.fitting.fit.code_size", lambda _: CodeSize(0, 0, ram=8000))
    compiled = compile_graph(MODEL, make_settings("rp2040", train=TRAIN, place_code="ram", ram=24000))
    assert str(compiled.settings.train) == f"{TRAIN},recompute=1" and compiled.plan.ram + 8000 <= 24000


def test_a_number_that_is_stated_is_kept() -> None:
    """Within what two need, fewer do not fit."""
    two = least(2)
    assert within(two).ram <= two
    for count in (0, 1):
        with pytest.raises(RamError):
            within(two, f"{TRAIN},recompute={count}")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("ram", [500, 8000])
def test_a_budget_that_nothing_fits(ram: int) -> None:
    """The error has what any plan needs, and does not advise what was tried; far below that none is tried."""
    said: list[str] = []
    with pytest.raises(RamError) as error:
        planned(MODEL, make_settings("cortex-m4", train=TRAIN, ram=ram), say=said.append)
    assert ram < error.value.least <= least(3) and "at least" in error.value.reason and error.value.remedy
    assert "recompute=" not in error.value.remedy
    assert any("recompute=" in line for line in said) == (ram > 500)


@pytest.mark.parametrize(("train", "advised"), [("0", True), ("0:recompute=0", True), ("", False)])
def test_the_remedy_where_nothing_is_tried(train: str, advised: bool) -> None:
    """As for images, and for a number that is stated."""
    with pytest.raises(RamError) as error:
        pack(FILE, target="cortex-m4", train=train, ram=500)
    assert ("--train ...:recompute=N" in error.value.remedy) == advised
