"""Integer multipliers and shifts that reproduce requantization in floats: LiteRT's FULLY_CONNECTED (double precision,
rounded once) and ONNX Runtime (single precision, halves to even).

A 31-bit multiplier differs from the double, and rounds halves up. Whether results are equal nevertheless is tested at
the 255 accumulator values where the result increases: a slightly larger multiplier rounds halves away from zero, as
LiteRT does. In single precision, products near a half become halves, so more distant multipliers are tried; if
accumulators meet exact halves, every other one would have to round the other way. If no multiplier near the exact
factor works, kernels use a table of thresholds, or compute in single precision.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints, quantize_multiplier, rescale_once, scale_even, scale_once
from mote.ir.graph.numeric.staircase import NEAR, reached

NEIGHBOURS = (0, 1, -1, 2, -2)
"""Offsets from the nearest multiplier that are tried."""
EVEN_NEIGHBOURS = (0, *(sign << bit for bit in range(10) for sign in (1, -1)))
"""Offsets from the nearest multiplier that are tried for single precision."""
MOST_RESULT = INT32_MAX - 256
"""Maximum result before the zero point is added, without int32 overflow."""
VALUES = np.arange(-127, 128, dtype=np.int64)
"""int8 results that are reached by an increase: all but the lowest."""

Scale = tuple[int, int]
"""A requantization scale as integer multiplier and shift."""


@lru_cache(maxsize=1 << 14)
def once_multiplier(real: float, zero: int, limit: int, *, even: bool = False) -> Scale:
    """Multiplier and shift for accumulators of magnitude up to `limit`: exact if possible, else the nearest."""
    mult, shift = nearest = quantize_multiplier(real)
    neighbours = EVEN_NEIGHBOURS if even else NEIGHBOURS
    tried = ((mult + d, shift) for d in neighbours if 0 <= mult + d <= INT32_MAX)
    return next((scale for scale in tried if same_once(real, zero, limit, scale, even=even)), nearest)


@lru_cache(maxsize=1 << 14)
def same_once(real: float, zero: int, limit: int, scale: Scale, *, even: bool = False) -> bool:
    """Whether `scale` gives exact results for all accumulators of magnitude up to `limit`: tested at and before each
    increase of the result, and at the ends."""
    if even and limit * real >= MOST_RESULT:
        return False
    steps = once_steps(real, zero, limit, even=even)
    at = np.concatenate([steps, steps - 1, _ends(limit)])
    wanted = once_results(at, real, zero, even=even)
    return np.array_equal(np.clip(rescale_once(at, *scale) + zero, -128, 127), wanted)


def once_steps(real: float, zero: int, limit: int = INT32_MAX + 1, *, even: bool = False) -> Ints:
    """For each of VALUES: the smallest accumulator of magnitude up to `limit` (except the lowest one) whose result
    reaches it; the largest accumulator if none does."""
    low, high = _ends(limit)
    with np.errstate(divide="ignore"):
        nearly = np.clip((VALUES - 0.5 - zero) / real, low, high).astype(np.int64)
    near = nearly - NEAR, nearly + NEAR
    low_ends = np.full_like(VALUES, low)
    return reached(lambda x: once_results(x, real, zero, even=even), low_ends, high, VALUES, near=near)


def once_results(x: Ints, real: float, zero: int, *, even: bool = False) -> Ints:
    """Requantize accumulators exactly as LiteRT or (`even`) ONNX Runtime, without activation."""
    return np.clip((scale_even if even else scale_once)(x, real) + zero, -128, 127)


def _ends(limit: int) -> Ints:
    """The smallest and largest int32 accumulator of magnitude up to `limit`."""
    return np.array([max(-limit, -INT32_MAX - 1), min(limit, INT32_MAX)], np.int64)
