"""Functions of 16-bit fixed-point numbers, as LiteRT's integer LSTM computes them (gemmlowp's series, in 16 bits).

"Q3.12" has 3 bits before the point and 12 after it.
"""

from __future__ import annotations

import numpy as np

from mote.graph.fixedpoint import EXP_BITS, Ints, high_mul, rounding_shift_right

ONE = 32767
"""In Q0.15, nearly."""

EXP_BITS16 = tuple((k, int(rounding_shift_right(np.array(factor), 16))) for k, factor in EXP_BITS)
"""(k, exp(-2^k)) in Q0.15."""


def saturate16(x: Ints) -> Ints:
    clipped: Ints = np.clip(x, -32768, 32767)
    return clipped


def high_mul16(a: Ints, b: Ints | int) -> Ints:
    """floor((a * b + 2^14) / 2^15)."""
    return (a * b + (1 << 14)) >> 15


def exp16(x: Ints, bits: int) -> Ints:
    """exp of numbers <= 0 with `bits` bits before the point, in Q0.15: see `exp_on_negative`."""
    quarter = 1 << 13 - bits
    rest = (x & (quarter - 1)) - quarter
    a = (rest << bits) + (1 << 12)
    a2 = high_mul16(a, a)
    a3, a4 = high_mul16(a2, a), high_mul16(a2, a2)
    third, centre = 10923, 28918
    tail = rounding_shift_right(high_mul16(rounding_shift_right(a4, 2) + a3, third) + a2, 1)
    result = saturate16(centre + high_mul16(a + tail, centre))
    quarters = rest - x
    for k, factor in EXP_BITS16:
        if k < bits:
            result = np.where(quarters & (1 << 15 - bits + k), high_mul16(result, factor), result)
    if bits > 5:
        result = np.where(x < -(1 << 20 - bits), 0, result)
    return np.where(x == 0, ONE, result)


def half_reciprocal16(x: Ints) -> Ints:
    """2 / (1 + x) of numbers from 0 to 1 in Q0.15, in Q2.13: three steps of Newton's method."""
    half = (x + ONE + 1) >> 1
    y = 23130 + high_mul16(half, -15420)
    for _ in range(3):
        y = y + saturate16(high_mul16(y, (1 << 13) - high_mul16(half, y)) << 2)
    return y


def logistic16(x: Ints) -> Ints:
    """1 / (1 + exp(-x)), from Q3.12 to Q0.15."""
    x = np.asarray(x, np.int64)
    above = saturate16(half_reciprocal16(exp16(-np.abs(x), 3)) << 1)
    return np.where(x == 0, 1 << 14, np.where(x > 0, above, ONE - above))


def tanh16(x: Ints, bits: int) -> Ints:
    """tanh of numbers with `bits` bits before the point, in Q0.15."""
    x = np.asarray(x, np.int64)
    above = saturate16(half_reciprocal16(exp16(-np.abs(x), bits + 1)) - (1 << 13) << 2)
    return np.where(x == 0, 0, np.where(x > 0, above, -above))


def inverse_sqrt(x: int) -> tuple[int, int]:
    """1 / sqrt(x) as multiplier and shift (see `rescale`): five steps of Newton's method."""
    if x <= 1:
        return (1 << 31) - 1, 0
    right = 11
    while x >= 1 << 29:
        x //= 4
        right += 1
    pairs = (31 - x.bit_length()) // 2 - 1
    right -= pairs
    half = int(rounding_shift_right(np.array(x << 2 * pairs >> 1), 1))
    y = 1 << 28
    for _ in range(5):
        cube = _left(_product(_product(y, y), y), 6)
        y = _left(_product(3 << 27, y) - _product(half, cube), 3)
    y = _product(y, 1518500250)
    return (y << -right, 0) if right < 0 else (y, -right)


def _product(a: int, b: int) -> int:
    return int(high_mul(np.array(a), b))


def _left(x: int, bits: int) -> int:
    return min(x << bits, (1 << 31) - 1)
