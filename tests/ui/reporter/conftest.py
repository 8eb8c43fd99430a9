"""Reports of bundled models, made once for all tests."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

import mote
from mote.bench.measure.runner import missing_tools
from mote.ui.reporter.subject import Subject, measured

MODELS = Path(__file__).parents[3] / "models"
OPTIONS = {
    "digits": {
        "target": "cortex-m4",
        "targets": ["host"],
        "data": MODELS / "digits_test.npz",
        "against": MODELS / "digits_float.tflite",
    },
    "keywords": {"target": "host"},
}
"""How the report of each model is made: the first has all sections."""


@pytest.fixture(scope="session")
def report_page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of the report of a bundled model; workers of one session share it."""
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if own.name.startswith("popen-") else own

    def made(name: str) -> Path:
        path = folder / f"{name}.html"
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                mote.report(MODELS / f"{name}.tflite", **OPTIONS[name]).write(path)
        return path

    return made


@pytest.fixture(scope="session")
def profiled() -> Subject:
    """The digits on a part that waits for its flash, run and profiled."""
    compiled = mote.compile(MODELS / "digits.tflite", target="stm32l4r5")
    if (reason := missing_tools(compiled.settings.target)) is not None:
        pytest.skip(str(reason))
    return measured(compiled)
