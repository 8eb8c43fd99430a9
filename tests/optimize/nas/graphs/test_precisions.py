"""Precisions of a network's layers reach the quantizer, and the graphs that networks are costed with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.passes.normal_form import normal
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.pipeline import Methods, finished, prepared
from mote.optimize.compress.quantize.post_training import scheme_of
from mote.optimize.nas.graphs import float_graph, integer_graph, quantizer_layers, random_weights
from mote.optimize.nas.spaces.network import Network
from tests.optimize.nas.graphs.networks import residual

PRECISIONS = {"stage0.first": "int16", "stage0.second": "int16", "stage1.shortcut": "int4", "logits": "int4"}


def _network() -> Network:
    return replace(residual(4, 8), precisions=PRECISIONS)


def _types(graph: Graph) -> list[tuple[object, ...]]:
    """Operators with the types of their tensors."""
    return [
        (op.kind, *((t.dtype, t.stored, t.shape) for t in (graph.tensors[i] for i in (*op.inputs, *op.outputs))))
        for op in graph.ops
    ]


def test_layers_have_the_precisions_of_the_network() -> None:
    network = _network()
    graph = float_graph(network, random_weights(network))
    layers = quantizer_layers(network, graph)
    names = {op.index: op.name for op in normal(graph).ops}
    assert {names[number]: precision for number, precision in layers.items()} == PRECISIONS
    assert quantizer_layers(residual(4, 8), graph) == {}


def test_the_costed_graph_has_the_types_of_the_quantized_one() -> None:
    network = _network()
    graph = float_graph(network, random_weights(network))
    exact = normal(graph)
    samples = np.random.default_rng(0).standard_normal((4, 1, *network.input)).astype(np.float32)
    cases = [{exact.inputs[0]: sample} for sample in samples]
    scheme = scheme_of("int8", quantizer_layers(network, graph))
    quantized = finished(prepared(exact, cases, Methods(rounding="nearest")), scheme).integers.graph
    made = integer_graph(network)
    assert _types(made) == _types(quantized)
    types = {made.tensors[t].dtype for op in made.ops for t in op.outputs}
    assert types == {DType.INT8, DType.INT16}
    assert sum(t.stored == DType.INT4 for t in made.tensors.values()) == 2
