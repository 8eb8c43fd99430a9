"""The table of what becomes of all files in a folder (`benchmarks/files.py`)."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import files
from mote.frontends.tflite.writer import Writer
from tests.helpers.support import needs_litert

MODELS = Path(__file__).parents[2] / "models"
FIGURES = MODELS / "digits.tflite"


@needs_litert
def test_a_bundled_model() -> None:
    outcome = files.tried(FIGURES)
    assert (outcome.passed, outcome.ended) == (["read", "NumPy equal", "compiled", "C equal"], "")
    large = files.tried(FIGURES, most=-1)
    assert (large.passed, large.ended) == (["read", "NumPy equal"], "large")


def test_reasons_are_counted(tmp_path: Path) -> None:
    outcomes = []
    for i in range(2):
        w = Writer("own")
        x, y = w.input("x", (1, i + 1), "float32"), w.tensor("y", (1, i + 1), "float32")
        w.op("CUSTOM", [x], [y], custom_code="Own")
        w.output(y)
        path = tmp_path / f"{i}.tflite"
        path.write_bytes(w.finish())
        outcomes.append(files.tried(path))
    (tmp_path / "damaged.tflite").write_bytes(b"\0\0\0\0TFL3")
    outcomes.append(files.tried(tmp_path / "damaged.tflite"))
    lines = files.counted(outcomes)
    assert lines[0] == "3 files" and lines[1].split() == ["0", "read"]
    assert any(line.split()[:2] == ["3", "refused"] for line in lines)
    assert any(line.split()[:2] == ["2", "CUSTOM(Own):"] for line in lines)


def test_a_file_has_a_time_and_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What never ends is slow, what ends the process is a crash, what fails otherwise is a bug of ours."""
    monkeypatch.setattr(files, "_tried", lambda *_: time.sleep(60))
    assert files.tried(FIGURES, seconds=0.1).ended == "slow"
    monkeypatch.setattr(files, "_tried", lambda *_: os._exit(1))
    assert files.tried(FIGURES).ended == "crashed"
    monkeypatch.setattr(files, "_tried", lambda *_: {}["nothing"])
    assert files.tried(FIGURES).reasons == ["KeyError: 'nothing'"]
