"""The gestures' example: from raw samples of an accelerometer to movements, on an emulated core and in Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from mote.compiler.subject import model_steps
from tests.helpers.support import emulated

EXAMPLE = Path(__file__).parents[2] / "examples" / "gestures"


@pytest.mark.slow
def test_movements_on_a_core() -> None:
    emulated("cortex-m4")
    done = subprocess.run([sys.executable, EXAMPLE / "gestures.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "10 of 10 movements are right, and the outputs equal Python's." in done.stdout


def test_movements_that_the_network_has_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    example = run_path(str(EXAMPLE / "gestures.py"))
    samples, labels = example["movements"].windows(100, seed=11)
    outputs = example["in_python"](samples, model_steps(EXAMPLE / "gestures.tflite"))
    assert np.mean(outputs.argmax(1) == labels) >= 0.98
