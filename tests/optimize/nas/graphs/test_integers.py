"""Integer graphs of untrained networks: they are as those of trained ones for the compiler, and equal each time."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.passes.pipeline import optimize
from mote.compiler.passes.shrinking import shrink
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from mote.optimize.nas.graphs import integer_graph
from tests.optimize.nas.graphs.networks import FAMILIES, separable


def _written(graph: Graph) -> list[tuple[object, ...]]:
    """All that matters of a graph, comparable."""
    return [
        *((type(op), op.inputs, op.outputs) for op in graph.ops),
        *(
            (t.name, t.shape, t.dtype, None if t.quant is None else t.quant.scale.tobytes())
            for t in graph.tensors.values()
        ),
        *((None if t.data is None else t.data.tobytes(),) for t in graph.tensors.values()),
    ]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_made_of_integers(name: str) -> None:
    network = FAMILIES[name]()
    graph = integer_graph(network)
    reals = [t for op in graph.ops for t in op.outputs if graph.tensors[t].dtype == DType.FLOAT32]
    assert not reals
    assert graph.tensors[graph.inputs[0]].shape == (1, *network.input)
    assert graph.tensors[graph.outputs[0]].size == network.shapes[network.layers[-1].name][0]
    assert _written(integer_graph(FAMILIES[name]())) == _written(graph)
    assert _written(integer_graph(network, seed=1)) != _written(graph)


@pytest.mark.parametrize("name", ["separable", "residual", "mobile"])
def test_there_is_nothing_to_shrink(name: str) -> None:
    graph, _ = optimize(integer_graph(FAMILIES[name]()))
    assert shrink.run(graph)[1] == []


def test_equal_layers_of_a_network_have_different_weights_and_those_of_two_networks_the_same() -> None:
    def pointwise(blocks: int) -> list[bytes]:
        graph = integer_graph(separable(16, blocks, 25))
        shaped = [t for t in graph.tensors.values() if t.shape == (16, 1, 1, 16) and t.data is not None]
        return [np.asarray(t.data).tobytes() for t in shaped]

    three = pointwise(3)
    assert len(set(three)) == 3
    assert pointwise(2) == three[:2]


def test_constants_are_the_same_objects_each_time_and_stay_so_through_the_passes() -> None:
    """Caches by layer tell them by their identity."""
    one, other = (optimize(integer_graph(separable(16, 2, 25)), shrinking=True)[0] for _ in range(2))
    for t in one.tensors.values():
        if t.data is not None:
            assert t.data is other.tensors[t.id].data
            assert t.quant is other.tensors[t.id].quant
