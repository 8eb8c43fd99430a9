"""Search for constants that add two int8 numbers with a single rounding and still give LiteRT's result, which is
rounded several times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.elementwise.arithmetic import INT8

ROUNDS = 64
"""Maximum number of steps of the hill climbing; successful searches take less than ten."""
LARGEST = 1 << 25
"""Limit for initial factors, twice the largest usable ones: no search from larger factors succeeds."""


@dataclass(frozen=True)
class AddPrecision:
    """The right shifts in clamp(((a * x >> dropped) + (b * y >> dropped) + c) >> shift), an approximation of int8
    addition."""

    shift: int
    dropped: int = 0


ONE_STEP = AddPrecision(21)
"""The precision of `mote_add_s8.h`."""


def affine(want: Ints, ratio_a: float, ratio_b: float, precision: AddPrecision) -> tuple[tuple[int, int], int] | None:
    """Finds (p, q), r with clamp(((p * a >> dropped) + (q * b >> dropped) + r) >> shift) == want[a + 128, b + 128] for
    all int8 a, b.

    Rounding twice is not affine, but `want` has only 256 levels: p and q need not be the exact ratios, they must only
    keep each of the 65,536 pairs on its level. Each pair bounds r from both sides, so p and q are valid if the largest
    lower bound does not exceed the smallest upper bound. That slack is concave in (p, q) except for dropped bits; hill
    climbing maximizes it from the exact ratios. Scaling both up slightly rounds ties away from zero, as LiteRT does.
    """
    shift, dropped = precision.shift, precision.dropped
    low = np.where(want > -128, want << shift, -(1 << 40))
    high = np.where(want < 127, ((want + 1) << shift) - 1, 1 << 40)

    def bounds(p: int, q: int) -> tuple[int, int]:
        total = (p * INT8 >> dropped)[:, None] + (q * INT8 >> dropped)[None, :]
        return int((low - total).max()), int((high - total).min())

    def slack(pair: tuple[int, int]) -> int:
        lower, upper = bounds(*pair)
        return upper - lower

    one = 1 << (shift + dropped)
    best = round(ratio_a * one), round(ratio_b * one)
    if max(map(abs, best)) >> dropped > LARGEST:
        return None
    best_slack = slack(best)
    steepest = max(abs(ratio_a), abs(ratio_b))
    step = one >> 16
    for _ in range(ROUNDS):
        if best_slack >= 0 or not step:
            break
        stretch = round(step * ratio_a / steepest), round(step * ratio_b / steepest)
        around = [(step * i, step * j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j] + [stretch]
        nearby = max(((best[0] + i, best[1] + j) for i, j in around), key=slack)
        gained = slack(nearby)
        if gained > best_slack:
            best, best_slack = nearby, gained
        else:
            step //= 2
    lower, upper = bounds(*best)
    r = (max(lower, -(1 << 31)) + min(upper, 1 << 31)) // 2
    sums = abs(r) + ((abs(best[0]) + abs(best[1])) << 7 >> dropped)
    fits = max(abs(best[0]), abs(best[1])) < 1 << 31 and sums < (1 << 31) - (1 << 24)
    return (best, r) if best_slack >= 0 and fits else None
