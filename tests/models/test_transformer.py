"""Transformers of two layers, 64 wide, against LiteRT: whole sequences, and one token at a time."""

from __future__ import annotations

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.compiler.line import compile
from mote.frontends import tflite
from tests.helpers.support import check, emulated, exact_on, needs_litert
from transformer import Shape, alive, decoder, encoder, listener, step

pytestmark = needs_litert
SMALL = Shape(length=6, hidden=32, words=40)
SEQUENCES = {"encoder": encoder(SMALL), "decoder": decoder(SMALL)}
STEPS = {"place": step(SMALL), "window": step(SMALL, window=True)}


@pytest.mark.parametrize("name", SEQUENCES)
def test_activations_are_alive(name: str) -> None:
    graph = tflite.parse(SEQUENCES[name], name)
    values = [graph.evaluate(case) for case in stimuli(graph, 4)]
    for t in graph.producers:
        found = np.concatenate([v[t].ravel() for v in values])
        assert alive(found), f"{graph.producers[t]}: {np.unique(found)}"


@pytest.mark.slow
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str) -> None:
    check(SEQUENCES[name], inputs=2, least_ram=True)


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_sequences_on_cores(core: str) -> None:
    for model in SEQUENCES.values():
        exact_on(core, model, inputs=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", STEPS)
def test_steps(name: str) -> None:
    """More tokens than the caches have lines for."""
    graph = tflite.parse(STEPS[name], name)
    oracle, ours = reference.litert(STEPS[name]), reference.numpy(graph)
    for case in stimuli(graph, 25):
        want, got = oracle(case), ours(case)
        assert want is not None and got is not None
        (y,) = graph.outputs
        np.testing.assert_array_equal(got[y], want[y])
    assert verify(compile(STEPS[name]), 25, sanitize=True).passed


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", STEPS)
def test_caches_are_changed_where_they_lie(name: str) -> None:
    """All RAM but the caches is less than one of them, and nothing is assigned."""
    plan = compile(STEPS[name], target="cortex-m4", least_ram=True).plan
    cache = SMALL.length * SMALL.width
    assert len(plan.graph.states) == 2 * SMALL.layers
    assert sum(s.initial.nbytes for s in plan.graph.states) == 2 * SMALL.layers * cache
    assert plan.arena < cache
    assert not any(
        op.kind in ("ASSIGN_VARIABLE", "CONCATENATION") and op.output(plan.graph).size >= cache for op in plan.graph.ops
    )


@pytest.mark.slow
def test_steps_on_cores() -> None:
    assert verify(compile(STEPS["place"], target=emulated("cortex-m4")), 8).passed
    assert verify(compile(STEPS["window"], target=emulated("cortex-m55")), 8).passed


@pytest.mark.slow
def test_streams_of_tokens() -> None:
    """Keys and values of tokens that were there before are kept, and the window's results are those of the stream."""
    model = listener(SMALL)
    whole, stream = compile(model, least_ram=True), compile(model, stream=1, least_ram=True)
    assert stream.plan.graph.warm_up == SMALL.length
    assert stream.macs < whole.macs / 2
    assert verify(stream, 25, sanitize=True).passed


def test_streams_that_depend_on_where_tokens_stand() -> None:
    with pytest.raises(MoteError, match=r"because layer 1 ADD '.*' needs all of it"):
        compile(listener(SMALL, places=True), stream=1)


def test_tables_stay_in_flash() -> None:
    """Neither the words nor where they stand have a place in RAM."""
    shape = Shape(length=6, layers=1, hidden=48, words=1000)
    plan = compile(encoder(shape), target="cortex-m4", least_ram=True).plan
    assert plan.arena < shape.words * shape.width // 8
    tables = [t.id for t in plan.graph.tensors.values() if t.data is not None]
    assert not set(tables) & set(plan.place)
