"""A signal ends a command without leaving temporary files, and after what must not be torn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mote.base.files import temporary_folder
from mote.base.stopping import StoppedError, stopping, undisturbed


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_no_temporary_folder(signum: signal.Signals) -> None:
    with pytest.raises(StoppedError), stopping(), temporary_folder() as folder:
        signal.raise_signal(signum)
    assert not folder.exists()


def test_signals_wait_for_what_must_not_be_torn() -> None:
    done = False
    with pytest.raises(StoppedError), stopping(), undisturbed():
        signal.raise_signal(signal.SIGTERM)
        done = True
    assert done


def test_work_that_must_not_be_torn_can_be_ended() -> None:
    said = []
    with pytest.raises(StoppedError), stopping(), undisturbed(lambda: said.append("end")):
        signal.raise_signal(signal.SIGTERM)
    assert said == ["end"]


def test_a_command_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    """Stopped while the model is built and run, by the signal that systems stop programs with."""
    command = [sys.executable, "-m", "mote", "verify", "models/digits.tflite", "--inputs", "3000"]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(command, cwd=root, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE)
    while not list(tmp_path.iterdir()) and process.poll() is None:
        time.sleep(0.01)
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM and b"Traceback" not in said
    assert list(tmp_path.iterdir()) == []
