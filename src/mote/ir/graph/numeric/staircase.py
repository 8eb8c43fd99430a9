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
    low_bound, high_bound = np.broadcast_arrays(low, high, values)[:2]
    guesses = iter(near)
    while np.any(high_bound - low_bound > 1):
        middle = np.clip(next(guesses, (low_bound + high_bound) // 2), low_bound, high_bound)
        enough = outputs(middle) >= values
        high_bound, low_bound = np.where(enough, middle, high_bound), np.where(enough, low_bound, middle)
    return high_bound
