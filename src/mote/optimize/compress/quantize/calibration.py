"""Calibration: from the statistics of a tensor to the range that is quantized.

A wide range loses nothing at its ends and rounds everything coarsely; a narrow one rounds finely and cuts off what lies
outside. The methods differ in what they call the best of it:

- `min-max`: nothing that was seen is cut off;
- `percentile`: a given share of the values is inside, 99.99 % unless told (`percentile:99.9`), and as many are cut off
  at either end;
- `mse`: the mean squared error, of rounding and of cutting off, is least;
- `entropy`: the distribution of the rounded values tells most about that of the values (least Kullback-Leibler
  divergence)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.base.integers import bincount, weighted
from mote.base.text import did_you_mean
from mote.optimize.compress.quantize.statistics import Numbers, Seen

METHODS = ("min-max", "percentile", "mse", "entropy")
PERCENTILE = 99.99
LEVELS = 256
"""Values of int8."""
DEAD = (0.0, 1.0)
"""The range of a tensor that is always zero."""
TRIED = 100
"""Candidates that `mse` and `entropy` try for each end of a range."""
NARROWEST = 0.1
"""The smallest part of the observed range that they try."""
NEVER = 1e-3
"""Count that stands for a value missing in a distribution, so that the divergence stays finite."""
ENOUGH = 64
"""Values in a bin for its frequency to be significant."""
FINER = 512
"""Fewest bins that show what 256 levels lose."""

Range = tuple[float, float]
Ranges = Mapping[int, Range]
"""Ranges by tensor id, as float values. Every range includes 0, for padding and rectified values."""


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


def ranges(seen: Mapping[int, Seen], method: str = "min-max") -> dict[int, Range]:
    """Ranges of all tensors for int8; int16 never needs clipping."""
    how = method_of(method)
    return {i: range_of(one, how) for i, one in seen.items()}


def range_of(seen: Seen, method: Method) -> Range:
    """The range of one tensor: within the observed values and 0."""
    whole = min(seen.low, 0.0), max(seen.high, 0.0)
    if whole == (0.0, 0.0):
        return DEAD
    ways: dict[str, Callable[[Seen, Range], Range]] = {
        "min-max": lambda _, all_of_it: all_of_it,
        "percentile": partial(_percentile, share=method.percentile / 100),
        "mse": _least_error,
        "entropy": _least_divergence,
    }
    return ways[method.name](seen, whole)


def _percentile(seen: Seen, whole: Range, share: float) -> Range:
    """Clips whole bins: at each end, as many as hold no more than half of the allowed share."""
    outside = seen.size * (1 - share) / 2
    below = int(np.searchsorted(np.cumsum(seen.counts), outside, side="right"))
    above = int(np.searchsorted(np.cumsum(seen.counts[::-1]), outside, side="right"))
    low = max(seen.low, float(seen.edges[min(below, len(seen.counts) - 1)]))
    high = min(seen.high, float(seen.edges[max(len(seen.counts) - above, 1)]))
    clipped = min(low, 0.0), max(high, 0.0)
    return clipped if clipped[0] < clipped[1] else whole


def _least_error(seen: Seen, whole: Range) -> Range:
    """Minimizes expected squared error: a twelfth of the squared step for rounding (none at exact zeros), the squared
    distance for clipping."""
    lows, highs = (end * _parts(end) for end in whole)
    below, above = _cut_off(seen.centres, seen.counts, lows, -1), _cut_off(seen.centres, seen.counts, highs, 1)
    step = (highs[None, :] - lows[:, None]) / (LEVELS - 1)
    inside = seen.size - seen.zeros - below.count[:, None] - above.count[None, :]
    error = step**2 / 12 * np.maximum(inside, 0) + below.error[:, None] + above.error[None, :]
    error[step <= 0] = np.inf
    i, j = np.unravel_index(int(np.argmin(error)), error.shape)
    return float(lows[i]), float(highs[j])


def _parts(end: float) -> Numbers:
    """Candidate fractions for one end of a range, the full range first: it wins ties."""
    return np.linspace(1.0, NARROWEST, TRIED) if end else np.ones(1)


@dataclass(frozen=True, eq=False)
class _CutOff:
    """For each candidate end: how many values are clipped, and the sum of their squared distances."""

    count: Numbers
    error: Numbers


def _cut_off(centres: Numbers, counts: NDArray[np.int64], ends: Numbers, side: int) -> _CutOff:
    distance = np.maximum(side * (centres - ends[:, None]), 0.0)
    often = counts.astype(np.float64)
    return _CutOff((distance > 0).astype(np.float64) @ often, distance**2 @ often)


def _least_divergence(seen: Seen, whole: Range) -> Range:
    """Clips both ends at the same distance from 0. Exact zeros are ignored, and bins are merged until they hold enough
    values to be significant; with too few values nothing is clipped."""
    counts, centres = _told(seen)
    if not counts.size:
        return whole
    reach = max(-whole[0], whole[1])
    tried = [(max(whole[0], -reach * part), min(whole[1], reach * part)) for part in _parts(reach)]
    return min(tried, key=lambda ends: _divergence(counts, centres, ends))


def _told(seen: Seen) -> tuple[Numbers, Numbers]:
    """Histogram of nonzero values in bins that mostly hold ENOUGH, with the bins' centres; empty where such bins are
    coarser than int8 steps."""
    counts = seen.counts.astype(np.float64)
    if seen.zeros:
        counts[-seen.first] -= seen.zeros
    joined = 1
    while counts.sum() < ENOUGH * len(counts) / joined:
        joined *= 2
    if len(counts) / joined < FINER:
        return np.zeros(0), np.zeros(0)
    places = np.arange(len(counts), dtype=np.int64) // joined
    centres = weighted(places, seen.centres) / bincount(places)
    return weighted(places, counts), centres


def _divergence(counts: Numbers, centres: Numbers, ends: Range) -> float:
    """Kullback-Leibler divergence between the observed histogram and its quantized form. Clipped values count at the
    ends of the former and are missing in the latter, where each level spreads over its nonempty bins."""
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
    told = np.maximum(share[level], NEVER)[hit]
    wanted, told = wanted[hit] / wanted.sum(), told / told.sum()
    return float(np.sum(wanted * np.log(wanted / told)))
