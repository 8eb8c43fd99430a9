"""Thresholds of a monotonic integer function: the inputs at which its result increases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mote.ir.graph.numeric.fixedpoint import Ints

NEAR = 2
"""How far a step is, at most and most often, from where float arithmetic has it."""


def thresholds(outputs: Callable[[Ints], Ints], low: int, high: int) -> Ints:
    """The sums in low+1..high at which a rising function's result becomes more."""
    first, last = outputs(np.array([low, high], np.int64))
    return reached(outputs, np.array(low), np.array(high), np.arange(first + 1, last + 1, dtype=np.int64))


def reached(outputs: Callable[[Ints], Ints], low: Ints, high: Ints, values: Ints, near: Sequence[Ints] = ()) -> Ints:
    """The first sums in low+1..high at which a rising function's result is one of `values` or more, `high` where it
    never is. Looking at sums `near` those first makes the search short."""
    below, above = np.broadcast_arrays(low, high, values)[:2]
    looked = iter(near)
    while np.any(above - below > 1):
        middle = np.clip(next(looked, (below + above) // 2), below, above)
        enough = outputs(middle) >= values
        above, below = np.where(enough, middle, above), np.where(enough, below, middle)
    return above
