"""Calibration statistics of tensors: minimum, maximum, histogram, and per-channel moments.

Statistics of batches merge exactly (`Seen.and_`), in any order, so that data of any size is processed batch by batch.
Histograms have bins whose width is a power of two and whose edges are whole multiples of it: where values reach further
than the bins, two neighbours become one bin, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.base.integers import bincount
from mote.bench.execute.batch import evaluate
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

BINS = 4096
"""The most bins of a histogram; at least half of them are in use where values differ."""
FINEST = 24
"""Bins are no narrower than this many bits below the largest value: the precision of float32."""
SMALLEST = -149
"""The exponent of the smallest float32."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Seen:
    """Statistics of a tensor's values. Channels are the indices on the last axis."""

    low: float
    high: float
    exponent: int
    """Bins are 2^exponent wide."""
    first: int
    """Start of the first bin, as a multiple of the width."""
    counts: NDArray[np.int64]
    zeros: int
    """Number of exact zeros, which lose nothing at any scale."""
    channel_low: Numbers
    channel_high: Numbers
    channel_sums: Numbers
    channel_squares: Numbers
    """Per-channel sums of squares."""

    @cached_property
    def size(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    @cached_property
    def edges(self) -> Numbers:
        """Edges of the bins."""
        return np.ldexp(self.first + np.arange(len(self.counts) + 1, dtype=np.float64), self.exponent)

    @property
    def centres(self) -> Numbers:
        """Centre of each bin, or the nearest value that occurs."""
        return np.clip((self.edges[:-1] + self.edges[1:]) / 2, self.low, self.high)

    @property
    def channel_means(self) -> Numbers:
        return self.channel_sums / self._each

    @property
    def channel_powers(self) -> Numbers:
        """Per-channel mean squares."""
        return self.channel_squares / self._each

    @property
    def _each(self) -> float:
        """Number of values per channel."""
        return self.size / len(self.channel_sums)

    def and_(self, other: Seen) -> Seen:
        """Merges two statistics."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        exponent = _exponent(low, high)
        first = _bin(low, exponent)
        counts = np.zeros(_bin(high, exponent) - first + 1, np.int64)
        for seen in (self, other):
            places = (seen.first + np.arange(len(seen.counts), dtype=np.int64) >> exponent - seen.exponent) - first
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
    """Statistics of finite values, whose last axis has this many channels."""
    rows = np.asarray(values, np.float64).reshape(-1, channels)
    low, high = float(rows.min()), float(rows.max())
    exponent = _exponent(low, high)
    first = _bin(low, exponent)
    places = np.floor(np.ldexp(rows, -exponent)).astype(np.int64).reshape(-1) - first
    counts = bincount(places, _bin(high, exponent) - first + 1)
    zeros = rows.size - np.count_nonzero(rows)
    squares = np.einsum("nc,nc->c", rows, rows)
    return Seen(low, high, exponent, first, counts, int(zeros), rows.min(0), rows.max(0), rows.sum(0), squares)


def observe(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> dict[int, Seen]:
    """Calibration statistics of the inputs and of every float activation; cases by input ids."""
    return observed(graph, evaluate(graph, cases))


def observed(graph: Graph, batches: Iterable[Mapping[int, Array]]) -> dict[int, Seen]:
    """Calibration statistics from batches of tensor values."""
    seen: dict[int, Seen] = {}
    for batch in batches:
        for i, values in batch.items():
            tensor = graph.tensors[i]
            if tensor.data is not None or tensor.dtype != DType.FLOAT32 or not values.size:
                continue
            if not np.isfinite(values).all():
                raise _no_numbers(graph, tensor)
            statistics = look(values, tensor.channels)
            seen[i] = seen[i].and_(statistics) if i in seen else statistics
    return seen


def _exponent(low: float, high: float) -> int:
    """Exponent of the narrowest bins, BINS at most, that cover a range. It never falls when the range grows."""
    most = max(-low, high)
    exponent = math.frexp(most)[1] - FINEST if most else SMALLEST
    exponent = max(exponent, SMALLEST, math.frexp(high - low)[1] - BINS.bit_length() if high > low else SMALLEST)
    while _bin(high, exponent) - _bin(low, exponent) >= BINS:
        exponent += 1
    return exponent


def _bin(value: float, exponent: int) -> int:
    return math.floor(math.ldexp(value, -exponent))


def _no_numbers(graph: Graph, tensor: Tensor) -> MoteError:
    producer = graph.producers.get(tensor.id)
    return MoteError(
        "values become infinite or no numbers (NaN) on the calibration data",
        where=producer.where if producer else f"input '{tensor.name}'",
        remedy="look for such values in the data, and for divisions by zero or logarithms of it in the model",
    )
