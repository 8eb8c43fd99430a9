"""Thresholds learned from scores, against trying every one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.metrics.events import events
from mote.bench.metrics.thresholds import FITTED, Interval, at_most, highest, percentile, quietest
from mote.ir.graph.tensor import Array

SCORES = st.lists(st.integers(-20, 20), min_size=2, max_size=30).map(lambda x: np.array(x) / 8)


def counts(scores: Array, positive: Array, threshold: float) -> tuple[Array, Array, Array, Array]:
    above = scores > threshold
    pairs = (above & positive, above & ~positive, ~above & positive, ~above & ~positive)
    return tuple(np.array([x.sum()]) for x in pairs)  # type: ignore[return-value]


def all_thresholds(scores: Array) -> list[float]:
    return [float(scores.min()) - 1, *map(float, np.unique(scores))]


@given(SCORES, st.integers(0, 1 << 16), st.sampled_from(list(FITTED)))
@settings(max_examples=60, deadline=None)
def test_no_threshold_is_better(scores: Array, seed: int, metric: str) -> None:
    positive = np.random.default_rng(seed).integers(0, 2, len(scores)).astype(np.bool_)
    positive[:2] = True, False
    chosen = highest(metric, scores, positive).middle()
    values = {t: FITTED[metric](*counts(scores, positive, t))[0] for t in (chosen, *all_thresholds(scores))}
    assert values[chosen] == max(values.values())


@given(SCORES, st.integers(0, 1 << 16), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_false_positives_are_few(scores: Array, seed: int, share: float) -> None:
    positive = np.random.default_rng(seed).integers(0, 2, len(scores)).astype(np.bool_)
    positive[:2] = True, False
    chosen = at_most(share, scores, positive).middle()
    allowed = share * (~positive).sum()
    tried = [counts(scores, positive, t) for t in all_thresholds(scores)]
    hits, false, *_ = counts(scores, positive, chosen)
    assert false <= allowed
    assert hits == max(h for h, f, *_ in tried if f <= allowed)


@given(SCORES, st.floats(0, 100))
@settings(max_examples=60, deadline=None)
def test_percentiles_are_the_lowest_thresholds(scores: Array, percent: float) -> None:
    wanted = percent * len(scores)
    chosen = percentile(percent, scores)
    assert 100 * (scores <= chosen.middle()).sum() >= wanted
    lower = [t for t in all_thresholds(scores) if t < chosen.low]
    assert all(100 * (scores <= t).sum() < wanted for t in lower)


def test_recordings_have_few_false_alarms() -> None:
    times = np.arange(0, 600, 0.5)
    scores, rng = np.zeros(len(times)), np.random.default_rng(3)
    wanted = np.array([[t, t + 1.0] for t in range(20, 600, 60)], np.float64)
    for begin, _ in wanted:
        scores[int(2 * begin) + 1] = rng.uniform(0.5, 1)
    for noisy in rng.choice(len(times) // 8, 20, replace=False):
        scores[8 * noisy + 5] = max(scores[8 * noisy + 5], rng.uniform(0, 0.8))
    missed = []
    for most in (0, 10, 60, 1000):
        chosen = quietest(most, times, scores, wanted, 600.0).middle()
        detail = events(times, scores, wanted, 600.0, threshold=chosen).detail
        assert detail["false_alarms_an_hour"] <= most
        others = [events(times, scores, wanted, 600.0, threshold=t).detail for t in np.unique(scores)]
        assert detail["misses"] == min(x["misses"] for x in others if x["false_alarms_an_hour"] <= most)
        missed.append(detail["misses"])
    assert missed == sorted(missed, reverse=True) and missed[0] > missed[-1]


@given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e6))
def test_numbers_of_few_digits(low: float, size: float) -> None:
    interval = Interval(low, low + size)
    assert low <= interval.middle() < max(interval.high, np.nextafter(low, np.inf))
    assert Interval(low, np.inf).middle() >= low
    assert Interval(0.2, 0.4).middle() == 0.3


def test_scores_that_cannot_be() -> None:
    with pytest.raises(MoteError, match="no scores"):
        percentile(99, np.zeros(0))
    with pytest.raises(MoteError):
        highest("f1", np.array([0.0, np.nan]), np.array([True, False]))
