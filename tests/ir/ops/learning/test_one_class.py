"""The range of normal scores: against averages in floating point, and the C of both operators."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.learning.one_class import FRACTION, OneClassScore, OneClassUpdate
from tests.frontends.features.postprocess.scored import streamed
from tests.helpers.support import emulated, examples
from tests.ir.ops.learning.learners import agree, cases, learner, told


def one_class(
    window: int, dtype: str = "int16", floor: int = 1, statistics: tuple[int, int] = (0, 0), count: int = 0
) -> Graph:
    kept = np.array(statistics, np.int64), np.array([count], np.int32)
    sample = np.zeros((1, 1), dtype), told(0)
    return learner((OneClassUpdate, {"window": window}), (OneClassScore, {"floor": floor}, "int32"), kept, sample)


def measured(graph: Graph, scores: Array, labels: Array | None = None) -> Array:
    """Scores, and the samples learned, of each sample."""
    dtype = graph.tensors[graph.inputs[0]].dtype.numpy
    every = np.zeros(len(scores), int) if labels is None else labels
    samples = [(np.array([[x]], dtype), told(label)) for x, label in zip(scores, every, strict=True)]
    return np.array([[int(y[0]), int(seen[0])] for y, seen in streamed(graph, cases(graph, samples))])


@given(st.integers(0, 1 << 16), st.integers(1, 40), st.integers(1, 9))
@settings(max_examples=examples(60), deadline=None)
def test_scores_are_deviations_from_the_mean(seed: int, window: int, floor: int) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = rng.integers(-3000, 3000, 60), rng.integers(0, 2, 60) * rng.integers(0, 9, 60)
    mean, deviation, count = 0.0, 0.0, 0
    for x, label, (score, seen) in zip(
        scores, labels, measured(one_class(window, floor=floor), scores, labels), strict=True
    ):
        assert abs(score / 256 - ((x - mean) / max(deviation, floor) if count else 0)) < 0.01
        if label == 0:
            share = 1 / min(count + 1, window)
            deviation += share * (abs(x - mean) - deviation) if count else 0
            mean += share * (x - mean)
            count += 1
        assert seen == (min(count, window) if label == 0 else 0)


def test_drift_is_followed_and_an_anomaly_stands_out() -> None:
    rng = np.random.default_rng(3)
    normal = 1000 + rng.normal(0, 20, 3000) + np.arange(3000) * 0.2
    made = measured(one_class(128), np.append(normal, 2000).astype(int))
    assert np.abs(made[500:-1, 0]).max() / 256 < 8 < 12 < made[-1, 0] / 256


def test_long_averages_do_not_stand_still() -> None:
    """The share of a sample is less than a step, and the mean still comes to where the scores are."""
    made = one_class(65536, statistics=(0, 0), count=65536)
    states = {s.before: s.initial for s in made.states}
    for case in cases(made, [(np.array([[1]], np.int16), told(0))] * 3000):
        states = made.carried(made.evaluate({**states, **case}))
    mean = next(iter(states.values()))[0] / 2**FRACTION
    assert abs(mean - (1 - (1 - 1 / 65536) ** 3000)) < 0.001


def several() -> list[Graph]:
    """All types of scores, windows of one and many samples, and states that no update leaves."""
    ends = np.iinfo(np.int64)
    return [
        one_class(1, "int8"),
        one_class(7, "int16"),
        one_class(65536, "int32"),
        one_class(3, "int32", floor=1 << 30),
        one_class(5, "int32", statistics=(ends.min, ends.min), count=-(1 << 31)),
        one_class(5, "int32", statistics=(ends.max, ends.max), count=(1 << 31) - 1),
        one_class(65536, "int32", statistics=(-(1 << 51), 1 << 52), count=2),
    ]


def test_c_computes_the_same() -> None:
    agree(several(), "host", 300)


def test_a_core_computes_the_same() -> None:
    agree(several(), emulated("cortex-m4"), 25)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ((0,), "a window of 0"),
        ((70000,), "a window of 70000"),
        ((5, "uint8"), "scores of uint8"),
        ((5, "int8", 0), "deviation of 0"),
    ],
)
def test_others_are_refused(fields: tuple[int], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        one_class(*fields)
