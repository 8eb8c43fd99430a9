"""Scales, roundings and orders of weights of the functional model, against definitions in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.hardware.npu.functional.curves import sigmoid, tanh
from mote.hardware.npu.functional.kernels import UNUSED, Traversal, kernel, order
from mote.hardware.npu.functional.kernels_u85 import TraversalU85, apart, kernel_u85, order_u85
from mote.hardware.npu.functional.rounding import ROUNDINGS, scaled


def _nearest(value: Fraction, *, up: bool) -> int:
    """The nearest whole number, halves up or away from zero."""
    return floor(value + Fraction(1, 2)) if up or value >= 0 else -floor(-value + Fraction(1, 2))


def _defined(value: int, scale: int, shift: int, mode: str, before: int) -> int:
    exact = Fraction(value * scale, 1 << shift)
    if mode.startswith("DOUBLE"):
        first = min(shift, 31 - before)
        return _nearest(Fraction(_nearest(Fraction(value * scale, 1 << first), up=True), 1 << shift - first), up=False)
    if mode in ("NATURAL", "SYMMETRIC"):
        return _nearest(exact, up=mode == "NATURAL")
    return floor(exact) if mode == "TRUNCATE_DOWN" else int(exact)


@given(
    st.lists(st.integers(-(1 << 40), 1 << 40), min_size=1, max_size=9),
    st.integers(0, (1 << 32) - 1),
    st.integers(0, 62),
    st.sampled_from(sorted(ROUNDINGS)),
    st.sampled_from((0, 15, 20)),
)
def test_scales_are_exact(values: list[int], scale: int, shift: int, mode: str, before: int) -> None:
    """Also where products do not fit 64 bits; results wrap at 64 bits."""
    got = scaled(np.array(values), scale, shift, mode, before)
    want = [_defined(value, scale, shift, mode, before) for value in values]
    assert got.tolist() == [(w + (1 << 63)) % (1 << 64) - (1 << 63) for w in want]


def test_unknown_round_modes_are_refused() -> None:
    with pytest.raises(MoteError, match="DOUBLE_ASYMMETRIC is not modelled"):
        scaled(np.array([1]), 1, 1, "DOUBLE_ASYMMETRIC")


def test_curves_are_near_the_functions() -> None:
    x = np.arange(-140_000, 140_000, 37)
    real = x / 0x3000
    assert np.abs(sigmoid(x) / 32768 - 1 / (1 + np.exp(-real))).max() < 2**-13
    assert np.abs(tanh(x) / 32768 - np.tanh(real)).max() < 2**-12


@st.composite
def traversals(draw: st.DrawFn) -> Traversal:
    depthwise, first, wide = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    side = draw(st.sampled_from((4, 8)))
    return Traversal(
        *(draw(st.integers(1, 10)), draw(st.integers(1, 10))),
        1 if depthwise else draw(st.integers(1, 40)),
        draw(st.integers(1, 40)),
        8 * draw(st.integers(1, 4)),
        (side // draw(st.integers(1, 2)), side // draw(st.integers(1, 2))),
        8,
        draw(st.sampled_from((4, 8))),
        16 if first or wide else 32,
        depthwise,
        first and not depthwise,
        4 if depthwise else 1 if not first else 2 if wide else 4,
    )


@given(traversals(), st.integers(0, 1 << 30))
def test_every_weight_has_one_place(t: Traversal, seed: int) -> None:
    """Kernels come back from the order in which the hardware reads them."""
    places = order(t)
    used = places[places != UNUSED]
    count = t.outputs * t.height * t.width * t.inputs
    assert np.array_equal(np.sort(used), np.arange(count))
    weights = np.random.default_rng(seed).integers(-255, 256, count).astype(np.int16)
    stream = np.where(places == UNUSED, 0, weights[places])
    assert np.array_equal(kernel(stream, t, "here").reshape(-1), weights)
    with pytest.raises(MoteError, match="weights are in the stream"):
        kernel(stream[:-1], t, "here")


@st.composite
def traversals_u85(draw: st.DrawFn) -> TraversalU85:
    kind, streams = draw(st.sampled_from(("parts", "depth", "depthwise"))), draw(st.sampled_from((1, 2, 4)))
    common = (
        *(draw(st.integers(1, 10)), draw(st.integers(1, 10))),
        1 if kind == "depthwise" else draw(st.integers(1, 70)),
        draw(st.integers(1, 40)),
        16 * draw(st.integers(1, 2)),
        16,
        (8, draw(st.sampled_from((4, 8)))),
    )
    stride = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    if kind == "depthwise":
        return TraversalU85(*common, stride, 1, 1, 1, 10, draw(st.sampled_from((0, 2, 6))), streams)
    if kind == "parts":
        return TraversalU85(
            *common, stride, 16, draw(st.sampled_from((8, 16))), 8, draw(st.sampled_from((5, 10))), 0, streams
        )
    return TraversalU85(*common, (1, 1), 32, 32, 8, 1, 0, streams)


@given(traversals_u85(), st.integers(0, 1 << 30))
def test_every_weight_has_one_place_on_ethos_u85(t: TraversalU85, seed: int) -> None:
    """The streams of all weight decoders together have each weight once; so have those in turns of the fast format."""
    places = [order_u85(t, stream) for stream in range(t.streams)]
    used = np.concatenate([part[part != UNUSED] for part in places])
    count = t.outputs * t.height * t.width * t.inputs
    assert np.array_equal(np.sort(used), np.arange(count))
    weights = np.random.default_rng(seed).integers(-255, 256, count).astype(np.int16)
    streams = [np.where(part == UNUSED, 0, weights[part]).astype(np.int16) for part in places]
    assert np.array_equal(kernel_u85(streams, t, "here").reshape(-1), weights)
    if not t.gap:
        turns = np.stack([stream.reshape(-1, t.at_once) for stream in streams], axis=1).reshape(-1)
        assert all(map(np.array_equal, apart(turns, t), streams))
