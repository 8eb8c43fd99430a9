"""Integer requantization with the results of LiteRT's int16 FULLY_CONNECTED, which multiplies accumulators in double
precision and rounds once.

The double is an integer of up to 53 bits times a power of two. A multiplier with a few more bits can also reproduce how
the product rounds to a double. Equality is verified around the accumulators at which the result changes.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph.numeric.fixedpoint import scale_once

MOST_BITS = 62
"""Maximum width of a multiplier."""
PRODUCT_BITS = 93
"""Maximum width of a product of multiplier and accumulator."""
MOST_SHIFT = 62
NEIGHBOURS = (0, *(sign << bit for bit in range(10) for sign in (1, -1)))
"""Differences from the rounded multiplier that are tried."""
MOST_RESULT = 1 << 15

Exact = tuple[int, int]
"""A multiplier, and the right shift of the product minus 32."""


@lru_cache(maxsize=1 << 14)
def exact_scale(real: float, limit: int) -> Exact | None:
    """Multiplier and shift for accumulators of absolute value up to `limit` (at most 2^40); None if there are none."""
    if float(limit) * real < 0.5:
        return 0, 1
    fraction, exponent = math.frexp(real)
    bits = min(MOST_BITS, PRODUCT_BITS - limit.bit_length(), MOST_SHIFT + 32 + exponent)
    shift = bits - exponent - 32
    factor = round(math.ldexp(fraction, 53)) << bits >> 53
    tried = (factor + d for d in NEIGHBOURS if 0 < factor + d < 1 << bits)
    return next(((f, shift) for f in tried if shift > 0 and _same(real, limit, (f, shift))), None)


def exact_results(sums: NDArray[np.uint64], scale: Exact) -> NDArray[np.uint64]:
    """Results of the C function `mote_exact` for non-negative accumulators."""
    high, low = (np.uint64(part) for part in divmod(scale[0], 1 << 32))
    word, shift = np.uint64(32), np.uint64(scale[1])
    above, below = sums >> word, sums & np.uint64(0xFFFFFFFF)
    total = (above * high << word) + below * high + above * low + (below * low >> word)
    rounded: NDArray[np.uint64] = (total + (np.uint64(1) << (shift - np.uint64(1)))) >> shift
    return rounded


def _same(real: float, limit: int, scale: Exact) -> bool:
    """Whether the constants give LiteRT's result for all accumulators up to `limit`: verified on both sides of each
    change of the result, and at `limit`."""
    steps = np.arange(min(MOST_RESULT, int(limit * real)) + 1, dtype=np.int64) + 0.5
    near = np.ceil(steps / real).astype(np.int64)
    at = np.clip(np.concatenate([near - 1, near, near + 1, [limit]]), 0, limit)
    most = np.uint64(MOST_RESULT)
    results = np.minimum(exact_results(at.astype(np.uint64), scale), most)
    return np.array_equal(results, np.minimum(scale_once(at, real).astype(np.uint64), most))
