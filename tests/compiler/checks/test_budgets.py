"""Budgets hold or the run fails: a budget of flash counts the code, with and without a compiler at hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import mote
from mote.base.errors import BudgetError, MoteError
from mote.base.files import temporary_folder
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.fitting.code_size import CodeSize, code_size
from mote.compiler.line import compile
from mote.hardware import toolchain
from mote.hardware.toolchain import Mode
from mote.hardware.toolchain.elf import flash_parts
from mote.ui.cli import main
from tests.helpers.support import emulated

MODELS = Path(__file__).parents[3] / "models"
DIGITS = str(MODELS / "digits.tflite")
CORE = "cortex-m4"


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise MoteError("no C compiler for target 'cortex-m4' was found", remedy="apt install one")

    monkeypatch.setattr(toolchain, "find_compiler", missing)


def needed(target: str) -> tuple[int, int]:
    """Bytes of constants and of code."""
    code = code_size(compile(DIGITS, target=target))
    return code.constants, code.nbytes


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("model", "core"),
    [("digits", "cortex-m4"), ("keywords", "cortex-m55"), ("digits", "cortex-m0plus"), ("digits", "rv32imc")],
)
def test_flash_is_what_the_linker_says(
    model: str, core: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The parameters of kernel calls and constants of the C library are in it."""
    target, file = emulated(core), str(MODELS / f"{model}.tflite")
    assert main(["compile", file, "-t", target, "-o", str(tmp_path / "out"), "--json"]) == 0
    stated = json.loads(capsys.readouterr().out)["flash"]
    compiled = compile(file, target=target)
    with temporary_folder() as folder, bench(compiled, folder) as on:
        parts = flash_parts(on.elf(Mode.MEASURE), compiled.settings.target)
    assert stated["constants"] == sum(part.nbytes for part in parts if not part.is_code) > compiled.project.constants
    assert stated["code"] == sum(part.nbytes for part in parts if part.is_code)


def test_a_flash_budget_of_constant_arrays_and_code_holds() -> None:
    """It is too small for the parameters of kernel calls: another plan must do."""
    plain = compile(DIGITS, target=emulated(CORE))
    code = code_size(plain)
    budget = plain.project.constants + code.nbytes
    assert budget < code.flash
    within = code_size(compile(DIGITS, target=CORE, flash=budget))
    assert within.flash <= budget


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", [CORE, "cortex-m0plus"])
@pytest.mark.parametrize("model", ["digits", "keywords"])
def test_the_estimate_is_on_the_safe_side(model: str, core: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile(MODELS / f"{model}.tflite", target=emulated(core))
    measured = code_size(compiled)
    monkeypatch.setattr(toolchain, "find_compiler", lambda target: (_ for _ in ()).throw(MoteError("none")))
    estimate = code_size(compiled)
    assert not measured.estimated and estimate.estimated == "none"
    assert 1.2 * measured.nbytes < estimate.nbytes < 4 * measured.nbytes


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", [CORE, "host"])
@pytest.mark.parametrize("command", ["compile", "plan", "explore"])
@pytest.mark.usefixtures("no_compiler")
def test_flash_without_a_compiler(
    command: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Constants alone would fit."""
    constants, code = needed(target)
    options = {"compile": ["-o", str(tmp_path / "out")], "explore": ["--points", "1"]}.get(command, [])
    given = [command, DIGITS, "-t", target, *options, "--flash", str(constants + code // 2)]
    assert main(given) == 1
    assert "code, by an estimate on the safe side" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("no_compiler")
def test_an_estimate_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    constants, code = needed(CORE)
    given = ["compile", DIGITS, "-t", CORE, "-o", str(tmp_path / "out"), "--flash", str(constants + code)]
    assert main(given) == 0
    said = f"code at most {code:,} bytes by an estimate, since no C compiler for target 'cortex-m4' was found"
    assert said in capsys.readouterr().out
    assert main([*given, "--json"]) == 0
    flash = json.loads(capsys.readouterr().out)["flash"]
    assert flash["code"] is None and flash["code_estimate"]["bytes"] == code


@pytest.mark.slow
def test_flash_in_python() -> None:
    constants, code = needed(emulated(CORE))
    found = mote.compile(DIGITS, target=CORE, flash=constants + code)
    assert code_size(found).flash <= constants + code
    with pytest.raises(BudgetError, match=r"constants \d+ \+ code \d+\)"):
        mote.compile(DIGITS, target=CORE, flash=constants + code // 2)


@pytest.mark.slow
def test_time_in_python() -> None:
    fastest = mote.compile(DIGITS, target=CORE, optimize="speed").cost
    found = mote.compile(DIGITS, target=CORE, cycles=2 * fastest)
    assert found.cost <= 2 * fastest
    with pytest.raises(
        BudgetError, match=r"takes about [\d,]+ cycles at least, by the estimate, [\d,]+ \(.*%\) more than"
    ):
        mote.compile(DIGITS, target=CORE, cycles=fastest // 2)
    part = mote.compile(DIGITS, target="nrf52840", latency="5ms")
    assert part.settings.cycle_limit == 320_000 and part.cost <= 320_000
    with pytest.raises(BudgetError, match="within the budget of RAM or flash"):
        mote.compile(DIGITS, target=CORE, cycles=fastest + fastest // 10, ram=found.plan.ram)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"latency": "20ms"}, "has no clock(.|\n)*--cycles"),
        ({"latency": "20"}, "'20' is not a time(.|\n)*20ms"),
        ({"latency": "1ms", "cycles": 1}, "give one of them"),
        ({"cycles": 0}, "give 1 or more cycles"),
        ({"cycles": 9, "ram": "min"}, "omit --ram min"),
        ({"cycles": 9, "point": "least"}, "a point is one plan"),
    ],
)
def test_times_that_mean_nothing(options: dict[str, object], says: str) -> None:
    with pytest.raises(MoteError, match=says):
        mote.compile(DIGITS, target=CORE, **options)


def test_time_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["compile", DIGITS, "-t", "nrf52840", "--latency", "5ms", "-o", str(tmp_path / "out")]
    assert main(given) == 0
    assert "budget: 320,000 cycles = 5 ms at 64 MHz, " in capsys.readouterr().out
    assert main([*given[:-3], "1us", "-o", str(tmp_path / "other")]) == 1
    assert "more than the 64 that it may take" in capsys.readouterr().err


def test_a_flash_budget_that_is_just_enough_costs_nothing() -> None:
    """The code is measured: nothing is held back for more than there is."""
    plain = compile(DIGITS, target=CORE)
    just = code_size(plain).flash
    within = compile(DIGITS, target=CORE, flash=just)
    assert [step.kernel.name for step in within.plan.steps] == [step.kernel.name for step in plain.plan.steps]


@pytest.mark.slow
def test_a_plan_whose_code_is_larger_than_expected_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = compile(DIGITS, target=CORE, optimize="speed")
    just = code_size(plain).flash

    def larger(compiled: Compiled) -> CodeSize:
        code = code_size(compiled)
        return replace(code, nbytes=code.nbytes + 2000)

    monkeypatch.setattr("mote.compiler.fitting.fit.code_size", larger)
    within = compile(DIGITS, target=CORE, optimize="speed", flash=just)
    assert larger(within).flash <= just
    assert within.reserve.flash_code > plain.reserve.flash_code
