"""Multipliers and shifts that reproduce LiteRT's FULLY_CONNECTED, which scales accumulators in double precision and
rounds once, and ONNX Runtime, which does so in single precision and rounds to even.

A 31-bit multiplier is not the double, and rounds halves up. Whether its results are equal all the same is decided at
the 255 accumulator values where the result increases: a slightly larger multiplier rounds halves away from zero, as
LiteRT does. In single precision, products near a half become halves, so the multipliers that are tried lie further
apart; where accumulators meet halves themselves, every other one would have to round the other way. Where no multiplier
near the exact factor will do, kernels hold the thresholds themselves, or compute in single precision.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints, quantize_multiplier, rescale_once, scale_even, scale_once
from mote.ir.graph.numeric.staircase import NEAR, reached

NEIGHBOURS = (0, 1, -1, 2, -2)
"""The multipliers that are tried, beside the nearest one."""
EVEN_NEIGHBOURS = (0, *(sign << bit for bit in range(10) for sign in (1, -1)))
"""The multipliers that are tried where products are rounded to single precision."""
MOST_RESULT = INT32_MAX - 256
"""Kernels round results in 32 bits and add a zero point."""
VALUES = np.arange(-127, 128, dtype=np.int64)
"""The results that have a step."""

Scale = tuple[int, int]
"""A multiplier and a shift."""


@lru_cache(maxsize=1 << 14)
def once_multiplier(real: float, zero: int, limit: int, *, even: bool = False) -> Scale:
    """Multiplier and shift of sums that are no farther from zero than `limit`; the nearest where none is exact."""
    mult, shift = nearest = quantize_multiplier(real)
    neighbours = EVEN_NEIGHBOURS if even else NEIGHBOURS
    tried = ((mult + d, shift) for d in neighbours if 0 <= mult + d <= INT32_MAX)
    return next((scale for scale in tried if same_once(real, zero, limit, scale, even=even)), nearest)


@lru_cache(maxsize=1 << 14)
def same_once(real: float, zero: int, limit: int, scale: Scale, *, even: bool = False) -> bool:
    """Whether these are exact for all such sums: at every step, before it, and at the ends."""
    if even and limit * real >= MOST_RESULT:
        return False
    steps = once_steps(real, zero, limit, even=even)
    at = np.concatenate([steps, steps - 1, _ends(limit)])
    wanted = once_results(at, real, zero, even=even)
    return np.array_equal(np.clip(rescale_once(at, *scale) + zero, -128, 127), wanted)


def once_steps(real: float, zero: int, limit: int = INT32_MAX + 1, *, even: bool = False) -> Ints:
    """The first of such sums, but for the least one, that has each of VALUES or more; the last one where none has."""
    low, high = _ends(limit)
    with np.errstate(divide="ignore"):
        nearly = np.clip((VALUES - 0.5 - zero) / real, low, high).astype(np.int64)
    near = nearly - NEAR, nearly + NEAR
    low_ends = np.full_like(VALUES, low)
    return reached(lambda x: once_results(x, real, zero, even=even), low_ends, high, VALUES, near=near)


def once_results(x: Ints, real: float, zero: int, *, even: bool = False) -> Ints:
    """The requantized sums as LiteRT or ONNX Runtime computes them, before any activation."""
    return np.clip((scale_even if even else scale_once)(x, real) + zero, -128, 127)


def _ends(limit: int) -> Ints:
    """The least and the largest sum in 32 bits that is not farther from zero."""
    return np.array([max(-limit, -INT32_MAX - 1), min(limit, INT32_MAX)], np.int64)
