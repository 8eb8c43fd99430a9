"""Calibration: derives a tensor's quantization range from its statistics.

A wide range clips nothing but rounds coarsely; a narrow one rounds finely and clips outliers. Methods:

- `min-max`: clip nothing that was observed;
- `percentile`: keep a share of the values, by default 99.99% (`percentile:99.9`), and clip equally many at both ends;
- `mse`: minimize the mean squared error of rounding and clipping;
- `entropy`: minimize the Kullback-Leibler divergence between the distributions of values before and after
  quantization."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.base.integers import bincount, weighted
from mote.base.text import did_you_mean
from mote.optimize.compress.quantize.statistics import Numbers, TensorStatistics

METHODS = ("min-max", "percentile", "mse", "entropy")
PERCENTILE = 99.99
LEVELS = 256
"""Number of int8 values."""
DEAD = (0.0, 1.0)
"""Range for a tensor that is always zero."""
TRIED = 100
"""Number of candidate ends that `mse` and `entropy` try at each side of a range."""
NARROWEST = 0.1
"""Smallest candidate end, relative to the observed range."""
NEVER = 1e-3
"""Count substituted for empty bins, so that the divergence stays finite."""
ENOUGH = 64
"""Minimum mean count per bin for a significant histogram."""
FINER = 512
"""Minimum number of bins to judge quantization to 256 levels."""

Range = tuple[float, float]
Ranges = Mapping[int, Range]
"""Float ranges by tensor id. Every range includes 0, for padding and ReLU."""


@dataclass(frozen=True)
class Method:
    """A calibration method with its parameter."""

    name: str = "min-max"
    percentile: float = PERCENTILE

    def __str__(self) -> str:
        return f"percentile:{self.percentile:g}" if self.name == "percentile" else self.name


def method_of(text: str) -> Method:
    """Parses a method as users write it: `mse`, or `percentile:99.9`."""
    name, colon, parameter = text.partition(":")
    if name not in METHODS or (colon and name != "percentile"):
        near = did_you_mean(name, METHODS)
        raise MoteError(f"there is no calibration method '{text}'", remedy=f"{near}known are {', '.join(METHODS)}")
    if not colon:
        return Method(name)
    try:
        share = float(parameter)
    except ValueError:
        share = 0.0
    if not 50 <= share <= 100:
        raise MoteError(
            f"'{parameter}' is no percentage of values to keep",
            where=f"calibration method '{text}'",
            remedy="write a number from 50 to 100, such as percentile:99.9",
        )
    return Method(name, share)


def ranges(statistics: Mapping[int, TensorStatistics], method: str = "min-max") -> dict[int, Range]:
    """Calibrated int8 ranges of all tensors (int16 needs no clipping)."""
    how = method_of(method)
    return {i: range_of(one, how) for i, one in statistics.items()}


def range_of(statistics: TensorStatistics, method: Method) -> Range:
    """Calibrated range of one tensor, within its observed values and 0."""
    observed = min(statistics.low, 0.0), max(statistics.high, 0.0)
    if observed == (0.0, 0.0):
        return DEAD
    ways: dict[str, Callable[[TensorStatistics, Range], Range]] = {
        "min-max": lambda _, all_of_it: all_of_it,
        "percentile": partial(_percentile, share=method.percentile / 100),
        "mse": _least_error,
        "entropy": _least_divergence,
    }
    return ways[method.name](statistics, observed)


def _percentile(statistics: TensorStatistics, observed: Range, share: float) -> Range:
    """Percentile range: clips entire histogram bins, at each end up to half of the allowed share."""
    outside = statistics.size * (1 - share) / 2
    below = int(np.searchsorted(np.cumsum(statistics.counts), outside, side="right"))
    above = int(np.searchsorted(np.cumsum(statistics.counts[::-1]), outside, side="right"))
    low = max(statistics.low, float(statistics.edges[min(below, len(statistics.counts) - 1)]))
    high = min(statistics.high, float(statistics.edges[max(len(statistics.counts) - above, 1)]))
    clipped = min(low, 0.0), max(high, 0.0)
    return clipped if clipped[0] < clipped[1] else observed


def _least_error(statistics: TensorStatistics, observed: Range) -> Range:
    """Range of least expected squared error: step^2 / 12 for rounding (0 for exact zeros), squared distance for
    clipping."""
    lows, highs = (end * _parts(end) for end in observed)
    below, above = (
        _cut_off(statistics.centres, statistics.counts, lows, -1),
        _cut_off(statistics.centres, statistics.counts, highs, 1),
    )
    step = (highs[None, :] - lows[:, None]) / (LEVELS - 1)
    inside = statistics.size - statistics.zeros - below.count[:, None] - above.count[None, :]
    error = step**2 / 12 * np.maximum(inside, 0) + below.error[:, None] + above.error[None, :]
    error[step <= 0] = np.inf
    i, j = np.unravel_index(int(np.argmin(error)), error.shape)
    return float(lows[i]), float(highs[j])


def _parts(end: float) -> Numbers:
    """Candidate ends as fractions of the observed one; the full range comes first, so that it wins ties."""
    return np.linspace(1.0, NARROWEST, TRIED) if end else np.ones(1)


@dataclass(frozen=True, eq=False)
class _CutOff:
    """Clipped values for each candidate end: their count and the sum of their squared distances from it."""

    count: Numbers
    error: Numbers


def _cut_off(centres: Numbers, counts: NDArray[np.int64], ends: Numbers, side: int) -> _CutOff:
    distance = np.maximum(side * (centres - ends[:, None]), 0.0)
    often = counts.astype(np.float64)
    return _CutOff((distance > 0).astype(np.float64) @ often, distance**2 @ often)


def _least_divergence(statistics: TensorStatistics, observed: Range) -> Range:
    """Range of least divergence: clips both ends at the same distance from 0. Exact zeros are ignored, and bins are
    merged until significant; with too few values nothing is clipped."""
    counts, centres = _significant_histogram(statistics)
    if not counts.size:
        return observed
    reach = max(-observed[0], observed[1])
    tried = [(max(observed[0], -reach * part), min(observed[1], reach * part)) for part in _parts(reach)]
    return min(tried, key=lambda ends: _divergence(counts, centres, ends))


def _significant_histogram(statistics: TensorStatistics) -> tuple[Numbers, Numbers]:
    """Histogram of nonzero values, with bins merged until they hold ENOUGH on average, and the bin centers; empty if
    such bins are coarser than int8 steps."""
    counts = statistics.counts.astype(np.float64)
    if statistics.zeros:
        counts[-statistics.first] -= statistics.zeros
    joined = 1
    while counts.sum() < ENOUGH * len(counts) / joined:
        joined *= 2
    if len(counts) / joined < FINER:
        return np.zeros(0), np.zeros(0)
    places = np.arange(len(counts), dtype=np.int64) // joined
    centres = weighted(places, statistics.centres) / bincount(places)
    return weighted(places, counts), centres


def _divergence(counts: Numbers, centres: Numbers, ends: Range) -> float:
    """Kullback-Leibler divergence between the observed histogram (clipped values counted in the end bins) and its
    quantized form (without clipped values; each level is spread over its nonempty bins)."""
    bins = np.clip(np.searchsorted(centres, ends, side="left"), 0, len(centres) - 1)
    first, last = int(bins[0]), int(bins[1])
    kept = counts[first : last + 1]
    wanted = kept.copy()
    wanted[0] += counts[:first].sum()
    wanted[-1] += counts[last + 1 :].sum()
    step = (ends[1] - ends[0]) / (LEVELS - 1)
    level = np.clip(np.rint((centres[first : last + 1] - ends[0]) / step), 0, LEVELS - 1).astype(np.int64)
    hit = wanted > 0
    share = weighted(level, kept, LEVELS) / np.maximum(weighted(level, hit, LEVELS), 1)
    quantized_share = np.maximum(share[level], NEVER)[hit]
    wanted, quantized_share = wanted[hit] / wanted.sum(), quantized_share / quantized_share.sum()
    return float(np.sum(wanted * np.log(wanted / quantized_share)))
