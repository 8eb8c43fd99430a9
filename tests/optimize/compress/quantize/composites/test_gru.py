"""GRUs as integers: NumPy, LiteRT and the compiled C give the same, and little of the signal is lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.graph import Graph
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.recurrent.sequences import RecurrentOutput
from tests.helpers.float_nets import cases, check_litert
from tests.helpers.support import check, exact_on, examples, needs_litert
from tests.optimize.compress.quantize.composites.float_layers import (
    Layers,
    Sequenced,
    begin,
    noises,
    quantized,
    results,
    sequenced,
)


def gru(layers: Layers, c: Sequenced, *, after: bool) -> None:
    x = layers.input(*((c.time, c.batch) if c.time_major else (c.batch, c.time)), c.inputs)
    size = c.gain / max(c.inputs, c.units) ** 0.5
    weights = [layers.real(3 * c.units, n, size=size) for n in (c.inputs, c.units)]
    results(layers, c, Gru, [x, *weights, layers.real(4 * c.units, size=0.5), *begin(layers, c, 1)], after=after)


def grus(configs: Sequence[Sequenced], seed: int = 0) -> Graph:
    layers = Layers(seed)
    for i, c in enumerate(configs):
        gru(layers, c, after=i % 2 == 0)
    return layers.graph()


@needs_litert
@given(st.lists(sequenced, min_size=4, max_size=4), st.integers(0, 1 << 30))
@settings(max_examples=examples(2), deadline=None)
def test_grus_are_equal_to_litert(configs: list[Sequenced], seed: int) -> None:
    graph = grus(configs, seed)
    samples = cases(graph, 6, seed)
    found = quantized(graph, samples)
    assert min(noises(found, samples)) > 25
    check_litert(found.integers.graph, samples[:2])


@needs_litert
@pytest.mark.parametrize("core", ["host", pytest.param("cortex-m4", marks=pytest.mark.slow)])
def test_grus_in_c_are_equal_to_litert(core: str) -> None:
    graph = grus([Sequenced(time=5), Sequenced(backward=True, time_major=True, results=(RecurrentOutput.HIDDEN,))])
    data = check_litert(quantized(graph, cases(graph)).integers.graph, cases(graph, 1))
    if core == "host":
        check(data, inputs=2, optimize="speed")
    else:
        exact_on(core, data, 2)
