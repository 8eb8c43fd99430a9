"""The vibration's example: from raw samples to anomalies, with a threshold learned from data, on an emulated core."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.support import emulated

EXAMPLE = Path(__file__).parents[2] / "examples" / "vibration"


@pytest.mark.slow
def test_faults_on_a_core() -> None:
    emulated("cortex-m4")
    done = subprocess.run([sys.executable, EXAMPLE / "vibration.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "16 of 16 windows are right, and the outputs equal Python's." in done.stdout
