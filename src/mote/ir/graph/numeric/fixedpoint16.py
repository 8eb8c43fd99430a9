"""Functions of 16-bit fixed-point numbers: as LiteRT's integer LSTM computes them (gemmlowp's series, in 16 bits), and
by interpolation in a table, as its other kernels do.

"Q3.12" has 3 bits before the point and 12 after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph.numeric.fixedpoint import EXP_BITS, Ints, high_mul, rounding_shift_right

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


SEGMENTS = 512
"""Lines that a function of an int16 value is made of, each over 128 inputs."""

Reals = NDArray[Any]
"""float32 or float64."""


def wrap16(x: Ints) -> Ints:
    """x as a 16-bit register holds it."""
    return np.asarray(x, np.int64).astype(np.int16).astype(np.int64)


def line_ends(
    function: Callable[[Reals], Reals],
    x: tuple[float, int],
    y: tuple[float, int],
    real: type[np.float32] | type[np.float64] = np.float32,
) -> NDArray[np.int16]:
    """A function as the 513 ends of lines, for `interpolate`, between the scales and zero points of its argument and of
    its result. Every end is moved by half of what the line after it is off in its middle. What is no number then, from
    results that are infinite, is the largest one. LiteRT leaves out the result's zero point, and so does this."""
    first, last = (real(x[0]) * real(end - x[1]) for end in (-32768, 32767))
    lowest, highest = (real(y[0]) * real(end - y[1]) for end in (-32768, 32767))
    step = (last - first) / real(SEGMENTS)
    steps = real(1 << 16) / (highest - lowest)
    with np.errstate(over="ignore", invalid="ignore"):
        numbers: Reals = np.arange(SEGMENTS + 1, dtype=np.int64).astype(real)
        begins = first + numbers * step
        at = function(begins) * steps
        rounded = _rounded(at)
        middle = _rounded(function(begins[:-1] + step / real(2)) * steps)
        off = _rounded((at[1:] + rounded[:-1]) / real(2)) - middle
        ends = np.append(rounded[:-1] - _rounded(off / real(2)), _rounded(function(np.array([last], real)) * steps))
    return np.where(np.isnan(ends), 32767, np.clip(ends, -32768, 32767)).astype(np.int16)


def _rounded(x: Reals) -> Reals:
    """Halves away from zero."""
    whole = np.trunc(x)
    rounded: Reals = whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)
    return rounded


def interpolate(x: Ints, ends: NDArray[np.int16]) -> Ints:
    """The function whose lines have these ends, at int16 values. Slopes and sums wrap, as LiteRT's do."""
    line = (np.asarray(x, np.int64) >> 7) + SEGMENTS // 2
    begin, end = (ends[line + k].astype(np.int64) for k in (0, 1))
    return wrap16(begin + (wrap16(end - begin) * (x & 127) + 64 >> 7))


def _sigmoid() -> Ints:
    """Each value is moved by half of what the line to the next one is off in its middle; the last one is nearly 1."""
    at = 65536 / (1 + np.exp(-np.arange(0, 256.5, 0.5, dtype=np.float64) / 24))
    off = at[1::2] - (at[:-1:2] + at[2::2]) / 2
    return np.append(np.rint(at[:-2:2] + off / 2)[:255], 65535).astype(np.int64) - 32768


SIGMOID = _sigmoid()
"""A table of 1 / (1 + exp(-i / 24)) - 1/2, for i from 0 up to 255, in Q0.16."""


def logistic_by_table(x: Ints, mult: int, shift: int) -> Ints:
    """1 / (1 + exp(-x)) in Q0.15 of what becomes x with 12 * 2^10 steps for 1, scaled by a multiplier and a shift."""
    above, negative = _above_half(x, mult, shift, 9, 32766 * 512)
    return 16384 + (np.where(negative, 511 - above, above + 512) >> 10)


def tanh_by_table(x: Ints, mult: int, shift: int) -> Ints:
    """tanh(x) in Q0.15 by the table of the sigmoid, which has half the slope."""
    above, negative = _above_half(x, mult, shift, 8, 32767 * 256)
    return np.where(negative, 127 - above, above + 128) >> 8


def _above_half(x: Ints, mult: int, shift: int, bits: int, most: int) -> tuple[Ints, NDArray[np.bool_]]:
    """How far the curve is above one half for the absolute value of x, between the values of the table, which are
    2^bits steps apart; behind its end `most`. And where x is negative."""
    scaled = (np.asarray(x, np.int64) * mult + (1 << shift >> 1)) >> shift
    size = np.abs(scaled)
    cell = np.minimum(size >> bits, 254)
    begin, end = SIGMOID[cell], SIGMOID[cell + 1]
    inside = (begin << bits) + (size & (1 << bits) - 1) * (end - begin)
    return np.where(size >> bits >= 255, most, inside), scaled < 0
