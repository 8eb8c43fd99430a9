"""Metrics against those of scikit-learn."""

from __future__ import annotations

from math import inf, isclose
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("scipy")
pytest.importorskip("sklearn")

from scipy.stats import binomtest
from sklearn import metrics as theirs

from mote.base.errors import MoteError
from mote.bench.metrics import measure, noise
from mote.bench.metrics.interval import wilson
from tests.helpers.support import examples

seeds = st.integers(0, 2**32 - 1)


def scored(seed: int, ties: bool = False) -> tuple[Any, Any]:
    """Scores and labels of which every class has some."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(3, 8))
    labels = rng.permutation(np.concatenate([np.arange(classes), rng.integers(0, classes, rng.integers(0, 40))]))
    scores = rng.normal(size=(len(labels), classes)) + 1.5 * np.eye(classes)[labels]
    return (np.round(scores) if ties else scores), labels


@settings(max_examples=examples(100), deadline=None)
@given(seeds, st.booleans())
def test_the_first_class(seed: int, ties: bool) -> None:
    outputs, labels = scored(seed, ties)
    found = measure("top1", outputs[:, None, None], labels)
    assert isclose(found.value, theirs.accuracy_score(labels, outputs.argmax(1)))
    matrix = theirs.confusion_matrix(labels, outputs.argmax(1))
    assert found.detail["confusion"] == matrix.tolist()
    assert found.detail["correct"] == matrix.diagonal().sum() and found.samples == len(labels)
    np.testing.assert_allclose(found.detail["per_class"], matrix.diagonal() / matrix.sum(1))
    assert found.better == "higher"


@settings(max_examples=examples(100), deadline=None)
@given(seeds)
def test_the_first_classes(seed: int) -> None:
    outputs, labels = scored(seed)
    for k in range(1, outputs.shape[1]):
        want = theirs.top_k_accuracy_score(labels, outputs, k=k, labels=range(outputs.shape[1]))
        assert isclose(measure(f"top{k}", outputs, labels).value, want)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, 10_000), st.floats(0, 1))
def test_the_interval_of_a_share(trials: int, share: float) -> None:
    right = round(share * trials)
    want = binomtest(right, trials).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson(right, trials), (want.low, want.high), atol=1e-7)


def test_an_accuracy_comes_with_what_it_is_worth() -> None:
    """Its interval, and the share of the largest classes; pixels have no interval, distances neither of both."""
    labels = np.array([0] * 6 + [1] * 3 + [2])
    score = measure("top1", np.eye(3)[labels], labels)
    assert (
        score.largest_class == 0.6
        and score.interval == wilson(10, 10)
        and score.json()["interval"] == list(wilson(10, 10))
    )
    assert score.context == "95% interval 72.2% to 100.0%, largest class 60.0%"
    assert measure("top2", np.eye(3)[labels], labels).context.endswith(", largest 2 classes 90.0%")
    pixels = measure("top1", np.eye(3)[labels.reshape(5, 2)], labels.reshape(5, 2))
    assert pixels.interval is None and pixels.context == "largest class 60.0%"
    distance = measure("mae", np.ones(10), np.zeros(10))
    assert distance.context == "" and distance.json()["interval"] is distance.json()["largest_class"] is None


def test_of_equal_scores_the_first_counts() -> None:
    outputs, labels = np.array([[1, 1, 0, 1]] * 4), np.arange(4)
    assert [measure(f"top{k}", outputs, labels).detail["correct"] for k in (1, 2, 3)] == [1, 2, 3]


@settings(max_examples=examples(100), deadline=None)
@given(seeds, st.booleans())
def test_how_well_two_classes_are_parted(seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.concatenate([[0, 1], rng.integers(0, 2, rng.integers(0, 50))]))
    scores = rng.normal(size=len(labels)) + labels
    scores = np.round(scores) if ties else scores
    want = theirs.roc_auc_score(labels, scores)
    assert isclose(measure("auc", scores, labels).value, want)
    assert isclose(measure("auc", np.stack([-scores, scores], 1), labels).value, want)


def test_a_model_that_gives_back_its_input() -> None:
    """The score of an anomaly is how far it is from doing so."""
    rng = np.random.default_rng(0)
    labels = np.array([0, 1] * 10)
    inputs = rng.normal(size=(20, 8))
    outputs = inputs + rng.normal(size=inputs.shape) * (0.5 + 0.2 * labels[:, None])
    want = theirs.roc_auc_score(labels, np.square(outputs - inputs).mean(1))
    assert isclose(measure("auc", outputs.reshape(20, 2, 4), labels, inputs=inputs).value, want)


@settings(max_examples=examples(100), deadline=None)
@given(seeds)
def test_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 20)), int(rng.integers(1, 4)))
    outputs, labels = rng.normal(size=shape), rng.normal(size=shape)
    rmse, mae = measure("rmse", outputs, labels), measure("mae", outputs, labels)
    assert isclose(rmse.value, np.sqrt(theirs.mean_squared_error(labels, outputs)))
    assert isclose(mae.value, theirs.mean_absolute_error(labels, outputs))
    assert rmse.better == mae.better == "lower"
    assert isclose(rmse.detail["largest"], np.abs(outputs - labels).max())


def test_one_number_a_sample() -> None:
    """[n] and [n, 1] are the same, and never [n, n]."""
    assert measure("mae", np.arange(5.0)[:, None], np.arange(5)).value == 0


def test_classes_that_a_model_says_itself() -> None:
    """As trees do."""
    assert measure("top1", np.array([[1], [0], [2]]), np.array([1, 0, 0])).value == 2 / 3


def test_very_many_classes() -> None:
    """No matrix is made of the square of them."""
    found = measure("top1", np.array([[2**40], [0]]), np.array([1, 0]))
    assert found.value == 0.5 and found.detail == {"correct": 1}


def test_pixels() -> None:
    rng = np.random.default_rng(0)
    outputs, labels = rng.normal(size=(2, 3, 4, 5)), rng.integers(0, 5, (2, 3, 4))
    found = measure("top1", outputs, labels)
    assert found.samples == 2
    assert isclose(found.value, (outputs.argmax(-1) == labels).mean())


def test_labels_as_rows_of_zeros_and_a_one() -> None:
    outputs, labels = scored(5)
    rows = np.eye(outputs.shape[1])[labels]
    assert measure("top1", outputs, rows) == measure("top1", outputs, labels)


@pytest.mark.parametrize(
    ("metric", "outputs", "labels", "said"),
    [
        ("top1", np.eye(3), np.array([0, 1, 3]), "label of sample 2 is 3; the model tells 3 classes apart, 0 to 2"),
        ("top1", np.eye(3), np.array([0, -1, 1]), "label -1 is below 0"),
        ("top1", np.eye(3), np.array([0, 0.5, 1]), "floats, not class indices"),
        ("top1", np.eye(3), np.array([0, 1]), "3 answers cannot be compared with 2 labels"),
        ("top1", np.full((2, 2), np.nan), np.array([0, 1]), "the answer to sample 0 is no number"),
        ("top1", np.ones((2, 1)), np.array([0, 1]), "one float for each sample"),
        ("top1", np.zeros((0, 3)), np.zeros(0), "nothing to compare"),
        ("top3", np.eye(3), np.array([0, 1, 2]), "always among the first 3"),
        ("auc", np.arange(3), np.array([0, 0, 0]), "not both"),
        ("auc", np.arange(3), np.array([0, 1, 2]), "not both"),
        ("auc", np.eye(3), np.array([0, 1, 0]), "3 numbers for a sample"),
        ("rmse", np.eye(3), np.array([0, 1, 2]), "3 numbers for a sample, and labels have 1"),
        ("mae", np.arange(3), np.array([0, np.inf, 2]), "label of sample 1 is no number"),
        ("f1", np.eye(3), np.array([0, 1, 2]), "'f1' is no metric"),
        ("top0", np.eye(3), np.array([0, 1, 2]), "'top0' is no metric"),
    ],
    ids=range(15),
)
def test_what_cannot_be_measured(metric: str, outputs: Any, labels: Any, said: str) -> None:
    with pytest.raises(MoteError, match=said):
        measure(metric, outputs, labels)


def test_signal_to_noise() -> None:
    x = np.random.default_rng(0).normal(size=1000)
    assert noise(x, x) == inf
    assert isclose(noise(x, 1.1 * x), 20, abs_tol=1e-9)
    assert isclose(noise(x, x - 0.01 * x), 40, abs_tol=1e-9)
    assert noise(0 * x, x) == -inf
    assert isclose(noise(np.array([255], np.uint8), np.array([0], np.uint8)), 0)
    with pytest.raises(MoteError, match="cannot be compared"):
        noise(x, x[:10])
