"""Weights without their blocks of zeros, for kernels that read with each block where its inputs are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST = 0.8
"""The share of blocks with weights above which it saves too little, for the code that it takes, to leave out the
others."""
LEAST = 2
"""Blocks of a row. They follow their inputs, but for the first one, which comes last: the one way back ends a row."""


class Sparse(NamedTuple):
    """A matrix without its blocks of zeros."""

    rows: list[NDArray[Any]]
    density: float
    """The share of its blocks that are left."""


def without_zeros(blocks: NDArray[Any], nbytes: int, at: int) -> Sparse | None:
    """The blocks of [rows, blocks, words] that are not zero, or None where few are. Word `at` of each is how far its
    inputs, of `nbytes` bytes, are from the end of those of the block before it."""
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
    """The blocks of a row that are used in the order in which kernels take them, with others where they are too few."""
    others = np.flatnonzero(~used)[: max(LEAST - int(used.sum()), 0)]
    return np.roll(np.union1d(np.flatnonzero(used), others), -1)


def paired(used: NDArray[np.bool_]) -> NDArray[np.intp] | None:
    """Rows of [rows, blocks] in an order in which two neighbours use few blocks between them: those that use the most
    first, each beside what adds the least to it; as they are where that is no better. None where most are used."""
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
    """Blocks that neighbours use, two by two."""
    return int(np.logical_or.reduceat(used, np.arange(0, len(used), 2, dtype=np.intp), axis=0).sum())
