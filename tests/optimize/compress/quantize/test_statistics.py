"""What is seen of tensors does not depend on how the data is cut into batches."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.optimize.compress.quantize.statistics import BINS, look, observed
from tests.helpers.network import Net

VALUES = st.lists(st.floats(-1e6, 1e6, width=32) | st.floats(-1, 1, width=32), min_size=1, max_size=60)


@settings(max_examples=100)
@given(VALUES, st.integers(1, 59), st.randoms(use_true_random=False))
def test_batches_in_any_order_show_the_same(values: list[float], at: int, random: object) -> None:
    parts = [part for part in (values[:at], values[at:]) if part]
    whole, joined = look(np.array(values)), reduce(lambda a, b: a.and_(b), (look(np.array(p)) for p in reversed(parts)))
    assert (joined.low, joined.high, joined.exponent, joined.first) == (
        whole.low,
        whole.high,
        whole.exponent,
        whole.first,
    )
    assert np.array_equal(joined.counts, whole.counts) and joined.zeros == whole.zeros


@settings(max_examples=100)
@given(VALUES)
def test_bins_hold_their_values(values: list[float]) -> None:
    seen = look(np.array(values))
    assert seen.size == len(values) and len(seen.counts) <= BINS
    assert seen.zeros == sum(v == 0 for v in values)
    assert np.array_equal(seen.counts[-1:], [sum(v >= seen.edges[-2] for v in values)])
    assert np.array_equal(np.cumsum(seen.counts), np.searchsorted(np.sort(values), seen.edges[1:]))
    assert seen.counts[0] > 0 and seen.counts[-1] > 0


def test_bins_are_fine_enough() -> None:
    rng = np.random.default_rng(0)
    for size in (1e-30, 1e-3, 1.0, 1e30):
        assert len(look(rng.standard_normal(1000) * size).counts) > BINS / 2 - 2


def test_channels_are_seen_one_by_one() -> None:
    rng = np.random.default_rng(1)
    values = rng.standard_normal((3, 4, 5))
    seen = look(values[:1], 5).and_(look(values[1:], 5))
    assert np.array_equal(seen.channel_low, values.min((0, 1)))
    assert np.array_equal(seen.channel_high, values.max((0, 1)))
    assert np.allclose(seen.channel_means, values.mean((0, 1)))
    assert np.allclose(seen.channel_powers, (values**2).mean((0, 1)))


def graph() -> Graph:
    net = Net(dtype="float32")
    return tflite.parse(net.finish(net.op("LOG", [net.input(1, 4)])), "net")


def test_numbers_that_are_none_are_refused_by_layer() -> None:
    g = graph()
    given_values = np.array([[1.0, 2.0, 3.0, 4.0]], np.float32)
    assert observed(g, [{g.inputs[0]: given_values, g.outputs[0]: np.log(given_values)}])[g.outputs[0]].size == 4
    with pytest.raises(MoteError, match="LOG") as error:
        observed(g, [{g.inputs[0]: given_values, g.outputs[0]: np.array([[0.0, -np.inf, 1.0, 1.0]])}])
    assert error.value.remedy
    with pytest.raises(MoteError, match="input"):
        observed(g, [{g.inputs[0]: np.array([[np.nan, 1.0, 1.0, 1.0]])}])
