"""The constants that learn, by the names of layers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mote.base.errors import MoteError
from mote.compiler.passes.training.choice import chosen
from mote.frontends import tflite
from mote.ir.graph import Graph
from tests.helpers.network import Net


def network(dtype: str) -> Graph:
    """Two convolutions, of which one has no bias, a classifier, and an output behind it that is not the first one."""
    net = Net(0, dtype)
    x = net.input(1, 6, 6, 2)
    x = net.conv(x, 4, 3, fused_activation_function="RELU")
    x = net.depthwise(x, 1, 3)
    y = net.fully_connected(net.mean(x), 3)
    graph = tflite.parse(net.finish(y, net.conv(x, 2, 1)), "network")
    depthwise = next(op for op in graph.ops if op.kind == "DEPTHWISE_CONV_2D")
    bare = depthwise.with_(inputs=depthwise.inputs[:2])
    return graph.with_ops(bare if op is depthwise else op for op in graph.ops)


def of(graph: Graph, kind: str, place: int = 0) -> list[int]:
    """The constants of a layer."""
    op = [op for op in graph.ops if op.kind == kind][place]
    return list(op.inputs[1:])


def _ids(graph: Graph, items: list[str]) -> tuple[int, ...]:
    return chosen(graph, items).constants


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_items_name_weights_and_biases(dtype: str) -> None:
    graph = network(dtype)
    first, dense = of(graph, "CONV_2D"), of(graph, "FULLY_CONNECTED")
    assert list(_ids(graph, ["last"])) == sorted(dense)
    assert list(_ids(graph, ["biases"])) == sorted([first[1], dense[1]])
    op = graph.ops[0]
    for name in (op.name, graph.short_name(op), str(graph.layer_of(op))):
        assert list(_ids(graph, [name])) == sorted(first)
    assert list(_ids(graph, ["biases", "1", "last"])) == sorted({*of(graph, "DEPTHWISE_CONV_2D"), first[1], *dense})
    assert list(_ids(graph, [str(graph.layer_of(graph.ops[-1]))])) == sorted(of(graph, graph.ops[-1].kind, -1))


def test_wrong_names_are_explained() -> None:
    graph = network("float32")
    pool = next(op for op in graph.ops if op.kind == "MEAN")
    dense = next(op for op in graph.ops if op.kind == "FULLY_CONNECTED")
    named = graph.with_ops(op.with_(name="classifier") if op is dense else op for op in graph.ops)
    twins = graph.with_ops(op.with_(name="twin") for op in graph.ops)
    without = replace(graph, outputs=(graph.inputs[0],))
    for model, item, reason in (
        (named, "claassifier", "did you mean: classifier"),
        (graph, "lats", "did you mean: last"),
        (graph, "99", "layers that can learn: 0 "),
        (graph, pool.name, "has no weights"),
        (twins, "twin", "are all called 'twin'"),
        (without, "biases", "no layer has a bias"),
        (without, "last", "no layer has weights"),
    ):
        with pytest.raises(MoteError) as error:
            chosen(model, [item])
        assert reason in str(error.value), str(error.value)
        assert error.value.where == "option train"
