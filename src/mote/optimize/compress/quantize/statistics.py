"""Calibration statistics of tensors: minimum, maximum, histogram and per-channel moments.

Statistics of batches merge exactly and in any order (`and_`), so that data of any size can be processed in batches.
Histogram bins have power-of-two widths and edges at multiples of the width: if the range grows, pairs of bins are
merged, exactly."""

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
"""Maximum number of histogram bins; at least half of them are used if values differ."""
FINEST = 24
"""Minimum bin width, in bits below the largest value: the precision of float32."""
SMALLEST = -149
"""Exponent of the smallest float32."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TensorStatistics:
    """Statistics of a tensor's values; channels are the indices on the last axis."""

    low: float
    high: float
    exponent: int
    """Bin width as a power of two: 2
    exponent."""
    first: int
    """Lower edge of the first bin, in bin widths."""
    counts: NDArray[np.int64]
    zeros: int
    """Number of exact zeros, which have no rounding error at any scale."""
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
        """Center of each bin, clipped to the observed range."""
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

    def and_(self, other: TensorStatistics) -> TensorStatistics:
        """Statistics of the values of both."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        exponent = _exponent(low, high)
        first = _bin(low, exponent)
        counts = np.zeros(_bin(high, exponent) - first + 1, np.int64)
        for seen in (self, other):
            places = (seen.first + np.arange(len(seen.counts), dtype=np.int64) >> exponent - seen.exponent) - first
            np.add.at(counts, places, seen.counts)
        return TensorStatistics(
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


def look(values: Array, channels: int = 1) -> TensorStatistics:
    """Statistics of an array of finite values with `channels` channels on the last axis."""
    rows = np.asarray(values, np.float64).reshape(-1, channels)
    low, high = float(rows.min()), float(rows.max())
    exponent = _exponent(low, high)
    first = _bin(low, exponent)
    places = np.floor(np.ldexp(rows, -exponent)).astype(np.int64).reshape(-1) - first
    counts = bincount(places, _bin(high, exponent) - first + 1)
    zeros = rows.size - np.count_nonzero(rows)
    squares = np.einsum("nc,nc->c", rows, rows)
    return TensorStatistics(
        low, high, exponent, first, counts, int(zeros), rows.min(0), rows.max(0), rows.sum(0), squares
    )


def observe(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> dict[int, TensorStatistics]:
    """Calibration statistics of inputs and float activations; `cases` are samples by input id."""
    return observed(graph, evaluate(graph, cases))


def observed(graph: Graph, batches: Iterable[Mapping[int, Array]]) -> dict[int, TensorStatistics]:
    """Calibration statistics from batches of tensor values."""
    seen: dict[int, TensorStatistics] = {}
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
    """Exponent of the smallest bin width with which at most BINS bins cover a range; never decreases when the range
    grows."""
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
