"""Fits thresholds to scores; a score above the threshold is a detection.

All thresholds between two neighbouring scores are equivalent; the best such interval is chosen, and within it a number
with few digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mote.base.errors import MoteError
from mote.bench.metrics.arrays import Array, check_finite
from mote.bench.metrics.events import events

MOST_TRIED = 512
"""Maximum number of intervals tried on a recording."""
DIGITS = 17
"""Digits that represent any float64 exactly."""


@dataclass(frozen=True)
class Interval:
    """Equivalent thresholds: from a score `low` up to but excluding the next score `high`."""

    low: float
    high: float

    @property
    def size(self) -> float:
        return self.high - self.low if np.isfinite(self.high) and np.isfinite(self.low) else 0.0

    def middle(self) -> float:
        """A threshold near the middle with few digits; beyond the outermost scores, near them."""
        low, high = self.low, self.high
        if not np.isfinite(high):
            high = low + max(abs(low), np.finfo(np.float64).tiny) / 64
        if not np.isfinite(low):
            low = high - max(abs(high), np.finfo(np.float64).tiny) / 64
        center = low / 2 + high / 2
        rounded = (float(f"{center:.{digits}g}") for digits in range(1, DIGITS + 1))
        return next((number for number in rounded if low <= number < high), self.low)


def f1(hits: Array, false: Array, missed: Array, right: Array) -> Array:
    """Harmonic mean of precision and recall."""
    value: Array = 2 * hits / np.maximum(2 * hits + false + missed, 1)
    return value


def accuracy(hits: Array, false: Array, missed: Array, right: Array) -> Array:
    """Share of correct decisions."""
    value: Array = (hits + right) / (hits + false + missed + right)
    return value


def balanced(hits: Array, false: Array, missed: Array, right: Array) -> Array:
    """Mean of both classes' shares of correct decisions."""
    value: Array = hits / (hits + missed) / 2 + right / (right + false) / 2
    return value


Metric = Callable[[Array, Array, Array, Array], Array]
FITTED: dict[str, Metric] = {"f1": f1, "accuracy": accuracy, "balanced": balanced}
"""Metrics for choosing a threshold."""


def highest(metric: str, scores: Array, positive: Array) -> Interval:
    """Interval of thresholds with the highest value of a metric; the widest of ties."""
    low, high, hits, false = _decisions(scores, positive)
    missed, right = positive.sum() - hits, (~positive).sum() - false
    value = FITTED[metric](hits, false, missed, right)
    return _widest(low, high, value == value.max())


def at_most(share: float, scores: Array, positive: Array) -> Interval:
    """Interval of thresholds with the fewest misses among those with at most this share of false positives."""
    low, high, hits, false = _decisions(scores, positive)
    allowed = false <= share * (~positive).sum()
    return _widest(low, high, allowed & (hits == hits[allowed].max()))


def percentile(percent: float, scores: Array) -> Interval:
    """Interval of the lowest thresholds that a percentage of scores does not exceed."""
    low, high, _, above = _decisions(scores, np.zeros(len(scores), np.bool_))
    enough = np.flatnonzero(100 * (len(scores) - above) >= percent * len(scores))[0]
    return Interval(float(low[enough]), float(high[enough]))


def quietest(false_alarms: float, times: Array, scores: Array, wanted: Array, duration: float) -> Interval:
    """Interval of thresholds with the fewest misses in a recording among those with at most `most` false alarms per
    hour; ties by false alarms."""
    bounds = np.unique(scores.astype(np.float64))
    some = np.unique(np.linspace(0, len(bounds) - 1, min(MOST_TRIED, len(bounds))).astype(np.int64))
    bounds = bounds[some]
    told = [events(times, scores, wanted, duration, threshold=float(t)).detail for t in bounds]
    loud = np.array([x["false_alarms_an_hour"] for x in told])
    missed = np.array([x["misses"] for x in told])
    allowed = loud <= false_alarms
    fewest = allowed & (missed == missed[allowed].min())
    best = fewest & (loud == loud[fewest].min())
    return _widest(bounds, np.append(bounds[1:], np.inf), best)


def _decisions(scores: Array, positive: Array) -> tuple[Array, Array, Array, Array]:
    """Intervals of thresholds, with the numbers of positive and other scores above each."""
    if not len(scores):
        raise MoteError("there are no scores to learn a threshold from", remedy="give samples")
    check_finite(scores, "the answer to")
    low = np.concatenate([[-np.inf], np.unique(scores.astype(np.float64))])
    ordered = [np.sort(scores[which].astype(np.float64)) for which in (positive, ~positive)]
    hits, false = (len(x) - np.searchsorted(x, low, "right") for x in ordered)
    return low, np.append(low[1:], np.inf), hits, false


def _widest(low: Array, high: Array, best: Array) -> Interval:
    """Widest run of neighbouring intervals among the best."""
    begins = np.flatnonzero(best & ~np.append(False, best[:-1]))
    ends = np.flatnonzero(best & ~np.append(best[1:], False))
    runs = [Interval(float(low[a]), float(high[b])) for a, b in zip(begins, ends, strict=True)]
    return max(runs, key=lambda run: run.size)
