"""Requantization in the lanes of vectors: equal to the reference for every sum that can occur."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.pack.requantize.vector import INT8_LIMITS, Lanes, Limits, lanes
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.matrix.accumulators import Accumulators
from tests.compiler.kernels.pack.test_requantize_dsp import around_thresholds, layers

LIMITS = st.sampled_from([INT8_LIMITS, INT8_LIMITS, (-128, 90), (-5, 127), (0, 100), (3, 4)])


def outputs(found: Lanes, sums: Ints, channel: int) -> Ints:
    """What a kernel makes of sums of a channel, to which nothing was added before."""
    added, mult, *right = found.constants(np.zeros_like(found.mult))[channel].tolist()
    y = 0 * sums + added if found.constant[channel] else (sums << found.scale) + added
    assert np.all((y >= -(1 << 31)) & (y < 1 << 31)) and 0 < mult < 1 << 31
    high = (y * mult + (1 << 30)) >> 31
    if found.form == "line":
        result = (high + (1 << found.shift - 1)) >> found.shift
    else:
        result = (high - (y < 0) + (1 << -right[0] - 1) >> -right[0]) + found.zero
    return np.clip(result, *found.limits)


@given(layers(), LIMITS)
@settings(max_examples=50, deadline=None)
def test_exact_for_every_sum(sums: Accumulators, limits: Limits) -> None:
    found = lanes(sums, limits)
    if found is None:
        return
    for c in range(len(sums.low)):
        x = around_thresholds(sums, c)
        assert np.array_equal(outputs(found, x, c), np.clip(sums.outputs(x, slice(c, c + 1)), *limits))


def ordinary(zero: int, once: bool, n: int = 100) -> Accumulators:
    rng = np.random.default_rng(0)
    mult, shift = rng.integers(1 << 30, 1 << 31, n), -rng.integers(6, 10, n)
    real = np.ldexp(mult, shift - 31) if once else None
    return Accumulators(np.full(n, -30_000), np.full(n, 30_000), mult, shift, zero, real)


def test_ordinary_layers_have_a_line() -> None:
    """Where negative results vanish, or results are rounded once; elsewhere they are rounded twice."""
    for zero, once, limits in ((-128, False, INT8_LIMITS), (3, False, (3, 127)), (3, True, INT8_LIMITS)):
        found = lanes(ordinary(zero, once), limits)
        assert found is not None and (found.form, found.shift) == ("line", 16)
    found = lanes(ordinary(3, False))
    assert found is not None and (found.form, found.zero) == ("twice", 3)


def test_all_sums_of_a_line() -> None:
    """Not only those around the steps."""
    sums = ordinary(-128, False, 4)
    found = lanes(sums)
    assert found is not None
    x = np.arange(-30_000, 30_001)
    for c in range(4):
        assert np.array_equal(outputs(found, x, c), sums.outputs(x, slice(c, c + 1)))


def test_biases_are_part_of_the_constants() -> None:
    sums = ordinary(-128, False, 4)
    found = lanes(sums)
    assert found is not None
    bias = np.array([0, 5, -7, 1 << 20])
    added = found.constants(bias)[:, 0].astype(np.int64) - found.constants(0 * bias)[:, 0]
    assert np.array_equal(added % (1 << 32), (bias << found.scale) % (1 << 32))


def test_what_cannot_be_is_refused() -> None:
    """One value that outputs can have, sums that wrap, and shifts to the left that are seen."""
    assert lanes(ordinary(3, False), (7, 7)) is None
    wraps = Accumulators(np.array([-(1 << 33)]), np.array([1 << 33]), np.array([1 << 30]), np.array([-9]), -128)
    assert lanes(wraps) is None
    left = Accumulators(np.array([-9]), np.array([9]), np.array([1 << 30]), np.array([1]), 3)
    assert lanes(left) is None
