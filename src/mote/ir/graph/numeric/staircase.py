"""Thresholds of a monotonic integer function: the inputs at which its result increases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mote.ir.graph.numeric.fixedpoint import Ints

NEAR = 2
"""Maximum distance, in most cases, between an exact threshold and its estimate in float arithmetic."""


def thresholds(outputs: Callable[[Ints], Ints], low: int, high: int) -> Ints:
    """The inputs in low+1..high at which a non-decreasing function's result increases."""
    first, last = outputs(np.array([low, high], np.int64))
    return reached(outputs, np.array(low), np.array(high), np.arange(first + 1, last + 1, dtype=np.int64))


def reached(outputs: Callable[[Ints], Ints], low: Ints, high: Ints, values: Ints, near: Sequence[Ints] = ()) -> Ints:
    """For each of `values`: the smallest input in low+1..high at which a non-decreasing function reaches it, or `high`
    if it never does. Binary search that probes the guesses `near` first."""
    below, above = np.broadcast_arrays(low, high, values)[:2]
    looked = iter(near)
    while np.any(above - below > 1):
        middle = np.clip(next(looked, (below + above) // 2), below, above)
        enough = outputs(middle) >= values
        above, below = np.where(enough, middle, above), np.where(enough, below, middle)
    return above
