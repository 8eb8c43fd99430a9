"""A kernel whose costs nobody has measured on a core: other kernels are planned as before, and a warning names it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.compiler.compiled import Compiled
from mote.compiler.kernels import catalogue, cost
from mote.compiler.line import compile
from mote.ir.ops.matrix.fully_connected import FullyConnected

DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"
COMMAND = "benchmarks/fit_costs.py --core cortex-m4 --only planted --update"


def steps(compiled: Compiled) -> list[str]:
    return [step.kernel.name for step in compiled.plan.steps]


@pytest.fixture
def others() -> list[str]:
    """The kernels of the plan without the planted one."""
    return steps(compile(DIGITS, target="cortex-m4"))


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that would beat all others, in none of the tables of costs."""
    usual = next(k for k in catalogue.KERNELS if k.computes == (FullyConnected,) and k.isa == {"dsp"})
    monkeypatch.setattr(catalogue, "KERNELS", [replace(usual, name="planted", costs=""), *catalogue.KERNELS])
    monkeypatch.setattr("mote.compiler.plan.planner.KERNELS", catalogue.KERNELS)


def test_it_is_not_considered(others: list[str], planted: None) -> None:
    compiled = compile(DIGITS, target="cortex-m4")
    assert steps(compiled) == others
    (warning,) = compiled.warnings
    assert "'planted' is not considered" in warning and COMMAND in warning


def test_it_is_an_error_where_there_is_no_other(planted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [k for k in catalogue.KERNELS if k.computes != (FullyConnected,) or k.name == "planted"]
    monkeypatch.setattr(catalogue, "KERNELS", alone)
    with pytest.raises(MoteError, match="nothing for kernels of the family 'planted'") as error:
        compile(DIGITS, target="cortex-m4")
    assert COMMAND in error.value.remedy


def test_a_table_of_a_user_has_all(tmp_path: Path) -> None:
    """Nobody would look for a kernel that a table of one's own lacks."""
    text = Path(str(cost.TABLES / "cortex-m4.json")).read_text(encoding="utf-8")
    (tmp_path / "mine.json").write_text(text.replace('"fully_connected', '"other'), encoding="utf-8")
    (tmp_path / "board.toml").write_text('extends = "cortex-m4"\ncosts = "mine.json"\n', encoding="utf-8")
    with pytest.raises(MoteError, match="nothing for kernels of the family"):
        compile(DIGITS, target=str(tmp_path / "board.toml"))
