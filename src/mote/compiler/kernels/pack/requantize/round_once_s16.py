"""Integers that stand for LiteRT's FULLY_CONNECTED with int16 results, which multiplies sums in double precision and
rounds once.

The double itself is a whole number of up to 53 bits and a power of two. With a few bits more there is room to go where
rounding the product to a double goes. Whether the results are the same is decided at the sums at which they become
more, and beside them.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph.numeric.fixedpoint import scale_once

MOST_BITS = 62
"""Of a factor."""
PRODUCT_BITS = 93
"""Of a factor and a sum together."""
MOST_SHIFT = 62
NEIGHBOURS = (0, *(sign << bit for bit in range(10) for sign in (1, -1)))
"""The factors that are tried, beside the double."""
MOST_RESULT = 1 << 15

Exact = tuple[int, int]
"""A factor, and by how much the product is shifted right, less 32."""


@lru_cache(maxsize=1 << 14)
def exact_scale(real: float, limit: int) -> Exact | None:
    """The factor and the shift for sums no farther from zero than `limit`, which is at most 2^40; None where there are
    none."""
    if float(limit) * real < 0.5:
        return 0, 1
    fraction, exponent = math.frexp(real)
    bits = min(MOST_BITS, PRODUCT_BITS - limit.bit_length(), MOST_SHIFT + 32 + exponent)
    shift = bits - exponent - 32
    factor = round(math.ldexp(fraction, 53)) << bits >> 53
    tried = (factor + d for d in NEIGHBOURS if 0 < factor + d < 1 << bits)
    return next(((f, shift) for f in tried if shift > 0 and _same(real, limit, (f, shift))), None)


def exact_results(sums: NDArray[np.uint64], scale: Exact) -> NDArray[np.uint64]:
    """The results of `mote_exact` for accumulators that are not negative."""
    high, low = (np.uint64(part) for part in divmod(scale[0], 1 << 32))
    word, shift = np.uint64(32), np.uint64(scale[1])
    above, below = sums >> word, sums & np.uint64(0xFFFFFFFF)
    total = (above * high << word) + below * high + above * low + (below * low >> word)
    rounded: NDArray[np.uint64] = (total + (np.uint64(1) << (shift - np.uint64(1)))) >> shift
    return rounded


def _same(real: float, limit: int, scale: Exact) -> bool:
    """Whether these are LiteRT's results for all such sums: on both sides of each step, and at the end."""
    steps = np.arange(min(MOST_RESULT, int(limit * real)) + 1, dtype=np.int64) + 0.5
    near = np.ceil(steps / real).astype(np.int64)
    at = np.clip(np.concatenate([near - 1, near, near + 1, [limit]]), 0, limit)
    most = np.uint64(MOST_RESULT)
    results = np.minimum(exact_results(at.astype(np.uint64), scale), most)
    return np.array_equal(results, np.minimum(scale_once(at, real).astype(np.uint64), most))
