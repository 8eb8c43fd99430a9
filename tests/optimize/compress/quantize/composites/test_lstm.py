"""LSTMs as integers, with and without states that they keep: NumPy, LiteRT and the compiled C give the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.bench.execute.batch import evaluate
from mote.ir.ops.recurrent.gates import Gate, GateActivation
from mote.ir.ops.recurrent.sequences import RecurrentOutput
from mote.optimize.compress.quantize.pipeline import finished, prepared
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.compress.quantize.types.precision_units import units
from tests.helpers.float_nets import cases, check_litert
from tests.helpers.support import check, exact_on, examples, needs_litert
from tests.optimize.compress.quantize.composites.float_layers import (
    Kept,
    Layers,
    Sequenced,
    kept_as_integers,
    kept_lstm,
    lstm,
    lstms,
    quantized,
    sequenced,
)


@needs_litert
@given(st.lists(sequenced, min_size=5, max_size=5), st.integers(0, 1 << 30))
@settings(max_examples=examples(3), deadline=None)
def test_lstms_are_equal_to_litert(configs: list[Sequenced], seed: int) -> None:
    graph = lstms(configs, seed)
    samples = cases(graph, 6, seed)
    check_litert(quantized(graph, samples).integers.graph, samples[:2])


SEVERAL = [
    Sequenced(),
    Sequenced(batch=2, time=4, inputs=9, units=6, time_major=True, begins="given"),
    Sequenced(backward=True, peepholes=True, results=(RecurrentOutput.SEQUENCE, RecurrentOutput.HIDDEN)),
    Sequenced(batch=2, coupled=True, peepholes=True, begins="constants", results=(RecurrentOutput.HIDDEN,)),
    Sequenced(backward=True, results=(RecurrentOutput.HIDDEN,)),
]


@needs_litert
@pytest.mark.parametrize("core", ["host", pytest.param("cortex-m4", marks=pytest.mark.slow)])
def test_lstms_in_c_are_equal_to_litert(core: str) -> None:
    graph = lstms(SEVERAL)
    data = check_litert(quantized(graph, cases(graph)).integers.graph, cases(graph, 1))
    if core == "host":
        check(data, inputs=2, optimize="speed")
    else:
        exact_on(core, data, 2)


KEPT = [
    Kept(),
    Kept(batch=2, time_major=True, outputs=4, clips=(0.5, 0.8)),
    Kept(peepholes=True, coupled=True, backward=True),
    Kept(normalized=True, outputs=5),
    Kept(normalized=True, peepholes=True),
]


@needs_litert
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_lstms_that_keep_states_are_equal_to_litert(compiled: bool) -> None:
    layers = Layers(1)
    for c in KEPT:
        kept_lstm(layers, c)
    data = kept_as_integers(layers.graph())
    if compiled:
        check(data, inputs=3)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"results": (RecurrentOutput.CELL,)}, "its cells are a result"),
        ({"gate": Gate(GateActivation.HARD_SIGMOID, 0.2, 0.5)}, "no other functions of gates"),
    ],
)
def test_what_has_no_integers_stays_float(changes: dict[str, Any], reason: str) -> None:
    layers = Layers()
    lstm(layers, Sequenced(begins="constants", results=(RecurrentOutput.HIDDEN,)))
    layers.ops = [op.with_(**changes) for op in layers.ops]
    graph = layers.graph()
    found = finished(prepared(graph, cases(graph)))
    assert reason in found.integers.refused[0] and found.integers.precisions[0] is Precision.FLOAT32


def test_precisions_that_lstms_do_not_have() -> None:
    graph = lstms([Sequenced()])
    given = prepared(graph, cases(graph))
    for wanted, got in ((Precision.INT4, Precision.INT8), (Precision.INT16, Precision.FLOAT32)):
        found = finished(given, Scheme(wanted)).integers
        assert found.precisions[0] is got and found.refused[0]
    kept = finished(given, Scheme(Precision.INT8, {0: Precision.FLOAT32})).integers
    assert kept.precisions[0] is Precision.FLOAT32 and not kept.refused


def test_an_lstm_is_a_unit() -> None:
    (unit,) = units(lstms([Sequenced()]))
    assert unit.op == "LSTM_SEQUENCE"


def test_many_sequences_at_once_are_each_by_itself() -> None:
    for c in (Sequenced(batch=2, begins="given"), Sequenced(batch=2, time_major=True, begins="constants")):
        graph = lstms([c])
        samples = cases(graph, 3)
        (found,) = evaluate(graph, samples)
        for n, case in enumerate(samples):
            for t, want in graph.evaluate(case).items():
                got = found[t].reshape(len(samples), *want.shape)[n]
                assert np.allclose(got, want, rtol=0, atol=1e-6)
