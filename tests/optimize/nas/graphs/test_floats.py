"""Float graphs and ONNX files of networks: the graph is that of the file, and both compute what ONNX Runtime does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.passes.normal_form import normal
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.nas.graphs import float_graph, onnx_file, random_weights
from mote.optimize.nas.graphs.floats import BUILDERS
from mote.optimize.nas.graphs.onnx_nodes import NODES
from mote.optimize.nas.spaces import layers
from mote.optimize.nas.spaces.network import Network
from tests.frontends.onnx.onnx_support import difference, graph_of, judged, outputs_of
from tests.optimize.nas.graphs.drawn import ALL, networks
from tests.optimize.nas.graphs.networks import FAMILIES, mobile, separable


def _sample(network: Network, seed: int = 0, count: int = 1) -> Array:
    """Random inputs as the file takes them."""
    shape = network.input
    stored = (shape[2], *shape[:2]) if len(shape) == 3 else shape
    return np.random.default_rng(seed).standard_normal((count, *stored)).astype(np.float32)


def _kinds(graph: Graph) -> list[tuple[str, tuple[int, ...]]]:
    return [(op.kind, graph.tensors[op.outputs[0]].shape) for op in normal(graph).ops]


def test_every_layer_is_built_and_drawn() -> None:
    kinds = {
        kind
        for kind in vars(layers).values()
        if isinstance(kind, type) and issubclass(kind, layers.NetworkLayer) and kind.__name__.endswith("Layer")
    } - {layers.NetworkLayer, layers.WindowLayer}
    assert kinds == set(BUILDERS) == set(NODES) == set(ALL)


@given(networks(), st.integers(0, 3))
@settings(max_examples=40)
def test_graph_and_file_compute_what_onnx_runtime_does(network: Network, seed: int) -> None:
    weights = random_weights(network, seed)
    data = onnx_file(network, weights)
    x = {"input": _sample(network, seed)}
    want = judged(data, x)[0]
    assert difference(outputs_of(graph_of(data), x)[0], want) < 1e-4
    assert difference(outputs_of(float_graph(network, weights), x)[0], want) < 1e-4


@pytest.mark.parametrize("name", sorted(FAMILIES.keys() - {"gated"}))
def test_the_graph_is_that_of_the_file(name: str) -> None:
    """That of a recurrent network is, but for its input: the reader does not see that it has channels on axis 1."""
    network = FAMILIES[name]()
    weights = random_weights(network)
    graph = float_graph(network, weights, name)
    assert graph.name == name
    assert graph.tensors[graph.inputs[0]].shape == (1, *network.input)
    assert [graph.tensors[t].name for t in (*graph.inputs, *graph.outputs)] == ["input", "output"]
    assert _kinds(graph) == _kinds(graph_of(onnx_file(network, weights, name)))


def test_a_file_takes_several_samples_and_tells_labels() -> None:
    network = mobile(32, "hardswish", gate=True)
    data = onnx_file(network, random_weights(network), labels=[f"class {i}" for i in range(10)])
    x = _sample(network, count=3)
    together = judged(data, {"input": x})[0]
    apart = np.concatenate([judged(data, {"input": x[i : i + 1]})[0] for i in range(3)])
    assert np.allclose(together, apart, atol=1e-6)
    assert np.allclose(together.sum(axis=1), 1, atol=1e-5)
    graph = graph_of(data)
    assert graph.tensors[graph.outputs[0]].labels == tuple(f"class {i}" for i in range(10))


def test_layers_keep_their_names() -> None:
    network = separable(8, 2, 25)
    graph = float_graph(network, random_weights(network), labels=[f"word {i}" for i in range(12)])
    names = {graph.tensors[t].name for op in graph.ops for t in op.outputs}
    assert {layer.name for layer in network.layers} <= names
    assert graph.tensors[graph.outputs[0]].labels == tuple(f"word {i}" for i in range(12))


def test_random_weights_are_the_same_each_time_and_cannot_be_written() -> None:
    network = separable(8, 2, 25)
    first, again = (random_weights(network, 3)["block1.pointwise"]["weights"] for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, random_weights(network, 4)["block1.pointwise"]["weights"])
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0
