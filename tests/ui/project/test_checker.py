"""`mote check`: what passes, what fails and by how much."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import lock
import mote
import project_page
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import Judge
from mote.ui.cli import main
from mote.ui.cli.commands.check import GITHUB
from mote.ui.project.checker import check_share
from mote.ui.project.result import CheckOutcome, CheckResult
from tests.helpers.support import emulated, needs_litert
from tests.ui.project.test_project_file import project, written

assert project  # a fixture
DIGITS = '[models.digits]\nfile = "models/digits.tflite"\n'
DATA = 'data = "models/digits_test.npz"\nagainst = "models/digits_float.tflite"\n'


@pytest.fixture(autouse=True)
def _not_on_github(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(GITHUB, raising=False)


def by_name(result: CheckResult) -> dict[str, CheckOutcome]:
    return {outcome.check: outcome for outcome in result.outcomes}


@needs_litert
def test_accuracy_and_drop(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the host; what the numbers are is `mote evaluate`'s."""
    told = mote.evaluate("models/digits.tflite", "models/digits_test.npz", against="models/digits_float.tflite")
    assert told.against is not None
    lost = told.against.score.value - told.score.value
    written(project, f"{DIGITS}[models.digits.check]\n{DATA}accuracy = {told.score.value}\ndrop = {lost:.6f}")
    result = mote.check()
    assert result.passed, result.failures
    accuracy, drop = (by_name(result)[key] for key in ("accuracy", "drop"))
    assert (accuracy.measured, accuracy.limit, accuracy.margin) == (told.score.value, told.score.value, 0.0)
    assert drop.measured == pytest.approx(lost)
    assert by_name(result)["verified"].equal == "bit for bit"
    assert not list(project.glob("build*")), "nothing is written"

    written(project, f"{DIGITS}[models.digits.check]\n{DATA}accuracy = 0.9999\nverify = false")
    assert main(["check"]) == 1
    out = capsys.readouterr().out
    assert "FAIL  digits  host    accuracy    98.61%  99.99%  -1.38%" in out
    assert "1 of 2 checks failed" in out and "verified" not in out
    with pytest.raises(MoteError, match="97 is more than top1 can be"):
        check_share(told, 97)


def test_costs_on_a_core(project: Path) -> None:
    """What `mote run` measures, a byte above the limit and just at it."""
    emulated("cortex-m4")
    compiled = mote.compile("models/digits.tflite", target="cortex-m4", name="digits")
    ran = mote.run(compiled, layers=False)
    costs = {"ram": ran.ram.total, "stack": ran.ram.stack, "flash": ran.flash.total}
    less = {"ram": 0, "stack": 1, "flash": 1}
    limits = "\n".join(f"{key} = {value - less[key]}" for key, value in costs.items() if value)
    written(project, f'{DIGITS}target = "cortex-m4"\n[models.digits.check]\nverify = false\n{limits}')
    result = mote.check()
    outcomes = by_name(result)
    assert {key: outcomes[key].measured for key in costs} == costs
    assert {key: outcomes[key].margin for key in costs} == {key: -more for key, more in less.items()}
    assert [key for key in costs if not outcomes[key].passed] == ["stack", "flash"]
    assert result.json()["passed"] is False


@pytest.mark.slow
def test_cycles_time_and_energy(project: Path) -> None:
    """What `mote profile` measures on a part."""
    emulated("stm32l4r5")
    told = mote.profile("models/digits.tflite", target="stm32l4r5", layers=False)
    assert told.seconds is not None and told.energy is not None
    limits = f'cycles = {told.cycles}\nlatency = "{told.seconds * 1e6 + 1:.0f}us"\nenergy = "1nJ"\nverify = false'
    written(project, f'{DIGITS}target = "stm32l4r5"\n[models.digits.check]\n{limits}')
    outcomes = by_name(mote.check())
    assert [key for key, outcome in outcomes.items() if not outcome.passed] == ["energy"]
    assert (outcomes["cycles"].measured, outcomes["latency"].measured) == (told.cycles, told.seconds)
    assert outcomes["energy"].measured == pytest.approx(told.energy.microjoules * 1e-6)


def test_what_cannot_be_measured_fails(project: Path) -> None:
    """The host has no flash, no stack that is measured, no cycles; a core has no clock."""
    limits = "\n".join(f"{key} = 1_000_000" for key in ("ram", "flash", "stack", "instructions", "cycles", "arena"))
    written(project, f'{DIGITS}[models.digits.check]\nverify = false\nenergy = "1J"\n{limits}')
    outcomes = by_name(mote.check())
    assert [key for key, outcome in outcomes.items() if outcome.passed] == ["compiles", "arena"]
    assert outcomes["ram"].detail == "not measured: the host is no microcontroller"
    assert outcomes["cycles"].detail and outcomes["energy"].limit == 1.0


