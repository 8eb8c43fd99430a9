"""Layers of two models, brought together by name or by what they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mote import frontends
from mote.bench.evaluation.layer_noise import comparable, layer_noise, matched, share
from mote.compiler.passes.normal_form import normal
from mote.ir.graph import Graph
from mote.optimize.compress.quantize.refinement.equalize import equalized
from mote.optimize.compress.quantize.statistics import observe
from tests.helpers.network import Net


def net(dtype: str = "float32", relu: bool = False) -> Graph:
    made = Net(seed=1, dtype=dtype)
    x = made.conv(made.input(1, 6, 6, 2), 4)
    x = made.op("RELU", [x]) if relu else x
    return frontends.load(made.finish(made.fully_connected(made.flat(made.pool(x)), 3)))


def renamed(graph: Graph, prefix: str) -> Graph:
    return replace(graph, tensors={i: replace(t, name=f"{prefix}{t.name}") for i, t in graph.tensors.items()})


def kinds(graph: Graph, other: Graph) -> list[tuple[str, str]]:
    pairs = matched(graph, other).items()
    return [(graph.producers[a].kind, other.producers[b].kind) for a, b in pairs]


def test_layers_are_brought_together_by_their_names() -> None:
    graph = net()
    turned = replace(graph, tensors=dict(reversed(graph.tensors.items())))
    assert matched(graph, turned) == {op.outputs[0]: op.outputs[0] for op in graph.ops if not op.is_view}


@pytest.mark.parametrize("prefix", ["", "other/"])
def test_and_by_what_they_are_where_names_differ(prefix: str) -> None:
    graph, other = net("int8"), renamed(net(), prefix)
    found = kinds(graph, other)
    assert [a for a, _ in found] == ["CONV_2D", "AVERAGE_POOL_2D", "FULLY_CONNECTED"]
    assert all(a == b for a, b in found)


def test_activations_are_in_the_layers_before_them() -> None:
    """A quantized model has none of its own; the real numbers before it are no part of it."""
    assert [op.kind for op in net(relu=True).ops][1] == "RELU"
    assert "RELU" not in [op.kind for op in comparable(net(relu=True)).ops]


def test_nothing_is_lost_between_equal_models() -> None:
    graph = net("int8")
    cases = [{graph.inputs[0]: np.full(graph.tensors[graph.inputs[0]].shape, k, np.int8)} for k in (-50, 3, 70)]
    found = layer_noise(graph, cases, graph, cases)
    assert [x.decibels for x in found] == [np.inf] * 3 and not any(x.worst or x.added for x in found)


def test_a_share_is_what_decibels_say() -> None:
    assert share(20.0) == pytest.approx(0.01)
    assert share(np.inf) == 0 and share(-np.inf) == np.inf


def test_channels_with_other_scales_that_the_next_layer_takes_back_are_no_noise() -> None:
    """A quantizer that makes channels alike changes a layer's output and loses nothing by that."""
    made = Net(seed=3, dtype="float32")
    x = made.input(1, 5, 5, 2)
    graph = frontends.load(made.finish(made.conv(made.conv(x, 4), 3)))
    factors = np.array([0.25, 1.0, 3.0, 8.0], np.float32)
    first, second = graph.ops
    changed = dict(graph.tensors)
    for tensor, scale in (
        (first.inputs[1], factors[:, None, None, None]),
        (first.inputs[2], factors),
        (second.inputs[1], 1 / factors),
    ):
        data = graph.tensors[tensor].data
        assert data is not None
        changed[tensor] = replace(graph.tensors[tensor], data=(data * scale).astype(np.float32))
    equalised = replace(graph, tensors=changed)
    rng = np.random.default_rng(0)
    cases = [{graph.inputs[0]: rng.normal(size=(1, 5, 5, 2)).astype(np.float32)} for _ in range(4)]
    found = layer_noise(equalised, cases, graph, cases)
    assert [x.scaled for x in found] == [True, False] and all(x.decibels > 100 for x in found)
    broken = replace(equalised, tensors=changed | {second.inputs[1]: graph.tensors[second.inputs[1]]})
    lost = layer_noise(broken, cases, graph, cases)
    assert not any(x.scaled for x in lost) and lost[0].worst and lost[0].decibels < 10


def test_a_graph_whose_channels_a_quantizer_has_made_alike_has_lost_nothing() -> None:
    made = Net(seed=3, dtype="float32")
    x = made.conv(
        made.input(1, 5, 5, 2), made.weights(6, 3, 3, 2) // np.array([1, 2, 4, 8, 16, 32])[:, None, None, None]
    )
    graph = normal(frontends.load(made.finish(made.conv(made.op("RELU", [x]), 3))))
    rng = np.random.default_rng(0)
    cases = [{graph.inputs[0]: rng.normal(size=(1, 5, 5, 2)).astype(np.float32)} for _ in range(8)]
    alike = equalized(graph, observe(graph, cases))
    found = layer_noise(alike, cases, graph, cases)
    assert [x.scaled for x in found] == [True, False] and all(x.decibels > 100 for x in found)
