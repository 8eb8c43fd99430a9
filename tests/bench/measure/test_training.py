"""A step of training is counted where the model runs."""

from __future__ import annotations

from pathlib import Path

import mote
from tests.helpers.support import emulated

MODELS = Path(__file__).parents[3] / "models"


def test_a_step_of_training_is_counted() -> None:
    target = emulated("cortex-m4")
    learning = mote.run(MODELS / "digits.tflite", target=target, train="last", layers=False)
    frozen = mote.run(MODELS / "digits.tflite", target=target, layers=False)
    assert learning.instructions and frozen.instructions and learning.training_step
    assert frozen.instructions < learning.instructions < 1.1 * frozen.instructions, (
        "without a label it costs what it did"
    )
    assert 1.1 * learning.instructions < learning.training_step < 2 * learning.instructions
    assert learning.json()["training_step"] == learning.training_step and frozen.training_step is None