@pytest.mark.slow
def test_an_image(project: Path) -> None:
    """It is measured in the runtime, and compared with the model that it was packed from."""
    written(project, f'{DIGITS}output = "image"\n[models.digits.check]\narena = 1')
    outcomes = by_name(mote.check())
    assert outcomes["verified"].passed and not outcomes["arena"].passed
    assert not (project / "build").exists()


def test_a_model_that_does_not_compile_fails_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Others are checked; the reason and the remedy are printed."""
    absent = '[models.absent]\nfile = "absent.tflite"\nquantize = "int8"\n'
    tight = '[models.tight]\nfile = "models/digits.tflite"\nram = 100\n'
    written(project, f'{DIGITS}ram = "4K"\n{absent}{tight}[defaults.check]\nverify = 1')
    assert main(["check", "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert [(x["model"], x["check"], x["passed"]) for x in result["checks"]] == [
        ("digits", "compiles", True),
        ("digits", "verified", True),
        ("absent", "compiles", False),
        ("tight", "compiles", False),
    ]
    assert result["checks"][0]["detail"] == "within ram 4K"
    assert "bytes of RAM" in result["checks"][3]["detail"] and result["checks"][3]["remedy"]
    assert main(["check", "digits"]) == 0
    assert "2 checks passed" in capsys.readouterr().out


def test_a_wrong_model_is_not_verified(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mismatch fails the check, and a limit on accuracy does not hide it."""
    written(project, f"{DIGITS}check.verify = 2")
    compare = Judge.compare

    def off_by_one(self, tensor, number, op, case, got, want, *rest):  # type: ignore[no-untyped-def]
        compare(self, tensor, number, op, case, got, np.asarray(want) + 1, *rest)

    monkeypatch.setattr(Judge, "compare", off_by_one)
    (failure,) = mote.check().failures
    assert failure.check == "verified" and "mismatches, largest difference" in failure.detail
    assert failure.equal == "18 differ"


OUTCOMES = (
    CheckOutcome("a", "cortex-m4", "ram", False, 9000, 8192, unit="bytes"),
    CheckOutcome("b<", "host", "compiles", False, detail='needs 5%\n"more", <less>', remedy="use: another"),
    CheckOutcome("a", "cortex-m4", "verified", True),
)


def test_junit() -> None:
    suite = ElementTree.fromstring(CheckResult("mote.toml", OUTCOMES).junit())
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuite", "3", "2")
    first, second, third = suite
    assert (first.get("classname"), first.get("name")) == ("a.cortex-m4", "ram")
    assert first[0].get("message") == "9000 bytes is more than the limit of 8192"
    assert second[0].text == "use: another"
    assert len(third) == 0


def test_github(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Failures point at the table of their model; characters that end a command are escaped."""
    written(project, "[defaults]\n[models.a]\n[models.a.check]\n")
    first, second = CheckResult("mote.toml", OUTCOMES).github_commands()
    assert first == (
        "::error file=mote.toml,line=2,title=a on cortex-m4%3A ram::9000 bytes is more than the limit of 8192"
    )
    assert second.endswith('::needs 5%25%0A"more", <less>')
    monkeypatch.setenv(GITHUB, "true")
    written(project, f"{DIGITS}[models.digits.check]\nverify = false\narena = 5")
    assert main(["check", "--junit", "report.xml"]) == 1
    assert "::error file=mote.toml,line=1,title=digits on host%3A arena::" in capsys.readouterr().out
    assert ElementTree.parse(project / "report.xml").getroot().get("failures") == "1"


def test_values_read_well() -> None:
    def shown(measured: float, limit: float, unit: str, better: str = "lower") -> tuple[str, str]:
        outcome = CheckOutcome("m", "t", "c", True, measured, limit, better, unit)
        return outcome.shown(measured), outcome.margin_shown

    assert shown(900, 1000, "bytes") == ("900 B", "+10.0%")
    assert shown(0.0123456, 0.01, "s") == ("12.35 ms", "-23.5%")
    assert shown(33.1e-6, 1e-4, "J") == ("33.1 µJ", "+66.9%")
    assert shown(0.98, 0.97, "top1", "higher") == ("98.00%", "+1.00%")
    assert shown(0.5, 0.25, "rmse") == ("0.5", "-0.25")
    assert shown(1234567, 2000000, "") == ("1,234,567", "+38.3%")


@pytest.mark.slow
@needs_litert
def test_the_page_quotes_what_check_prints(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the project file that the page begins with."""
    emulated("cortex-m4")
    if lock.compiler("cortex-m4") != lock.load()["compilers"]["cortex-m4"]:
        pytest.skip("the numbers in docs are those of another compiler")
    page = project_page.PAGE.path.read_text(encoding="utf-8")
    written(project, page.split("```toml\n")[1].split("```")[0])
    assert main(["check"]) == 0
    assert f"```\n{capsys.readouterr().out}```" in page
