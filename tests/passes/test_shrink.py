"""Shrinking removes what cannot matter and nothing else: every output, and every channel that is left of every tensor,
has the value that it had before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("flatbuffers", reason="the model writer needs the flatbuffers package")

from mote.frontends import tflite
from mote.graph import Graph
from mote.passes import shrink
from mote.passes.removal import Removal
from mote.passes.shrink_channels import UNREAD
from mote.stimuli import stimuli
from shrinkable import Net, random_model
from support import check, needs_litert

LARGE = 10**6
"""A bias that saturates."""


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


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_random_models_keep_every_value(seed: int) -> None:
    shrunk(random_model(seed))


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_values_stay_within_their_ranges(seed: int) -> None:
    graph = tflite.parse(random_model(seed), "model")
    for case in stimuli(graph, 8):
        for t, value in graph.evaluate(case).items():
            found, rows = graph.ranges[t], value.reshape(-1, value.shape[-1])
            assert (rows >= found.low).all() and (rows <= found.high).all(), graph.producers.get(t)


@needs_litert
@pytest.mark.parametrize("seed", range(6))
def test_generated_code_of_random_models(seed: int) -> None:
    check(random_model(1000 + seed), target="host")


def test_channels_without_readers_go_up_to_where_they_are_made() -> None:
    """From the layer that has no weights for them through the depthwise one to the first."""
    net = Net()
    first, last = net.weights(8, 1, 1, 2), net.weights(3, 1, 1, 8)
    last[..., [1, 2, 4, 7]] = 0
    x = net.conv(net.input(1, 5, 5, 2), first)
    x = net.depthwise(x, net.weights(1, 3, 3, 8))
    after, removals = shrunk(net.model(net.conv(x, last)))
    assert channels(after) == [4, 4, 3]
    assert removals == [Removal(0, UNREAD, 4), Removal(1, UNREAD, 4)]
    assert after.tensors[after.ops[0].outputs[0]].kept == (0, 3, 5, 6)
