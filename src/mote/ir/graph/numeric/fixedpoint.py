"""The integer arithmetic of quantized inference, bit-exact with LiteRT's reference kernels.

Every int8 kernel scales an int32 accumulator by a factor, mostly in (0, 1), that is stored as a 31-bit mantissa and a
power of two. `rescale` rounds twice (doubling high multiply, then shift), as almost all of LiteRT does. LiteRT's
FULLY_CONNECTED is `scale_once`, in double precision; `rescale_once` rounds once in integers, as kernels do.
`scale_even` is ONNX Runtime's, in single precision. `rescale_affine` is exact, for QONNX models.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
OVERFLOW = 1 << 10
"""Shift that stands for an infinite or NaN multiplier: no operator accepts it."""


@lru_cache(maxsize=1 << 14)
def quantize_multiplier(real: float) -> tuple[int, int]:
    """`real` as (mantissa, shift): real ~ mantissa / 2^31 * 2^shift, mantissa in [2^30, 2^31). Infinity and NaN have
    the shift OVERFLOW, which no operator accepts."""
    (mantissa,), (shift,) = quantize_multipliers(np.array([real]))
    return int(mantissa), int(shift)


def quantize_multipliers(real: NDArray[np.float64]) -> tuple[Ints, Ints]:
    """`quantize_multiplier` for an array: mantissas and shifts."""
    finite = np.isfinite(real)
    fraction, exponent = np.frexp(np.where(finite, real, 0.0))
    size = np.floor(np.abs(fraction) * (1 << 31) + 0.5).astype(np.int64)
    carry = size == 1 << 31
    shift = exponent + carry.astype(np.int64)
    size = np.where(shift >= -31, size >> carry, 0)
    mantissa = np.where(fraction > 0, size, -size)
    shift = np.where(mantissa == 0, 0, shift)
    return np.where(finite, mantissa, 1 << 30), np.where(finite, shift, OVERFLOW)


def high_mul(a: Ints, b: Ints | int) -> Ints:
    """floor((a * b + 2^30) / 2^31): the high half of the doubled product, rounded."""
    return (np.asarray(a, np.int64) * np.asarray(b, np.int64) + (1 << 30)) >> 31


def rounding_shift_right(x: Ints, bits: Ints | int) -> Ints:
    """x / 2^bits, rounded to nearest with halves away from zero."""
    x = np.asarray(x, np.int64)
    bits = np.asarray(bits, np.int64)
    rounded: Ints = x + ((1 << bits) >> 1)
    rounded -= (x < 0) & (bits > 0)
    return rounded >> bits


def wrap32(x: Ints) -> Ints:
    """x wrapped to int32 (two's complement)."""
    return np.asarray(x, np.int64).astype(np.int32).astype(np.int64)


def rescale(x: Ints, mantissa: Ints | int, shift: Ints | int) -> Ints:
    """x * mantissa / 2^31 * 2^shift, rounded twice."""
    shift = np.asarray(shift, np.int64)
    left = np.maximum(shift, 0)
    high = high_mul(wrap32(np.asarray(x, np.int64) << left), mantissa)
    return rounding_shift_right(high, np.maximum(-shift, 0))


def reduced(mantissa: Ints | int) -> Ints:
    """The mantissa rounded to 15 bits, as LiteRT uses it to scale 64-bit accumulators."""
    mantissa = np.asarray(mantissa, np.int64)
    return np.where(mantissa < 0x7FFF0000, (mantissa + (1 << 15)) >> 16, 0x7FFF)


def rescale_wide(x: Ints, mantissa: Ints | int, shift: Ints | int) -> Ints:
    """x * mantissa / 2^31 * 2^shift for 64-bit accumulators, with the mantissa reduced to 15 bits, rounded once (halves
    up) and wrapped to int32."""
    total = 15 - np.asarray(shift, np.int64)
    product = np.asarray(x, np.int64) * reduced(mantissa)
    return wrap32((product + (np.int64(1) << (total - 1))) >> total)


def rescale_once(x: Ints, mantissa: Ints | int, shift: Ints | int) -> Ints:
    """x * mantissa / 2^31 * 2^shift, rounded once (halves up)."""
    total = 31 - np.asarray(shift, np.int64)
    product = np.asarray(x, np.int64) * np.asarray(mantissa, np.int64)
    return (product + (np.int64(1) << (total - 1))) >> total


def rescale_affine(x: Ints, mantissa: Ints | int, shift: Ints | int, add: Ints | int) -> Ints:
    """(x * mantissa + add) / 2^31 * 2^shift, rounded once, halves to even."""
    bits = 31 - np.asarray(shift, np.int64)
    product = np.asarray(x, np.int64) * np.asarray(mantissa, np.int64) + add
    whole = product >> bits
    rest, half = product - (whole << bits), np.int64(1) << (bits - 1)
    rounded: Ints = whole + ((rest > half) | ((rest == half) & (whole & 1 == 1)))
    return rounded


def scale_once(x: Ints, real: NDArray[np.float64] | float) -> Ints:
    """x * real in double precision, rounded once, halves away from zero. Clamped to +-2^32; in int32 it equals
    LiteRT's."""
    product = np.clip(np.asarray(x, np.float64) * real, -(2.0**32), 2.0**32)
    whole = np.trunc(product)
    return (whole + np.copysign(np.abs(product - whole) >= 0.5, product)).astype(np.int64)


def scale_even(x: Ints, real: NDArray[np.float64] | float) -> Ints:
    """x * real in single precision, halves to even, clamped to +-2^32."""
    with np.errstate(over="ignore"):
        product = np.asarray(x, np.int64).astype(np.float32) * np.asarray(real).astype(np.float32)
    return np.rint(np.clip(product, -(2.0**32), 2.0**32)).astype(np.int64)


INT32_MAX = (1 << 31) - 1

EXP_BITS = ((-2, 1672461947), (-1, 1302514674), (0, 790015084), (1, 290630308), (2, 39332535), (3, 720401),
            (4, 242))  # fmt: skip
"""Pairs (k, exp(-2^k) in Q0.31)."""


def exp_on_negative(x: Ints, bits: int) -> Ints:
    """exp(x) for x <= 0 with `bits` integer bits, in Q0.31, as gemmlowp computes it: a Taylor series around -1/8 for
    the remainder modulo 1/4, times exp(-2^k) for each set bit k of the rest."""
    quarter = 1 << 31 - bits - 2
    rest = (x & (quarter - 1)) - quarter
    a = (rest << bits) + (1 << 28)
    a2 = high_mul(a, a)
    a3, a4 = high_mul(a2, a), high_mul(a2, a2)
    third = 715827883
    tail = rounding_shift_right(high_mul(rounding_shift_right(a4, 2) + a3, third) + a2, 1)
    centre = 1895147668
    result = centre + high_mul(a + tail, centre)
    quarters = rest - x
    for k, factor in EXP_BITS:
        if k < bits:
            result = np.where(quarters & (1 << 31 - bits + k), high_mul(result, factor), result)
    return np.where(x == 0, INT32_MAX, result)


def half_reciprocal(normalized: Ints) -> Ints:
    """2^61 / x for x in [2^31, 2^32), by three Newton iterations."""
    half = normalized >> 1
    one = 1 << 29
    x = 1515870810 + high_mul(half, -1010580540)
    for _ in range(3):
        x = x + (high_mul(x, one - high_mul(half, x)) << 2)
    return x


def reciprocal(normalized: Ints) -> Ints:
    """2^62 / x for x in [2^31, 2^32), saturating."""
    doubled: Ints = np.minimum(half_reciprocal(normalized) << 1, INT32_MAX)
    return doubled
