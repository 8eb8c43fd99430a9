"""Shrinking as a whole: nothing that is computed changes, whatever is removed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.bench.execute.stimuli import stimuli
from mote.compiler.passes.shrinking import shrink
from mote.compiler.passes.shrinking.report import Removal
from mote.frontends import tflite
from mote.ir.graph import Graph
from tests.helpers.network import Net
from tests.helpers.shrinkable import example, random_model
from tests.helpers.support import check, examples, needs_litert


def unchanged(before: Graph, after: Graph, inputs: int = 8) -> None:
    after.verify()
    assert [before.tensors[t].shape for t in before.outputs] == [after.tensors[t].shape for t in after.outputs]
    for case in stimuli(before, inputs):
        want, got = before.evaluate(case), after.evaluate(case)
        for t, value in got.items():
            np.testing.assert_array_equal(value, after.tensors[t].part(want[t]), err_msg=str(after.producers.get(t)))


def shrunk(model: bytes) -> tuple[Graph, list[Removal]]:
    before = tflite.parse(model, "model")
    after, removals = shrink.run(before)
    unchanged(before, after)
    return after, removals


def channels(graph: Graph) -> list[int]:
    """Of each operator's output."""
    return [op.output(graph).channels for op in graph.ops]


@settings(max_examples=examples(80, 12), deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_random_models_keep_every_value(seed: int) -> None:
    shrunk(random_model(seed))


@settings(max_examples=examples(40, 10), deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_values_stay_within_their_ranges(seed: int) -> None:
    graph = tflite.parse(random_model(seed), "model")
    for case in stimuli(graph, 8):
        for t, value in graph.evaluate(case).items():
            found, rows = graph.ranges[t], value.reshape(-1, value.shape[-1])
            assert (rows >= found.low).all() and (rows <= found.high).all(), graph.producers.get(t)


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("seed", range(6))
def test_generated_code_of_random_models(seed: int) -> None:
    check(random_model(1000 + seed), target="host")


@needs_litert
def test_the_generated_code_of_each_kind() -> None:
    compiled = check(example(), inputs=6)
    assert any(saving.name == "shrink" for saving in compiled.savings)
    assert not any(s.name == "shrink" for s in check(example(), inputs=2, shrink=False).savings)


@needs_litert
def test_generated_code_with_layers_that_became_constants() -> None:
    """One is joined to the input, one is added to it."""
    net = Net()
    x = net.input(1, 3, 3, 2)
    still = np.zeros((2, 1, 1, 2), np.int8)
    joined = net.concatenate(3, x, net.conv(x, still, quant=net.quants[x]))
    compiled = check(net.finish(joined, net.add(x, net.conv(x, still))), target="host")
    assert [op.kind for op in compiled.plan.graph.ops] == ["CONCATENATION", "ADD"]
