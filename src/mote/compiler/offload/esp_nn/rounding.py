"""FULLY_CONNECTED with LiteRT's rounding, by functions that round twice.

LiteRT scales sums in double precision and rounds once. ESP-NN multiplies and rounds, shifts right and rounds again,
which differs near halves. If the multiplier includes the shift there is no second rounding; it then has fewer bits, and
whether results are still equal is checked at the sums where the result changes (`mote.ir.ops.matrix.round_once`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from mote.ir.graph.numeric.fixedpoint import INT32_MAX, quantize_multiplier, rescale
from mote.ir.ops.matrix.round_once import NEIGHBOURS, Scale, once_results, once_steps


@lru_cache(maxsize=1 << 14)
def twice_multiplier(real: float, zero: int, limit: int) -> Scale | None:
    """A multiplier and shift with which rounding twice gives LiteRT's results for all sums from -`limit` to `limit`;
    None if there is none."""
    steps = once_steps(real, zero, limit)
    at = np.concatenate([steps, steps - 1, [-limit, limit]])
    wanted = once_results(at, real, zero)
    for mult, shift in _candidates(real):
        if limit << max(shift, 0) > INT32_MAX:
            continue
        if np.array_equal(np.clip(rescale(at, mult, shift) + zero, -128, 127), wanted):
            return mult, shift
    return None


def _candidates(real: float) -> Iterator[Scale]:
    """Candidate multipliers and shifts, with fewer and fewer bits left to the shift; the last ones round only once."""
    mult, shift = quantize_multiplier(real)
    for held in range(max(-shift, 0) + 1):
        nearest = (mult + (1 << held >> 1)) >> held
        yield from ((nearest + d, shift + held) for d in NEIGHBOURS if 0 <= nearest + d <= INT32_MAX)
