"""The integer arithmetic of quantized inference."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mote.ir.graph.numeric.fixedpoint import OVERFLOW, quantize_multiplier, quantize_multipliers, rounding_shift_right

ODD = (0.0, -0.0, 0.5, 1.0, 1 - 2.0**-40, -(1 - 2.0**-40), 2.0**-32, 2.0**-33, -(2.0**-33), 1e300, 5e-324)


def test_multipliers_are_the_nearest_with_31_bits() -> None:
    random = np.random.default_rng(0)
    real = np.append(ODD, random.uniform(-1, 1, 500) * 2.0 ** random.integers(-36, 12, 500))
    for value, mantissa, shift in zip(real.tolist(), *map(np.ndarray.tolist, quantize_multipliers(real)), strict=True):
        assert (mantissa, shift) == quantize_multiplier(value)
        exact = Fraction(value)
        if mantissa == 0:
            assert shift == 0 and abs(exact) < Fraction(1, 1 << 32)
            continue
        assert 1 << 30 <= abs(mantissa) < 1 << 31
        unit = Fraction(2) ** (shift - 31)
        assert abs(mantissa * unit - exact) <= unit / 2


def test_multipliers_that_no_operator_takes() -> None:
    for value in (math.inf, -math.inf, math.nan):
        assert quantize_multiplier(value) == (1 << 30, OVERFLOW)


def test_shifts_round_halves_away_from_zero() -> None:
    values = np.arange(-40, 41)
    for bits in range(5):
        whole = [math.copysign(math.floor(abs(Fraction(int(v), 1 << bits)) + Fraction(1, 2)), v) for v in values]
        assert rounding_shift_right(values, bits).tolist() == whole
    assert rounding_shift_right(values[:5], np.arange(5)).tolist() == [-40, -20, -10, -5, -2]
