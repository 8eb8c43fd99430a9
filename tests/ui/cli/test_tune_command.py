"""`mote tune`: the table, JSON, the file of pins that other commands take, and a signal in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mote.ui.cli.commands.tune as command
from mote.base.stopping import StoppedError
from mote.compiler.line import compile
from mote.optimize.tune.trials import ram_of
from mote.optimize.tune.tune import tune
from tests.helpers.support import emulated
from tests.optimize.tune.counting import SMALL, Counted
from tests.ui.cli.test_cli import mote


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "small.tflite").write_bytes(SMALL)
    return str(tmp_path / "small.tflite")


@pytest.mark.slow
def test_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path, model: str) -> None:
    """Every layer's cycles are those that `mote profile` counts with the pins."""
    emulated("cortex-m4")
    pins = str(tmp_path / "pins.toml")
    options = ("--target", "cortex-m4", "--trials", "2", "--costs", str(tmp_path / "costs"))
    status, out, _ = mote(capsys, "tune", model, *options, "-o", pins, "--json")
    result = json.loads(out)
    assert status == 0 and "bit-exact" in result["verified"] and result["trials"] == 2
    assert result["cycles_after"] <= result["cycles_before"] and Path(pins).exists()
    assert result["cycles_after"] == sum(layer["cycles_after"] for layer in result["layers"])
    status, out, _ = mote(capsys, "profile", model, "--target", "cortex-m4", "--pins", pins, "--json")
    assert status == 0
    assert sum(layer["cycles"] for layer in json.loads(out)["layers"]) == result["cycles_after"]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    measurer = Counted()

    def counting(*arguments: object, **options: object) -> object:
        return tune(*arguments, **{**options, "measurer": measurer})

    monkeypatch.setattr(command, "tune", counting)
    monkeypatch.setattr("mote.optimize.tune.tune.verify", lambda *_, **__: _Verdict())
    return measurer


class _Verdict:
    passed, verdict, interruptions = True, "bit-exact", ()


def test_text(capsys: pytest.CaptureFixture[str], tmp_path: Path, model: str, counted: Counted) -> None:
    pins = str(tmp_path / "pins.toml")
    status, out, _ = mote(capsys, "tune", model, "--target", "cortex-m4", "--ram", "64K", "--trials", "14", "-o", pins)
    assert status == 0
    for text in ("kernel before", "kernel after", "total", "gain: ", "14 trials", "verified: bit-exact", "--pins"):
        assert text in out
    status, out, _ = mote(capsys, "plan", model, "--target", "cortex-m4", "--pins", pins)
    assert status == 0 and "pinned" in out


def test_ram_is_that_of_mote_compile_unless_more_is_allowed(
    capsys: pytest.CaptureFixture[str], model: str, counted: Counted
) -> None:
    """Before and after tuning, whatever the kernels of the policy speed would take; the budget is stated."""
    target = ("--target", "stm32l4r5", "--trials", "4")
    taken = {policy: ram_of(compile(model, target="stm32l4r5", optimize=policy)) for policy in ("balanced", "speed")}
    assert taken["balanced"] < taken["speed"]
    for given, most in (((), taken["balanced"]), (("--optimize", "speed"), taken["speed"])):
        result = json.loads(mote(capsys, "tune", model, *target, *given, "--json")[1])
        assert result["settings"]["ram"] == most >= max(result["ram_before"], result["ram_after"])
    said = " ".join(mote(capsys, "tune", model, *target)[1].split())
    assert f"at most {taken['balanced']:,}: `--ram BYTES` allows more" in said
    for given in ("64K", "sram=64K"):
        more = json.loads(mote(capsys, "tune", model, *target, "--ram", given, "--json")[1])
        assert more["settings"]["ram"] == 64 << 10 and more["ram_after"] > taken["speed"]


def test_a_signal_says_the_best_so_far(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, model: str, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Counted.cycles

    def cycles(self: Counted, compiled: object) -> list[int]:
        if len(self.seen) == 12:
            raise StoppedError(2)
        return usual(self, compiled)  # type: ignore[arg-type]

    monkeypatch.setattr(Counted, "cycles", cycles)
    journal, pins = str(tmp_path / "journal"), tmp_path / "pins.toml"
    options = ("--target", "cortex-m4", "--ram", "64K", "--journal", journal, "-o", str(pins))
    status, out, _ = mote(capsys, "tune", model, *options)
    assert status == 130 and not pins.exists()
    assert "stopped" in out and f"--journal {journal}" in out and "kernel after" in out
    monkeypatch.setattr(Counted, "cycles", usual)
    seen = len(counted.seen)
    status, out, _ = mote(capsys, "tune", model, *options, "--trials", "13")
    assert status == 0 and len(counted.seen) == seen + 1 and pins.exists()


def test_bad_options(capsys: pytest.CaptureFixture[str], model: str) -> None:
    for options, says in (
        (("--target", "cortex-m4", "--trials", "0"), "nothing to spend"),
        (("--target", "rp2040", "--cores", "2"), "two cores are not emulated"),
        ((), "not counted on the host"),
    ):
        status, _, err = mote(capsys, "tune", model, *options)
        assert status == 1 and says in err
