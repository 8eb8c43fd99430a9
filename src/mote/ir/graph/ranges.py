"""Value ranges: per-channel minimum and maximum (index on the last axis) of every int8 tensor for any input, and the
bounds of accumulators. Passes and kernels rely on them; nothing is assumed of inputs, nor of states but sliding
windows."""

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
"""The type whose values are followed: `Op.range`, `Op.table` and who asks them know no other."""
LEAST, MOST = RANGED.limits


@dataclass(frozen=True, eq=False)
class Range:
    """The least and the largest value of each channel."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Channels with one value, everywhere and always."""
        one: NDArray[np.bool_] = self.low == self.high
        return one

    def farthest(self, zero: int = 0) -> int:
        """How far from `zero` the values go."""
        return int(max((self.high - zero).max(), (zero - self.low).max()))

    @property
    def hull(self) -> Range:
        """One range that holds those of all channels."""
        return Range(self.low.min(keepdims=True), self.high.max(keepdims=True))


@dataclass(frozen=True)
class Peak:
    """How far the sums go that an operator keeps in 32 bits, whatever a model is given."""

    total: int
    """The largest absolute value of a sum."""
    part: int
    """The upper bounds of every partial sum, in any order of addition, and of the requantized sum."""

    @property
    def headroom(self) -> float:
        """How many bits are left of those that a sum has beside its sign; below zero it can wrap."""
        return 31 - math.log2(max(self.total, 1))

    @property
    def wraps(self) -> bool:
        """Whether something might not fit 32 bits."""
        return self.part > INT32_MAX


def anything(t: Tensor) -> Range:
    return Range(np.full(t.channels, LEAST, np.int64), np.full(t.channels, MOST, np.int64))


def between(ends: Iterable[Array]) -> Range:
    """The range that covers the values of some tensors of one shape."""
    rows = np.concatenate([end.reshape(-1, end.shape[-1] if end.ndim else 1) for end in ends]).astype(np.int64)
    return Range(rows.min(axis=0), rows.max(axis=0))
