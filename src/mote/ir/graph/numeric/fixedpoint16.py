"""Functions of 16-bit fixed-point numbers: as in LiteRT's integer LSTM (gemmlowp's series, in 16 bits), and by
interpolation in a lookup table, as in LiteRT's other int16 kernels.

"Q3.12" has 3 integer bits and 12 fractional bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph.numeric.fixedpoint import EXP_BITS, Ints, high_mul, rounding_shift_right

ONE = 32767
"""The largest int16, 1.0 in Q0.15 up to 2^-15."""

EXP_BITS16 = tuple((k, int(rounding_shift_right(np.array(factor), 16))) for k, factor in EXP_BITS)
"""Pairs (k, exp(-2^k) in Q0.15)."""


def saturate16(x: Ints) -> Ints:
    clipped: Ints = np.clip(x, -32768, 32767)
    return clipped


def high_mul16(a: Ints, b: Ints | int) -> Ints:
    """floor((a * b + 2^14) / 2^15): the product of Q0.15 numbers, rounded."""
    return (a * b + (1 << 14)) >> 15


def exp16(x: Ints, bits: int) -> Ints:
    """exp(x) for x <= 0 with `bits` integer bits, in Q0.15: `exp_on_negative` in 16 bits."""
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
    """2 / (1 + x) in Q2.13, for x in [0, 1] in Q0.15, by three Newton iterations."""
    half = (x + ONE + 1) >> 1
    y = 23130 + high_mul16(half, -15420)
    for _ in range(3):
        y = y + saturate16(high_mul16(y, (1 << 13) - high_mul16(half, y)) << 2)
    return y


def logistic16(x: Ints) -> Ints:
    """Sigmoid: input in Q3.12, result in Q0.15."""
    x = np.asarray(x, np.int64)
    above = saturate16(half_reciprocal16(exp16(-np.abs(x), 3)) << 1)
    return np.where(x == 0, 1 << 14, np.where(x > 0, above, ONE - above))


def tanh16(x: Ints, bits: int) -> Ints:
    """tanh(x) in Q0.15, for int16 x with `bits` integer bits."""
    x = np.asarray(x, np.int64)
    above = saturate16(half_reciprocal16(exp16(-np.abs(x), bits + 1)) - (1 << 13) << 2)
    return np.where(x == 0, 0, np.where(x > 0, above, -above))


def inverse_sqrt(x: int) -> tuple[int, int]:
    """1 / sqrt(x) as multiplier and shift (see `rescale`), by five Newton iterations."""
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
"""Number of line segments in the lookup table of an int16 function, each over 128 inputs."""

Reals = NDArray[Any]
"""Array of float32 or float64."""


def wrap16(x: Ints) -> Ints:
    """x wrapped to int16 (two's complement)."""
    return np.asarray(x, np.int64).astype(np.int16).astype(np.int64)


def line_ends(
    function: Callable[[Reals], Reals],
    x: tuple[float, int],
    y: tuple[float, int],
    real: type[np.float32] | type[np.float64] = np.float32,
) -> NDArray[np.int16]:
    """Lookup table of a function for `interpolate`: the 513 end points of linear segments. `x` and `y`: scale and zero
    point of argument and result. Each end is shifted by half the error in the middle of the segment after it. NaN (of
    infinite results) becomes 32767. The result's zero point is not added, as in LiteRT."""
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
    """Round to the nearest integer, halves away from zero."""
    whole = np.trunc(x)
    rounded: Reals = whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)
    return rounded


def interpolate(x: Ints, ends: NDArray[np.int16]) -> Ints:
    """Evaluate a lookup table of segment end points at int16 values. Slopes and sums wrap to int16, as in LiteRT."""
    line = (np.asarray(x, np.int64) >> 7) + SEGMENTS // 2
    begin, end = (ends[line + k].astype(np.int64) for k in (0, 1))
    return wrap16(begin + (wrap16(end - begin) * (x & 127) + 64 >> 7))


def _sigmoid() -> Ints:
    """Table of the sigmoid minus 1/2 in Q0.16: each value shifted by half the interpolation error in the middle of the
    segment after it; the last is nearly 1/2."""
    at = 65536 / (1 + np.exp(-np.arange(0, 256.5, 0.5, dtype=np.float64) / 24))
    off = at[1::2] - (at[:-1:2] + at[2::2]) / 2
    return np.append(np.rint(at[:-2:2] + off / 2)[:255], 65535).astype(np.int64) - 32768


SIGMOID = _sigmoid()
"""Lookup table of 1 / (1 + exp(-i / 24)) - 1/2, for i from 0 to 255, in Q0.16."""


def logistic_by_table(x: Ints, mult: int, shift: int) -> Ints:
    """Sigmoid in Q0.15 by table; `mult` and `shift` rescale the input to fixed point with 12 * 2^10 steps per unit."""
    above, negative = _above_half(x, mult, shift, 9, 32766 * 512)
    return 16384 + (np.where(negative, 511 - above, above + 512) >> 10)


def tanh_by_table(x: Ints, mult: int, shift: int) -> Ints:
    """tanh in Q0.15 by the sigmoid's table: tanh(x) = 2 * sigmoid(2x) - 1."""
    above, negative = _above_half(x, mult, shift, 8, 32767 * 256)
    return np.where(negative, 127 - above, above + 128) >> 8


def _above_half(x: Ints, mult: int, shift: int, bits: int, most: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Sigmoid of |x| minus 1/2, interpolated between table entries that are 2^bits steps apart, `most` past the table's
    end; and a mask of negative inputs."""
    scaled = (np.asarray(x, np.int64) * mult + (1 << shift >> 1)) >> shift
    size = np.abs(scaled)
    cell = np.minimum(size >> bits, 254)
    begin, end = SIGMOID[cell], SIGMOID[cell + 1]
    inside = (begin << bits) + (size & (1 << bits) - 1) * (end - begin)
    return np.where(size >> bits >= 255, most, inside), scaled < 0
