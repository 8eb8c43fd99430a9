"""Nearest class means: against their definition in fractions, scikit-learn's, and the C of both operators."""

from __future__ import annotations

from fractions import Fraction
from math import floor, isqrt, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.learning.prototypes import MOST_SAMPLES, PrototypeCosines, PrototypeScores, PrototypeUpdate
from mote.ir.ops.learning.samples import LONGEST, NONE
from tests.frontends.features.postprocess.scored import streamed
from tests.helpers.support import emulated, examples
from tests.ir.ops.learning.learners import Samples, agree, cases, learner, told


def prototypes(
    classes: int,
    size: int,
    most: int = MOST_SAMPLES,
    states: tuple[Array, Array] | None = None,
    zero: int | None = None,
) -> Graph:
    """A learner that scores by distances, or, with a zero point, by cosines."""
    kept = states or (np.zeros((classes, size), np.int32), np.zeros(classes, np.int32))
    fields = {"most": most}
    sample = np.zeros((1, size), np.int8), told(0)
    scores = (PrototypeScores, fields) if zero is None else (PrototypeCosines, {**fields, "zero": zero})
    return learner((PrototypeUpdate, fields), (*scores, "int32"), kept, sample)


def drawn(seed: int, classes: int, size: int, count: int) -> Samples:
    """Samples of noise, some of them at the ends of the range, and labels of which some are no classes."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(-128, 128, (count, size)), rng.choice([-128, 127], (count, size))
    xs = np.where(rng.random((count, 1)) < 0.3, *kinds[::-1]).astype(np.int8)
    labels = rng.integers(-1, classes + 1, count)
    return [(x[None], told(label)) for x, label in zip(xs, labels, strict=True)]


@given(st.integers(0, 1 << 16), st.integers(1, 4), st.integers(1, 5), st.sampled_from([2, 4, 6, MOST_SAMPLES]))
@settings(max_examples=examples(60), deadline=None)
def test_scores_are_distances_to_means(seed: int, classes: int, size: int, most: int) -> None:
    samples = drawn(seed, classes, size, 30)
    graph = prototypes(classes, size, most)
    known: dict[int, tuple[list[int], int]] = {}
    for (x, label), (scores, seen) in zip(samples, streamed(graph, cases(graph, samples)), strict=True):
        values, own = x.reshape(-1).tolist(), int(label[0])
        wanted = [NONE] * classes
        for k, (sums, count) in known.items():
            means = [floor(Fraction(s, count) + Fraction(1, 2)) for s in sums]
            wanted[k] = -sum((v - m) ** 2 for v, m in zip(values, means, strict=True))
        assert scores.tolist() == wanted
        if not 0 <= own < classes:
            assert seen[0] == 0
            continue
        sums, count = known.get(own, ([0] * size, 0))
        if count == most:
            sums, count = [int(Fraction(s, 2)) for s in sums], count // 2
        known[own] = [s + v for s, v in zip(sums, values, strict=True)], count + 1
        assert seen[0] == count + 1


@given(st.integers(0, 1 << 16), st.integers(1, 5), st.integers(-128, 127))
@settings(max_examples=examples(40), deadline=None)
def test_cosines_are_those_of_the_angles(seed: int, size: int, zero: int) -> None:
    rng = np.random.default_rng(seed)
    first, x = rng.integers(-128, 128, (2, 1, size)).astype(np.int8)
    graph = prototypes(2, size, zero=zero)
    scores = streamed(graph, cases(graph, [(first, told(1)), (x, told(-1))]))[1][0].tolist()
    a, b = (v.reshape(-1).astype(int) - zero for v in (first, x))
    length = sqrt(int(a @ a) * int(b @ b))
    assert scores[0] == NONE and abs(scores[1]) <= 1 << 15
    # the root is rounded down: short vectors have the angle of one that is shorter by less than 1
    least = isqrt(int(a @ a) * int(b @ b))
    assert scores[1] == (floor(Fraction(int(a @ b) << 15, least) + Fraction(1, 2)) if least else 0)
    if length > 1000:
        assert abs(scores[1] / (1 << 15) - int(a @ b) / length) < 2e-3


def test_cosines_of_the_longest_features_are_whole() -> None:
    graph = prototypes(1, LONGEST, zero=-128)
    ends = [(np.full((1, LONGEST), 127, np.int8), told(0))] * 2
    assert streamed(graph, cases(graph, ends))[1][0].tolist() == [1 << 15]


def test_a_full_class_forgets_what_is_old() -> None:
    graph = prototypes(1, 1, most=8)
    samples = [(np.full((1, 1), -100 if i < 100 else 100, np.int8), told(0)) for i in range(200)]
    scores = [int(y[0]) for y, _ in streamed(graph, cases(graph, samples))]
    assert scores[99] == 0 and scores[100] == -(200**2) and scores[-1] == 0


def test_the_farthest_class_beats_one_without_samples() -> None:
    graph = prototypes(2, LONGEST)
    ends = [(np.full((1, LONGEST), x, np.int8), told(1)) for x in (-128, 127)]
    scores = streamed(graph, cases(graph, ends))[1][0]
    assert scores.tolist() == [NONE, -LONGEST * 255**2] and scores[1] > scores[0]


def several() -> list[Graph]:
    """Learners of several sizes, one that is full soon, and two with states that no update leaves."""
    rng = np.random.default_rng(5)
    full = np.array([MOST_SAMPLES, MOST_SAMPLES - 1, 3], np.int32)
    ends = np.array([[-128], [127], [1]]) * full[:, None] * np.ones((1, 5), int)
    wild = [rng.integers(-(1 << 31), 1 << 31, shape).astype(np.int32) for shape in ((3, 5), (3,))]
    return [
        prototypes(1, 1, 2),
        prototypes(3, 17, 4),
        prototypes(3, 5, states=(ends.astype(np.int32), full)),
        prototypes(3, 5, states=(wild[0], wild[1])),
        prototypes(3, 5, states=(wild[0], np.abs(wild[1] % 7))),
        prototypes(3, 17, 4, zero=-128),
        prototypes(2, 3, zero=5),
        prototypes(3, 5, states=(wild[0], np.abs(wild[1] % 7)), zero=127),
    ]


def test_c_computes_the_same() -> None:
    agree(several(), "host", 200)


def test_a_core_computes_the_same() -> None:
    agree(several(), emulated("cortex-m4"), 25)


def test_digits_are_classified_as_by_scikit_learn() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    neighbors = pytest.importorskip("sklearn.neighbors")
    data = datasets.load_digits()
    codes = (data.data * 8 - 64).astype(np.int8)
    graph = prototypes(10, 64)
    samples = [(x[None], told(label)) for x, label in zip(codes[:600], data.target[:600], strict=True)]
    states: dict[int, Array] = {}
    for case in cases(graph, samples):
        states = graph.carried(graph.evaluate({**states, **case}))
    tested = cases(graph, [(x[None], told(-1)) for x in codes[1200:]])
    found = [int(graph.evaluate({**states, **case})[graph.outputs[0]].argmax()) for case in tested]
    judge = neighbors.NearestCentroid().fit(codes[:600].astype(float), data.target[:600])
    said = judge.predict(codes[1200:].astype(float))
    assert (said == found).mean() > 0.99
    assert (data.target[1200:] == found).mean() > (data.target[1200:] == said).mean() - 0.01


@pytest.mark.parametrize(
    ("size", "most", "reason"), [(1, 3, "sums of 3 samples"), (LONGEST + 1, 2, "features are not supported")]
)
def test_others_are_refused(size: int, most: int, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        prototypes(1, size, most)


def test_a_zero_point_outside_of_the_codes_is_refused() -> None:
    with pytest.raises(AssertionError, match="a zero point of 128"):
        prototypes(1, 1, zero=128)
