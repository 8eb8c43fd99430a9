"""Gaussian naive Bayes, sample by sample: against its definition in float64, scikit-learn's, and the C."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.learning.gaussian import LEAST_SCORE, MOST_COUNTED, GaussianScores, GaussianUpdate
from tests.frontends.features.postprocess.scored import streamed
from tests.helpers.support import emulated, examples
from tests.ir.ops.learning.learners import agree, cases, learner, told


def gaussian(
    classes: int, size: int, most: int = MOST_COUNTED, counts: Array | None = None, smoothing: float = 1e-6
) -> Graph:
    reals = [np.zeros(shape, np.float32) for shape in ((classes, size), (classes, size), (classes,))]
    kept = *reals, np.zeros(classes, np.int32) if counts is None else counts
    fields = {"most": most, "smoothing": smoothing}
    sample = np.zeros((1, size), np.float32), told(0)
    return learner((GaussianUpdate, fields), (GaussianScores, fields, "float32"), kept, sample)


@given(st.integers(0, 1 << 16), st.integers(1, 4), st.integers(1, 5))
@settings(max_examples=examples(30), deadline=None)
def test_scores_are_those_of_all_samples_at_once(seed: int, classes: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    xs = (rng.normal(size=(40, size)) * 3 + 5).astype(np.float32)
    labels, graph = rng.integers(0, classes, 40), gaussian(classes, size, smoothing=0.01)
    given = cases(graph, [(x[None], told(label)) for x, label in zip(xs, labels, strict=True)])
    for i, (scores, _) in enumerate(streamed(graph, given)):
        for k in range(classes):
            own = xs[:i][labels[:i] == k].astype(np.float64)
            if not len(own):
                assert scores[k] == np.float32(LEAST_SCORE)
                continue
            variance = own.var(0) + 0.01
            wanted = np.log(len(own)) - (np.log(variance) + (xs[i] - own.mean(0)) ** 2 / variance).sum() / 2
            np.testing.assert_allclose(scores[k], wanted, rtol=1e-3, atol=1e-3)


def test_a_full_class_forgets_what_is_old() -> None:
    graph, rng = gaussian(1, 1, most=16), np.random.default_rng(4)
    xs = np.where(np.arange(600) < 300, -10, 10) + rng.normal(size=600)
    states: dict[int, Array] = {}
    for case in cases(graph, [(np.array([[x]], np.float32), told(0)) for x in xs]):
        states = graph.carried(graph.evaluate({**states, **case}))
    mean, square, _, count = (x.reshape(-1)[0] for x in states.values())
    assert abs(mean - 10) < 1 and 0.3 < square / count < 3 and count == 16


@pytest.mark.parametrize("feature", [np.nan, np.inf, -np.inf, 3e38])
def test_what_cannot_be_learned_changes_nothing(feature: float) -> None:
    graph = gaussian(2, 3)
    xs = np.array([[1, 2, 3], [1, feature, 3], [1, 2, 3]], np.float32)
    (_, first), (_, refused), (after, _) = streamed(graph, cases(graph, [(x[None], told(1)) for x in xs]))
    assert (first[0], refused[0]) == (1, 0)
    np.testing.assert_allclose(after, [LEAST_SCORE, -1.5 * np.log(1e-6)], rtol=1e-5)


def test_the_largest_features_stay_finite() -> None:
    graph = gaussian(1, 1)
    ends = [(np.array([[x]], np.float32), told(0)) for x in (2.0**50, -(2.0**50)) * 10]
    assert all(np.isfinite(scores[0]) for scores, _ in streamed(graph, cases(graph, ends))[2:])


def several() -> list[Graph]:
    """Several sizes, one that forgets soon, and one with counts that no update leaves."""
    wild = np.array([-(1 << 31), (1 << 31) - 1, 5], np.int32)
    return [gaussian(1, 1), gaussian(3, 17), gaussian(3, 4, most=3), gaussian(3, 4, counts=wild)]


def test_c_computes_the_same() -> None:
    agree(several(), "host", 100, relative=1e-5)


def test_a_core_computes_the_same() -> None:
    agree(several(), emulated("cortex-m4"), 25, relative=1e-4)


def test_digits_are_classified_as_by_scikit_learn() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    judges = pytest.importorskip("sklearn.naive_bayes")
    data = datasets.load_digits()
    xs = (data.data / 16).astype(np.float32)
    graph = gaussian(10, 64, smoothing=0.01)
    states: dict[int, Array] = {}
    for case in cases(graph, [(x[None], told(label)) for x, label in zip(xs[:600], data.target, strict=False)]):
        states = graph.carried(graph.evaluate({**states, **case}))
    tested = cases(graph, [(x[None], told(-1)) for x in xs[600:1000]])
    scores = np.array([graph.evaluate({**states, **case})[graph.outputs[0]] for case in tested])
    share = 0.01 / xs[:600].astype(float).var(0).max()
    judge = judges.GaussianNB(var_smoothing=share).fit(xs[:600].astype(float), data.target[:600])
    wanted = judge.predict_joint_log_proba(xs[600:1000].astype(float))
    np.testing.assert_allclose(scores - scores[:, :1], wanted - wanted[:, :1], rtol=1e-3, atol=0.01)


@pytest.mark.parametrize(
    ("most", "smoothing", "reason"), [(0, 1e-6, "averages over 0"), (9, 0.0, "a smoothing of 0"), (9, 2.0, "of 2.0")]
)
def test_others_are_refused(most: int, smoothing: float, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        gaussian(2, 2, most, smoothing=smoothing)
