"""Signal operators together: their C, and the reference where TFLite Micro does not run the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.compiler.line import compile
from tests.helpers.support import emulated, tflite_micro
from tests.ir.ops.signal.signal_models import Front, everything, needs_micro, over_time


@needs_micro
def test_c() -> None:
    data = everything()
    over_time(data, 5)
    with tflite_micro():
        result = verify(compile(data), 5, sanitize=True)
        assert result.passed and result.reference == "TFLite Micro", result.mismatches


@pytest.mark.slow
@needs_micro
@pytest.mark.parametrize("alone", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_on_a_core(alone: bool) -> None:
    with tflite_micro():
        result = verify(compile(everything(alone=alone), target=emulated("cortex-m4")), 4)
        assert result.passed, result.mismatches


def test_without_tflite_micro(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mote's own reference takes its place, and the result says so."""
    front = Front()
    front.delay(front.input((4,)), (4,), 3)
    for there in (False, True):
        monkeypatch.setattr(reference, "require", missing)
        monkeypatch.setattr(reference, "installed", lambda package, there=there: there)
        reference.micro_missing.cache_clear()
        result = verify(compile(front.finish()), 3)
        why = "cannot be loaded" if there else "is not installed"
        assert result.passed and result.reference == f"numpy (TFLite Micro {why})"
    reference.micro_missing.cache_clear()


def missing(package: str, **_: Any) -> None:
    raise MoteError(f"needs {package}")


@needs_micro
def test_with_an_operator_that_tflite_micro_lacks() -> None:
    front = Front()
    delayed = front.delay(front.input((4,)), (4,), 3)
    twice = front.writer.tensor("twice", (8,), "int16")
    front.writer.op("TILE", [delayed, front.const(np.array([2], np.int32))], [twice])
    front.writer.output(twice)
    result = verify(compile(front.finish()), 3)
    assert result.passed and result.reference == "numpy (TFLite Micro does not run the model)"
