"""The search for requantization constants: exact for every sum, whatever the reference's rounding is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.pack.requantize.search import (
    HALF_CHOOSING,
    Constants,
    Staircase,
    _least_factor,
    search,
    searched,
)
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.numeric.staircase import thresholds
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.round_once import once_multiplier


def outputs(found: Constants, factor: int, shift: int, sums: Ints) -> Ints:
    """What a kernel makes of sums; no register overflows."""
    y = factor * sums + found.offset
    r = (y * found.mult >> 32) + found.add + np.where(y < 0, 0, found.fix)
    assert np.all((y >= -(1 << 31)) & (y < 1 << 31)) and np.all(np.abs(r) < 1 << 31) and 0 <= found.mult < 1 << 31
    return np.clip(r >> shift, -128, 127)


FACTORS = st.sampled_from([4, 16, 576, 1 << 10, 1 << 12])
ENDS = st.tuples(st.integers(-40_000, 10_000), st.integers(-10_000, 40_000))


@given(ENDS, FACTORS, st.integers(8, 20), st.integers(1 << 30, (1 << 31) - 1), st.integers(1, 9),
       st.integers(-128, 127), st.booleans())  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_every_sum_of_a_channel(
    ends: tuple[int, int], factor: int, shift: int, mult: int, right: int, zero: int, once: bool
) -> None:
    """All sums that there are, not only those around the steps."""
    low, high = sorted(ends)
    real = np.ldexp([mult], -right - 31) if once else None
    sums = Accumulators(np.array([low]), np.array([high]), np.array([mult]), np.array([-right]), zero, real)
    assume(not sums.constant[0])
    rows = searched(sums, np.array([factor]), shift)
    assume(rows is not None)
    assert rows is not None
    x = np.arange(low, high + 1)
    assert np.array_equal(outputs(Constants(*rows[0].tolist()), factor, shift, x), sums.outputs(x))
    assert sums.linear or not rows[0, 3]


@given(
    st.integers(1 << 23, (1 << 24) - 1), st.integers(24, 34), st.sampled_from([576, 1 << 11]), st.integers(-128, 127)
)
@settings(max_examples=100, deadline=None)
def test_halves_to_even_in_float(mantissa: int, exponent: int, factor: int, zero: int) -> None:
    """Another reference: a scale in float32, rounded once, halves to even. Only its steps are known to the search."""
    low, high, scale = -20_000, 20_000, mantissa / 2**exponent
    shift = min(int(np.log2(factor / scale)) - 2, 18)

    def reference(x: Ints) -> Ints:
        scaled = np.rint(x.astype(np.float32) * np.float32(scale)).astype(np.int64)
        return np.clip(scaled + zero, -128, 127)

    first = int(reference(np.array([low]))[0])
    stairs = Staircase(low, high, first, thresholds(reference, low, high))
    found = search(stairs, factor, shift, round(scale * 2.0 ** (32 + shift) / factor), linear=True)
    assume(found is not None)
    assert found is not None
    x = np.arange(low, high + 1)
    assert np.array_equal(outputs(found, factor, shift, x), reference(x))


@pytest.mark.parametrize("zero", [-128, 3])
def test_rounding_to_even(zero: int) -> None:
    """Most channels have constants, by a tilt where products near halves become halves, and all of them are exact."""
    rng = np.random.default_rng(2)
    found = 0
    for real in np.float32(0.008 * rng.uniform(0.6, 1.6, 40)).astype(np.float64).tolist():
        mult, shift = once_multiplier(real, zero, 30_000, even=True)
        ends, scale = np.array([30_000]), (np.array([mult]), np.array([shift]))
        sums = Accumulators(-ends, ends, *scale, zero, np.array([real]), even=True)
        rows = searched(sums, np.array([256]), 7 - shift)
        x = np.arange(-30_000, 30_001)
        if rows is not None:
            found += 1
            assert np.array_equal(outputs(Constants(*rows[0].tolist()), 256, 7 - shift, x), sums.outputs(x))
        first = searched(sums, np.array([1]), -shift, HALF_CHOOSING)
        if first is not None:
            offset, mult, add, _ = first[0].tolist()
            high = ((x + offset) * mult + (1 << 30)) >> 31
            assert np.array_equal(np.clip((high + add) >> -shift, -128, 127), sums.outputs(x))
    assert found > 35


def test_ordinary_channels_have_constants() -> None:
    """Of 200 channels that are scaled far enough none is without, rounded twice or once."""
    rng = np.random.default_rng(0)
    n = 200
    for zero, once in ((-128, False), (3, False), (3, True)):
        mult, shift = rng.integers(1 << 30, 1 << 31, n), -rng.integers(6, 10, n)
        real = np.ldexp(mult, shift - 31) if once else None
        sums = Accumulators(np.full(n, -30_000), np.full(n, 30_000), mult, shift, zero, real)
        for factor in (576, 1 << 11):
            assert searched(sums, np.full(n, factor), 14) is not None


def test_a_channel_with_one_result_has_no_multiplier() -> None:
    sums = Accumulators(np.array([-9]), np.array([9]), np.array([1 << 30]), np.array([-9]), 5)
    rows = searched(sums, np.array([4]), 10)
    assert rows is not None and rows.tolist() == [[0, 0, (5 << 10) + 512, 0]]


def test_the_parts_of_a_staircase() -> None:
    stairs = Staircase(-10, 10, -3, np.array([-6, -2, -2, 0, 7]))
    below, above = stairs.part(-10, -1), stairs.part(0, 10)
    assert (below.first, below.steps.tolist()) == (-3, [-6, -2, -2])
    assert (above.first, above.steps.tolist()) == (1, [7])


@pytest.mark.slow
@given(st.integers(0, 200), st.integers(1, 200), st.integers(0, 199), st.integers(0, 199))
@settings(max_examples=500, deadline=None)
def test_the_least_factor(number: int, modulus: int, low: int, high: int) -> None:
    assume(low <= high < modulus)
    every = (k for k in range(modulus) if low <= k * number % modulus <= high)
    assert _least_factor(number, modulus, low, high) == next(every, None)
