"""Accuracy in the report: scores, samples, noise and precision."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mote
from mote.bench.evaluation.evaluator import Evaluation, evaluate
from mote.ui.reporter import html
from mote.ui.reporter.samples import MOST_PIXELS, picture, shown_samples
from mote.ui.reporter.sections.accuracy import accuracy
from mote.ui.reporter.subject import Subject, Subjects
from tests.helpers.browser import Browser

MODELS = Path(__file__).parents[3] / "models"


@pytest.fixture(scope="module")
def subjects() -> Subjects:
    data = mote.dataset(MODELS / "digits_test.npz")
    compiled = mote.compile(MODELS / "digits.tflite")
    evaluation = evaluate(compiled, data, samples=0, against=MODELS / "digits_float.tflite")
    return Subjects((Subject(compiled),), data, evaluation)


def test_scores_are_those_of_the_evaluation(subjects: Subjects) -> None:
    told, evaluation = accuracy(subjects), subjects.evaluation
    assert told is not None and isinstance(evaluation, Evaluation) and evaluation.against is not None
    assert [score["value"] for score in told["scores"]] == [
        evaluation.score.value,
        evaluation.reference.score.value,
        evaluation.against.score.value,
    ]
    assert told["context"] == evaluation.score.context and "largest class 10.3%" in told["context"]
    assert sum(map(sum, told["confusion"])) == evaluation.score.samples
    assert [layer["decibels"] for layer in told["noise"]] == [layer.decibels for layer in evaluation.against.layers]
    layers = [layer.number for layer in subjects.first.layers]
    assert [layer["number"] for layer in told["noise"]] == layers == [row["number"] for row in told["precision"]]
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_without_data_there_is_no_accuracy(subjects: Subjects) -> None:
    assert accuracy(Subjects(subjects.targets)) is None


@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=3, min_side=2, max_side=9),
        elements=st.floats(-9, 9, width=32),
    ),
)
def test_pictures_keep_the_order_of_values(sample: np.ndarray) -> None:
    drawn = picture(sample)
    if drawn is None:
        assert sample.ndim == 3 and not {1, 3} & {sample.shape[0], sample.shape[2]}
        return
    pixels = np.frombuffer(base64.b64decode(drawn["pixels"]), np.uint8)
    assert drawn["height"] * drawn["width"] * drawn["channels"] == pixels.size
    assert pixels.size == sample.size and (sample.max() == sample.min() or (pixels.min(), pixels.max()) == (0, 255))


def test_large_pictures_are_thinned_out() -> None:
    drawn = picture(np.zeros((500, 300, 3), np.uint8))
    assert drawn is not None and drawn["height"] * drawn["width"] <= MOST_PIXELS


def test_sounds_are_the_files_of_the_samples(tmp_path: Path) -> None:
    import wave

    for k, name in enumerate(("no", "yes")):
        (tmp_path / name).mkdir()
        with wave.open(str(tmp_path / name / "a.wav"), "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            file.writeframes(np.full(160, 1000 * (k + 1), np.int16).tobytes())
    data = mote.dataset(tmp_path)
    shown = shown_samples(data, [1])
    assert base64.b64decode(shown[1]["sound"]) == (tmp_path / "yes" / "a.wav").read_bytes()


def test_the_page_shows_it(subjects: Subjects, browser: Browser) -> None:
    with browser.open(html.page(html.report_data(subjects))) as page:
        section = "document.querySelector('#accuracy')"
        text = page.evaluate(f"{section}.textContent")
        assert "98.61%" in text and "355 of 360" in text and "NaN" not in text and "undefined" not in text
        assert page.evaluate(f"{section}.querySelectorAll('.confusion tbody tr').length") == 10
        assert page.evaluate(f"{section}.querySelectorAll('.samples canvas').length") > 5
        page.click("#accuracy .noise tbody tr:nth-child(3) button")
        assert page.evaluate(f"{section}.querySelectorAll('tr.selected').length") == 2 and page.errors == []
