"""`mote shrink` as text: what is removed, why, and whether outputs stay equal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.hardware import toolchain
from mote.optimize.compress import shrink
from tests.helpers.shrinkable import example
from tests.ui.cli.test_cli import DIGITS, ROOT, mote, snapshot


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("example.tflite").write_bytes(example())
    return "example.tflite"


def test_shrink(capsys: pytest.CaptureFixture[str], model: str) -> None:
    status, out, _ = mote(capsys, "shrink", model, "--inputs", "20")
    assert status == 0
    snapshot("shrink", re.sub(r"C compiler \S+\)", "C compiler VERSION)", out))


def test_nothing_to_shrink(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    status, out, _ = mote(capsys, "shrink", DIGITS, "--inputs", "3")
    assert status == 0 and "0 of" in out and "equal bit for bit" in out


def test_shrink_json(capsys: pytest.CaptureFixture[str], model: str) -> None:
    found = json.loads(mote(capsys, "shrink", model, "--inputs", "5", "--json")[1])
    assert found["equal"] and found["inputs"] == 5
    assert found["after"]["macs"] < found["before"]["macs"] == sum(x["before"]["macs"] for x in found["layers"])
    assert {name for x in found["layers"] for name in x["removed"]} == set(found["proofs"])


def test_without_a_compiler_the_reference_checks(
    capsys: pytest.CaptureFixture[str], model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise MoteError("no compiler")

    monkeypatch.setattr(toolchain, "find_compiler", none)
    status, out, _ = mote(capsys, "shrink", model, "--inputs", "5")
    assert status == 0 and "by the NumPy reference: equal bit for bit" in out


def test_different_outputs_are_a_failure(
    capsys: pytest.CaptureFixture[str], model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were a pass wrong, the command would say so."""
    runs = iter(([[b"a"], [b"b"]], [[b"a"], [b"c"]]))
    monkeypatch.setattr(shrink, "_run", lambda *_: next(runs))
    status, out, _ = mote(capsys, "shrink", model, "--inputs", "2")
    assert status == 1 and "different on 1" in out


def test_compile_says_what_was_removed(capsys: pytest.CaptureFixture[str], model: str, tmp_path: Path) -> None:
    assert "  shrink: " in mote(capsys, "compile", model, "-o", str(tmp_path / "small"))[1]
    assert "  shrink: " not in mote(capsys, "compile", model, "-o", str(tmp_path / "whole"), "--no-shrink")[1]
