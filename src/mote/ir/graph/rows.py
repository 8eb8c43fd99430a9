"""Rows of tensors: a row is the last two axes, the unit that kernels compute in one call."""

from __future__ import annotations

from dataclasses import dataclass

from mote.ir.graph.tensor import Shape

OUTSIDE = -1
"""The row that a window reads above or below the image."""


@dataclass(frozen=True)
class Rows:
    """Rows `lo..hi-1` of a tensor."""

    lo: int
    hi: int


def inside(row: int, count: int) -> int:
    """`row` where an image of `count` rows has it, else OUTSIDE."""
    return row if 0 <= row < count else OUTSIDE


def row_count(shape: Shape) -> int:
    """Rows of a tensor: everything but its last two axes (width and channels); a matrix has its lines."""
    if len(shape) <= 1:
        return 1
    count = 1
    for dim in shape[: -2 if len(shape) > 2 else 1]:
        count *= dim
    return count
