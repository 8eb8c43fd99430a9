"""Block-sparse weights, for kernels that read the offset of the inputs with every nonzero block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST = 0.8
"""Maximum density: with a larger share of nonzero blocks, sparse code is not worth its size."""
LEAST = 2
"""Minimum number of blocks in a row. Blocks have ascending input offsets, except that the first one comes last: the
only step backwards marks the end of a row."""


class Sparse(NamedTuple):
    """A weight matrix without its zero blocks: the words of each row."""

    rows: list[NDArray[Any]]
    density: float
    """Share of the blocks that are kept."""


def without_zeros(blocks: NDArray[Any], nbytes: int, at: int) -> Sparse | None:
    """Removes zero blocks from [rows, blocks, words]; None if too few are zero. Word `at` of each kept block is the
    distance in bytes from the end of the previous block's inputs to its own inputs, which take `nbytes` bytes."""
    if blocks.shape[1] < LEAST:
        return None
    orders = [_order(row.any(axis=1)) for row in blocks]
    density = sum(map(len, orders)) / (blocks.shape[0] * blocks.shape[1])
    if density > MOST:
        return None
    rows = []
    for row, order in zip(blocks, orders, strict=True):
        before = np.array([0, *order[:-1] + 1])
        rows.append(np.insert(row[order], at, (order - before) * nbytes, axis=1).reshape(-1))
    return Sparse(rows, density)


def _order(used: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Indices of the kept blocks of a row in kernel order, filled up with zero blocks to the minimum number."""
    others = np.flatnonzero(~used)[: max(LEAST - int(used.sum()), 0)]
    return np.roll(np.union1d(np.flatnonzero(used), others), -1)


def paired(used: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """Orders the rows of [rows, blocks] so that neighboring pairs share many blocks: greedily, the densest row first,
    followed by the row that adds fewest blocks. The original order if that is no worse; None if the matrix is too
    dense."""
    if used.mean() > MOST:
        return None
    left = np.argsort(-used.sum(axis=1), kind="stable").tolist()
    rows = []
    while left:
        first = left.pop(0)
        more = (used[left] & ~used[first]).sum(axis=1)
        rows += [first, *([left.pop(int(more.argmin()))] if left else [])]
    return min(np.arange(len(used), dtype=np.int64), np.array(rows), key=lambda order: _together(used[order]))


def _together(used: NDArray[np.bool_]) -> int:
    """Number of blocks used by pairs of neighboring rows."""
    return int(np.logical_or.reduceat(used, np.arange(0, len(used), 2, dtype=np.intp), axis=0).sum())
