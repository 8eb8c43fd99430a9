"""Value ranges: per-channel minimum and maximum (index on the last axis) of every int8 tensor for any input, and bounds
of accumulators. Passes and kernels rely on them. Inputs and states may have any value; only states that are sliding
windows are bounded by what is written to them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph.numeric.fixedpoint import INT32_MAX
from mote.ir.graph.tensor import Array, Tensor
from mote.ir.graph.types import DType

RANGED = DType.INT8
"""The element type whose value ranges are tracked: `Op.range`, `Op.table` and their callers handle no other."""
LEAST, MOST = RANGED.limits


@dataclass(frozen=True, eq=False)
class Range:
    """The smallest and the largest value of each channel of a tensor."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Mask of channels whose values are constant."""
        one: NDArray[np.bool_] = self.low == self.high
        return one

    def max_distance(self, zero: int = 0) -> int:
        """The largest distance of any value in the range from `zero`."""
        return int(max((self.high - zero).max(), (zero - self.low).max()))

    @property
    def hull(self) -> Range:
        """The union of the ranges of all channels."""
        return Range(self.low.min(keepdims=True), self.high.max(keepdims=True))


@dataclass(frozen=True)
class Peak:
    """Bounds of an operator's int32 accumulators, for any model input."""

    total: int
    """Upper bound of the absolute value of the accumulator's final sum."""
    part: int
    """Upper bound of the absolute value of every partial sum, in any order of addition, and of intermediate values of
    requantization."""

    @property
    def headroom(self) -> float:
        """Unused bits of the accumulator, besides the sign bit; below zero it can overflow."""
        return 31 - math.log2(max(self.total, 1))

    @property
    def wraps(self) -> bool:
        """Whether the accumulator might overflow int32 at any time."""
        return self.part > INT32_MAX


def anything(t: Tensor) -> Range:
    return Range(np.full(t.channels, LEAST, np.int64), np.full(t.channels, MOST, np.int64))


def between(ends: Iterable[Array]) -> Range:
    """Per-channel range that covers the values of several tensors with equal channel counts."""
    rows = np.concatenate([end.reshape(-1, end.shape[-1] if end.ndim else 1) for end in ends]).astype(np.int64)
    return Range(rows.min(axis=0), rows.max(axis=0))
