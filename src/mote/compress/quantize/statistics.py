"""What calibration data shows of tensors: how far their values reach, how often which values occur, what channels do.

What is seen of some values and what is seen of others add up to what is seen of both (`Seen.and_`), in any order and
however the data is cut into batches. So data of any size is looked at batch by batch. Histograms have bins whose width
is a power of two and whose edges are whole multiples of it: where values reach further than the bins, two neighbours
become one bin, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mote.errors import MoteError
from mote.execute.batch import evaluate
from mote.graph import Graph, Tensor
from mote.graph.tensor import Array
from mote.graph.types import DType

BINS = 4096
"""The most bins of a histogram; where values differ at all, half as many are in use."""
FINEST = 24
"""Bins are no narrower than this many bits below the largest value, which is all that float32 tells apart."""
SMALLEST = -149
"""The exponent of the least float32."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Seen:
    """What some values of a tensor were. Channels are the indices on the last axis."""

    low: float
    high: float
    exponent: int
    """Bins are 2^exponent wide."""
    first: int
    """The first bin begins at this multiple of the width."""
    counts: NDArray[np.int64]
    zeros: int
    """How many values are exactly 0: these lose nothing, whatever the scale."""
    channel_low: Numbers
    channel_high: Numbers
    channel_sums: Numbers
    channel_squares: Numbers
    """The sums of squared values."""

    @cached_property
    def size(self) -> int:
        """How many values were seen."""
        return int(self.counts.sum())

    @cached_property
    def edges(self) -> Numbers:
        """Where bins begin, and where the last one ends."""
        return np.ldexp(self.first + np.arange(len(self.counts) + 1, dtype=np.float64), self.exponent)

    @property
    def centres(self) -> Numbers:
        """The middle of each bin, or the nearest value to it that may occur."""
        return np.clip((self.edges[:-1] + self.edges[1:]) / 2, self.low, self.high)

    @property
    def channel_means(self) -> Numbers:
        return self.channel_sums / self._each

    @property
    def channel_powers(self) -> Numbers:
        """The means of squared values."""
        return self.channel_squares / self._each

    @property
    def _each(self) -> float:
        """How many values each channel has."""
        return self.size / len(self.channel_sums)

    def and_(self, other: Seen) -> Seen:
        """What was seen of both."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        exponent = _exponent(low, high)
        first = _bin(low, exponent)
        counts = np.zeros(_bin(high, exponent) - first + 1, np.int64)
        for seen in (self, other):
            places = (seen.first + np.arange(len(seen.counts)) >> exponent - seen.exponent) - first
            np.add.at(counts, places, seen.counts)
        return Seen(
            low,
            high,
            exponent,
            first,
            counts,
            self.zeros + other.zeros,
            np.minimum(self.channel_low, other.channel_low),
            np.maximum(self.channel_high, other.channel_high),
            self.channel_sums + other.channel_sums,
            self.channel_squares + other.channel_squares,
        )


def look(values: Array, channels: int = 1) -> Seen:
    """What is seen of finite values, whose last axis has so many channels."""
    rows = np.asarray(values, np.float64).reshape(-1, channels)
    low, high = float(rows.min()), float(rows.max())
    exponent = _exponent(low, high)
    first = _bin(low, exponent)
    places = np.floor(np.ldexp(rows, -exponent)).astype(np.int64).reshape(-1) - first
    counts = np.bincount(places, minlength=_bin(high, exponent) - first + 1)
    zeros = rows.size - np.count_nonzero(rows)
    squares = np.einsum("nc,nc->c", rows, rows)
    return Seen(low, high, exponent, first, counts, int(zeros), rows.min(0), rows.max(0), rows.sum(0), squares)


def observe(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> dict[int, Seen]:
    """What calibration data shows of the inputs and of every computed tensor of real numbers; cases by the ids of
    inputs."""
    return observed(graph, evaluate(graph, cases))


def observed(graph: Graph, batches: Iterable[Mapping[int, Array]]) -> dict[int, Seen]:
    """The same from batches of the values of tensors."""
    seen: dict[int, Seen] = {}
    for batch in batches:
        for i, values in batch.items():
            tensor = graph.tensors[i]
            if tensor.data is not None or tensor.dtype != DType.FLOAT32 or not values.size:
                continue
            if not np.isfinite(values).all():
                raise _no_numbers(graph, tensor)
            found = look(values, tensor.channels)
            seen[i] = seen[i].and_(found) if i in seen else found
    return seen


def _exponent(low: float, high: float) -> int:
    """Of the narrowest bins, BINS at most, that hold a range. It never falls when the range grows."""
    most = max(-low, high)
    found = math.frexp(most)[1] - FINEST if most else SMALLEST
    found = max(found, SMALLEST, math.frexp(high - low)[1] - BINS.bit_length() if high > low else SMALLEST)
    while _bin(high, found) - _bin(low, found) >= BINS:
        found += 1
    return found


def _bin(value: float, exponent: int) -> int:
    return math.floor(math.ldexp(value, -exponent))


def _no_numbers(graph: Graph, tensor: Tensor) -> MoteError:
    producer = graph.producers.get(tensor.id)
    return MoteError(
        "values become infinite or no numbers (NaN) on the calibration data",
        where=producer.where if producer else f"input '{tensor.name}'",
        remedy="look for such values in the data, and for divisions by zero or logarithms of it in the model",
    )
