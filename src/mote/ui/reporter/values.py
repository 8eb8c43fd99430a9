"""Distributions of weights and activations: histograms, saturated shares, and the range of each channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mote.bench.execute import batch
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.ops.elementwise.quantize import dequantized

BINS = 64
"""Most bars of a histogram."""
CHANNELS = 64
"""Most ranges of channels that are kept; of more channels, neighbours share one."""
DIGITS = 4
"""Significant digits of numbers that are drawn or read."""


@dataclass(frozen=True)
class Histogram:
    """Counts of values in bars of equal width from `lo` on, in codes where values are integers."""

    lo: float
    width: float
    counts: tuple[int, ...]

    def json(self) -> list[Any]:
        return [rounded(self.lo), rounded(self.width), list(self.counts)]


def rounded(value: float) -> float:
    """A number with few digits, for text; integers stay as they are."""
    return int(value) if float(value).is_integer() else float(f"{value:.{DIGITS}g}")


def span(tensor: Tensor, values: Array) -> tuple[float, float]:
    """The values that bars of a histogram begin and end at: all codes of an 8-bit type, else those that there are."""
    if tensor.dtype.integer and tensor.dtype.itemsize == 1:
        least, largest = tensor.dtype.limits
        return least, largest + 1
    if not values.size:
        return 0, 1
    lo, hi = float(values.min()), float(values.max())
    return (lo, hi + 1) if tensor.dtype.integer else (lo, hi if hi > lo else lo + 1)


def histogram(tensor: Tensor, values: Array) -> Histogram:
    """The histogram of all finite values of a tensor."""
    flat = np.asarray(values).reshape(-1)
    flat = flat if tensor.dtype.integer else flat[np.isfinite(flat)]
    lo, hi = span(tensor, flat)
    bars = BINS
    if tensor.dtype.integer:
        width = -(-int(hi - lo) // BINS)
        bars = -(-int(hi - lo) // width)
        hi = lo + bars * width
    counts, _ = np.histogram(flat.astype(np.float64), bars, (lo, hi))
    return Histogram(lo, (hi - lo) / bars, tuple(map(int, counts)))


def channel_ranges(tensor: Tensor, axis: int) -> list[list[float]] | None:
    """The least and the largest real value of the channels along an axis; None where there is one channel, or where
    values are not finite."""
    assert tensor.data is not None
    if len(tensor.shape) < 2 or tensor.shape[axis] < 2 or tensor.dtype.itemsize > 4:
        return None
    values = tensor.data if tensor.quant is None else dequantized(tensor.data, tensor)
    if not np.isfinite(values).all():
        return None
    rows = np.moveaxis(values, axis, 0).reshape(tensor.shape[axis], -1).astype(np.float64)
    groups = np.array_split(rows, min(len(rows), CHANNELS))
    return [[rounded(float(f"{x:.3g}")) for x in (group.min(), group.max())] for group in groups]


def activations(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> dict[int, dict[str, Any]]:
    """The distribution of each computed tensor and input over samples, by its id."""
    seen: dict[int, list[Array]] = {}
    for values in batch.evaluate(graph, cases):
        for t, value in values.items():
            seen.setdefault(t, []).append(value.reshape(-1))
    return {t: _distribution(graph.tensors[t], np.concatenate(values)) for t, values in seen.items()}


def _distribution(tensor: Tensor, values: Array) -> dict[str, Any]:
    data: dict[str, Any] = {"histogram": histogram(tensor, values).json()}
    if tensor.dtype.integer and tensor.quant is not None:
        lo, hi = tensor.dtype.limits
        data |= {name: rounded(float(np.mean(values == end))) for name, end in (("low", lo), ("high", hi))}
        data["saturated"] = rounded(data["high"] + (data["low"] if tensor.zero_point > lo else 0))
    return data
