"""Rows of tensors: a row is the last two axes (width and channels), the unit that kernels compute in one call."""

from __future__ import annotations

from dataclasses import dataclass

from mote.ir.graph.tensor import Shape

OUTSIDE = -1
"""Row (or element) index of padding: outside of the image."""


@dataclass(frozen=True)
class Rows:
    """The rows `lo..hi-1` of a tensor."""

    lo: int
    hi: int


def inside(row: int, count: int) -> int:
    """`row` if it is within an image of `count` rows, else OUTSIDE."""
    return row if 0 <= row < count else OUTSIDE


def row_count(shape: Shape) -> int:
    """Number of rows of a tensor: the product of all axes but the last two (width and channels); of a matrix, its first
    axis."""
    if len(shape) <= 1:
        return 1
    count = 1
    for dim in shape[: -2 if len(shape) > 2 else 1]:
        count *= dim
    return count
