"""Requantization in two instructions: equal to the reference for every sum that can occur."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.pack.requantize.dsp import Narrow, narrow, shifts
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.numeric.staircase import thresholds
from mote.ir.ops.matrix.accumulators import Accumulators
from tests.helpers.support import examples


@st.composite
def layers(draw: st.DrawFn) -> Accumulators:
    """Channels whose shifts and ranges differ."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    n = 6
    least = draw(st.integers(1, 9))
    mult = np.where(rng.random(n) < 0.2, rng.choice([1 << 30, (1 << 31) - 1], n), rng.integers(1 << 30, 1 << 31, n))
    top = 1 << rng.integers(6, 20, n)
    low, high = -rng.integers(0, top), rng.integers(0, top)
    zero = draw(st.sampled_from([-128, -128, -5, 0, 127]))
    shift = -(least + rng.integers(0, draw(st.integers(1, 8)), n))
    return Accumulators(low, high, mult, shift, zero, np.ldexp(mult, shift - 31) if draw(st.booleans()) else None)


def around_thresholds(sums: Accumulators, channel: int) -> Ints:
    """Sums at which the output changes, their neighbours, and the ends."""
    low, high = int(sums.low[channel]), int(sums.high[channel])
    steps = thresholds(lambda x: sums.outputs(x, slice(channel, channel + 1)), low, high)
    near = np.concatenate([steps + k for k in (-2, -1, 0, 1)] + [np.array([low, high, -2, -1, 0, 1])])
    return np.unique(np.clip(near, low, high))


def outputs(found: Narrow, sums: Ints, channel: int, low: int, high: int) -> Ints:
    """What a kernel makes of sums of a channel, between the ends of its type."""
    offset, mult, add, fix = (int(a[channel]) for a in (found.offset, found.mult, found.add, found.fix))
    y = 0 * sums if found.constant[channel] else (sums << found.scale[channel]) + offset
    assert np.all((y >= -(1 << 31)) & (y < 1 << 31)) and 0 <= mult < 1 << 31
    r = (y * mult >> 32) + add + np.where(y < 0, 0, fix)
    assert np.all(np.abs(r) < 1 << 31)
    return np.clip(r >> found.shift, low, high)


@given(layers(), st.integers(2, 11), st.booleans())
@settings(max_examples=examples(300, 50), deadline=None)
def test_exact_for_every_sum(sums: Accumulators, most: int, fixed: bool) -> None:
    limits = np.full(len(sums.low), most)
    for shift in shifts(sums, limits):
        found = narrow(sums, shift, limits, fixed=fixed)
        if found is None:
            continue
        assert np.all(np.abs(np.concatenate([sums.low, sums.high]) << np.tile(found.scale, 2)) < 1 << 31)
        for c in range(len(sums.low)):
            x = around_thresholds(sums, c)
            want = sums.outputs(x, slice(c, c + 1))
            assert np.array_equal(outputs(found, x, c, -128, 127), want)
            assert np.array_equal(outputs(found.unsigned(), x, c, 0, 255), want + 128)
            assert sums.linear or not found.fix[c]


def test_plain_layers_have_constants() -> None:
    """Shifts that differ by up to six are taken up by the scales."""
    n = 7
    limits = np.full(n, 8)
    for zero in (-128, 3):
        mult = np.linspace(1 << 30, (1 << 31) - 1, n).astype(np.int64)
        sums = Accumulators(np.full(n, -100_000), np.full(n, 200_000), mult, -np.arange(4, 4 + n), zero)
        assert narrow(sums, 11, limits) is not None


def test_a_channel_with_one_result_is_constant() -> None:
    sums = Accumulators(np.array([-90]), np.array([80]), np.array([1 << 30]), np.array([-12]), -7)
    found = narrow(sums, 10, np.array([8]))
    assert found is not None and found.constant[0] and found.mult[0] == 0
    assert np.array_equal(outputs(found, np.array([-90, 80]), 0, -128, 127), [-7, -7])


def test_what_overflows_is_refused() -> None:
    sums = Accumulators(np.array([-(1 << 30)]), np.array([1 << 30]), np.array([1 << 30]), np.array([-9]), -128)
    assert narrow(sums, 10, np.array([8])) is None


def test_thresholds() -> None:
    def halves(x: Ints) -> Ints:
        return x // 2

    assert thresholds(halves, -3, 4).tolist() == [-2, 0, 2, 4]
    assert thresholds(halves, 2, 3).tolist() == []
