"""Nearest neighbours: against their definition, scikit-learn's, and the C of both operators."""

from __future__ import annotations

from collections import Counter, deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.learning.neighbors import KnnScores, KnnUpdate
from tests.frontends.features.postprocess.scored import streamed
from tests.helpers.support import emulated, examples
from tests.ir.ops.learning.learners import agree, cases, learner, told


def neighbors(classes: int, size: int, capacity: int, votes: int, states: tuple[Array, ...] = ()) -> Graph:
    empty = np.zeros((capacity, size), np.int8), np.full(capacity, -1, np.int8), np.zeros(1, np.int32)
    scores = KnnScores, {"classes": classes, "neighbors": votes}, "int32"
    sample = np.zeros((1, size), np.int8), told(0)
    return learner((KnnUpdate, {"classes": classes}), scores, states or empty, sample, read=(0, 1))


@given(st.integers(0, 1 << 16), st.integers(1, 4), st.integers(1, 3), st.integers(1, 6), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_the_nearest_vote(seed: int, classes: int, size: int, capacity: int, data: st.DataObject) -> None:
    votes, rng = data.draw(st.integers(1, capacity)), np.random.default_rng(seed)
    xs, labels = rng.integers(-3, 4, (20, size)).astype(np.int8), rng.integers(-1, classes + 1, 20)
    graph = neighbors(classes, size, capacity, votes)
    given = cases(graph, [(x[None], told(label)) for x, label in zip(xs, labels, strict=True)])
    memory = deque[tuple[int, list[int], int]](maxlen=capacity)
    taken = 0
    for x, label, (scores, seen) in zip(xs.tolist(), labels.tolist(), streamed(graph, given), strict=True):
        apart = [(sum((a - b) ** 2 for a, b in zip(x, kept, strict=True)), place, own) for place, kept, own in memory]
        ballot = Counter(own for _, _, own in sorted(apart)[:votes])
        assert scores.tolist() == [ballot[k] for k in range(classes)]
        if 0 <= label < classes:
            memory.append((taken % capacity, x, label))
            taken += 1
        assert seen[0] == sum(own == label for _, _, own in memory) * (0 <= label < classes)


def several() -> list[Graph]:
    """Memories of several sizes, and one with states that no update leaves."""
    rng = np.random.default_rng(5)
    wild = [rng.integers(-128, 128, shape).astype(np.int8) for shape in ((6, 3), (6,))]
    full = np.arange(6, dtype=np.int8) % 3
    return [
        neighbors(1, 1, 1, 1),
        neighbors(3, 17, 8, 3),
        neighbors(128, 2, 9, 9),
        neighbors(3, 3, 6, 2, (*wild, np.array([-5], np.int32))),
        neighbors(3, 3, 6, 4, (wild[0], full, np.array([6], np.int32))),
    ]


def test_c_computes_the_same() -> None:
    agree(several(), "host", 150)


def test_a_core_computes_the_same() -> None:
    agree(several(), emulated("cortex-m4"), 25)


def test_digits_are_classified_as_by_scikit_learn() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    judges = pytest.importorskip("sklearn.neighbors")
    data = datasets.load_digits()
    codes = (data.data * 8 - 64).astype(np.int8)
    labels = data.target[:300].astype(np.int8)
    graph = neighbors(10, 64, 300, 3, (codes[:300], labels, np.zeros(1, np.int32)))
    tested = cases(graph, [(x[None], told(-1)) for x in codes[300:600]])
    found = [int(graph.evaluate(case)[graph.outputs[0]].argmax()) for case in tested]
    judge = judges.KNeighborsClassifier(3, algorithm="brute").fit(codes[:300].astype(float), labels)
    said = judge.predict(codes[300:600].astype(float))
    assert (said == found).mean() > 0.98
    assert (data.target[300:600] == found).mean() > (data.target[300:600] == said).mean() - 0.01


@pytest.mark.parametrize(
    ("classes", "capacity", "votes", "reason"),
    [(129, 4, 1, "129 classes"), (3, 4, 5, "5 neighbors"), (3, 40000, 1, "40000 samples")],
)
def test_others_are_refused(classes: int, capacity: int, votes: int, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        neighbors(classes, 2, capacity, votes)
