"""Search for constants that give LiteRT's squares of differences of int8 numbers, each with one multiplication."""

from __future__ import annotations

import numpy as np

from mote.ir.graph.numeric.fixedpoint import Ints

FRACTION = 16
"""Bits after the point of differences and of results."""
DROPPED = 8
"""Bits of a factor that are dropped after a multiplication with an int8 number."""
NEIGHBOURS = (0, 1, -1, 2, -2, 3, -3)
"""Distances of the factors to try from the exact ratio."""
MOST = 255
"""Largest square, over the lowest int8 number."""


def difference(x: Ints, want: Ints, ratio: float) -> tuple[int, int] | None:
    """Finds a, c with (c + (a * x >> 8)) >> 16 == want for all x; None if there are none."""
    for near in NEIGHBOURS:
        a = round(ratio * (1 << FRACTION + DROPPED)) + near
        bounds = _constant(a * x >> DROPPED, want << FRACTION, (want + 1 << FRACTION) - 1)
        if bounds is not None and abs(a) < 1 << 31:
            return a, bounds
    return None


def squared(most: int, want: Ints, ratio: float) -> tuple[int, int] | None:
    """Finds mult, add so that ((d * d * mult >> 32) + add) >> 16, clamped to 0..255, is want[d] for all d up to `most`;
    None if there are none."""
    squares = np.arange(most + 1, dtype=np.int64) ** 2
    low = np.where(want > 0, want << FRACTION, -(1 << 31))
    high = np.where(want < MOST, (want + 1 << FRACTION) - 1, 1 << 31)
    for near in NEIGHBOURS:
        mult = round(ratio * (1 << 32 + FRACTION)) + near
        if not 0 < mult < 1 << 31:
            return None
        add = _constant(squares * mult >> 32, low, high)
        if add is not None and (int(squares[-1]) * mult >> 32) + abs(add) < 1 << 31:
            return mult, add
    return None


def _constant(values: Ints, low: Ints, high: Ints) -> int | None:
    """The middle of all constants that bring every value into its bounds; None if there are none."""
    lower, upper = int((low - values).max()), int((high - values).min())
    return None if lower > upper else (lower + upper) // 2
