"""Scores of graphs without compiling them: equal to what LiteRT's answers score, and the metric that suits data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mote import frontends
from mote.base.errors import MoteError
from mote.bench.evaluation import score as scorer
from mote.bench.evaluation.score import interpreted, outputs, score, suiting
from mote.frontends.data.dataset import dataset
from tests.helpers.network import Net
from tests.helpers.support import PUBLIC_MODELS

MODELS = Path(__file__).parents[3] / "models"
KEYWORDS = PUBLIC_MODELS.parent / "data" / "keywords_mfcc.npz"


@pytest.mark.parametrize("name", ["digits", "keywords"])
def test_the_bundled_models_are_right_on_their_samples(name: str) -> None:
    recorded = np.load(MODELS / f"{name}_samples.npz")
    data = dataset((recorded["inputs"], recorded["labels"]))
    found = score(MODELS / f"{name}.tflite", data)
    right = int((recorded["outputs"].argmax(1) == recorded["labels"]).sum())
    assert (found.metric, found.samples, found.detail["correct"]) == ("top1", 16, right)
    graph = frontends.load(MODELS / f"{name}.tflite")
    for ask in (outputs, interpreted):
        (values,) = ask(graph, data.cases(graph))
        assert np.array_equal(values, recorded["outputs"])


@pytest.mark.skipif(not KEYWORDS.exists(), reason="there are no recorded words beside the checkout")
def test_the_published_keyword_spotter_hears_as_many_words_as_in_litert() -> None:
    found = score(PUBLIC_MODELS / "kws_ref_model.tflite", dataset(KEYWORDS))
    assert (found.detail["correct"], found.samples) == (293, 300)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = np.load(MODELS / "digits_samples.npz")
    graph = frontends.load(MODELS / "digits.tflite")
    monkeypatch.setattr(scorer, "cores", lambda: 3)
    (found,) = interpreted(graph, dataset(recorded["inputs"]).cases(graph))
    assert np.array_equal(found, recorded["outputs"])


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_answers_are_those_of_the_reference_in_numpy(dtype: str) -> None:
    net = Net(seed=3, dtype=dtype)
    model = net.finish(net.conv(net.input(1, 6, 5, 2), 4, (3, 3)))
    graph = frontends.load(model)
    values = np.random.default_rng(0).integers(-100, 100, (5, 6, 5, 2)).astype(dtype)
    cases = dataset(values).cases(graph)
    (found,) = outputs(graph, cases)
    wanted = np.concatenate([graph.evaluate(case)[graph.outputs[0]] for case in cases])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * float(np.abs(wanted).max()) * (dtype == "float32"))


NUMBERS = np.linspace(0, 1, 8, dtype=np.float32)
TWO = np.array([0, 1] * 4)


@pytest.mark.parametrize(
    ("answers", "labels", "given", "metric"),
    [
        (np.zeros((8, 3), np.float32), np.arange(8) % 3, None, "top1"),
        (np.zeros((8, 3), np.float32), np.eye(3, dtype=np.float32)[np.arange(8) % 3], None, "top1"),
        (np.zeros((8, 2), np.float32), TWO, np.zeros((8, 2)), "top1"),
        (np.zeros((8, 4, 4, 3), np.float32), np.zeros((8, 4, 4), np.int64), np.zeros((8, 4, 4, 3)), "top1"),
        (np.zeros((8, 1), np.int64), np.arange(8), None, "top1"),
        (np.zeros((8, 1), np.float32), TWO, None, "auc"),
        (np.zeros((8, 640), np.float32), TWO, np.zeros((8, 640)), "auc"),
        (np.zeros((8, 1), np.float32), NUMBERS, None, "rmse"),
        (np.zeros((8, 1), np.float32), np.arange(8.0), None, "rmse"),
        (np.zeros((8, 1), np.float32), np.arange(8), None, "rmse"),
        (np.zeros((8, 3), np.float32), np.zeros((8, 3)), None, "rmse"),
    ],
)
def test_the_metric_suits_answers_and_labels(
    answers: np.ndarray, labels: np.ndarray, given: np.ndarray | None, metric: str
) -> None:
    assert suiting(answers, labels, given) == metric


def test_an_autoencoder_is_rated_by_what_it_cannot_give_back() -> None:
    """A model that gives back its input but for what is beyond its range: what is beyond that is unusual."""
    net = Net(dtype="float32")
    model = net.finish(net.op("RELU6", [net.input(1, 4)]))
    usual = np.random.default_rng(0).uniform(0, 6, (6, 4)).astype(np.float32)
    found = score(model, dataset((np.concatenate([usual, usual + 6]), np.repeat([0, 1], 6))))
    assert (found.metric, found.value) == ("auc", 1.0)


def test_data_without_labels_is_refused() -> None:
    data = dataset(np.load(MODELS / "digits_samples.npz")["inputs"])
    with pytest.raises(MoteError, match="no labels"):
        score(MODELS / "digits.tflite", data)
