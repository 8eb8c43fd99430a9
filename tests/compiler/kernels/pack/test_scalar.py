"""Requantization by products of 64 and of 32 bits: every step of the reference's staircase, and the ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.pack.requantize.scalar import ScalarConstants, long_product, short_product
from mote.compiler.kernels.pack.requantize.search import staircases
from mote.ir.graph.numeric.fixedpoint import Ints, rescale
from mote.ir.ops.matrix.accumulators import Accumulators
from tests.helpers.support import examples

WORD = 1 << 32


def long_outputs(x: Ints, row: list[int], linear: bool) -> Ints:
    mult, add, shift, *fix = row
    if linear:
        return np.clip(((4 * x * mult >> 32) + add - np.where(x < 0, fix[0], 0)) >> shift, -128, 127)
    return np.clip(((x * mult >> 32) + add) >> shift, -128, 127)


def short_outputs(x: Ints, row: list[int], linear: bool) -> Ints:
    """In words that wrap."""
    most, coarse, fine, add, drop, *more = row
    u = np.clip(x, 0, most)
    word = (u * coarse % WORD) + (u * fine % WORD >> drop) + add
    if linear:
        turn, fix = more
        word = word + np.where(u < turn, 0, fix)
    return (word % WORD >> 24).astype(np.uint8).view(np.int8).astype(np.int64)


FORMS = {"long": (long_product, long_outputs), "short": (short_product, short_outputs)}


def check(sums: Accumulators, form: str) -> ScalarConstants:
    """The outputs on both sides of every step, at both ends, and around zero."""
    pack, outputs = FORMS[form]
    constants = pack(sums)
    for channel, stairs in enumerate(staircases(sums)):
        ends = sums.low[channel], sums.high[channel]
        x = np.unique(np.clip([*stairs.steps, *(stairs.steps - 1), *ends, -1, 0, 1], *ends))
        scale = np.full(x.shape, sums.mult[channel]), np.full(x.shape, sums.shift[channel])
        expected = np.clip(rescale(x, *scale) + sums.zero, -128, 127)
        if not constants.slow[channel]:
            start = 0 if sums.constant[channel] else x + constants.offset[channel]
            found = outputs(start + 0 * x, constants.rows[channel].tolist(), sums.linear)
            assert np.array_equal(found, expected), (channel, form)
    return constants


@pytest.mark.parametrize("form", FORMS)
@given(
    st.lists(st.tuples(st.integers(1 << 30, (1 << 31) - 1), st.integers(1, 16), st.integers(0, 1 << 24)), min_size=4),
    st.integers(-128, 127),
    st.integers(-3000, 3000),
)
@settings(max_examples=examples(20), deadline=None)
def test_any_channels(form: str, channels: list[tuple[int, int, int]], zero: int, middle: int) -> None:
    mult, shift, size = (np.array(part, np.int64) for part in zip(*channels, strict=True))
    check(Accumulators(middle - size, middle + size, mult, -shift, zero), form)


@pytest.mark.parametrize("zero", [-128, 9])
@pytest.mark.parametrize("form", FORMS)
def test_usual_channels_have_constants(form: str, zero: int) -> None:
    rng = np.random.default_rng(2)
    shift = np.repeat(np.arange(1, 11), 10)
    size = rng.integers(1 << 10, 1 << 22, 100)
    constants = check(Accumulators(-size, size, rng.integers(1 << 30, 1 << 31, 100), -shift, zero), form)
    assert not constants.slow.any()


def test_channels_without_constants_are_named() -> None:
    """Sums that are shifted to the left, or too fine for a product of 32 bits."""
    size = np.full(2, 1 << 25)
    sums = Accumulators(-size, size, np.full(2, 1412345679), np.array([1, -17]), -128)
    assert long_product(sums).slow.tolist() == [True, False]
    assert short_product(sums).slow.tolist() == [False, True]
