"""Integer graphs of untrained networks, for costing: they cost as much as trained ones."""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.passes.normal_form import normal
from mote.ir.graph import Graph
from mote.optimize.compress.quantize.quantizer import quantized
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.nas.graphs.floats import float_graph
from mote.optimize.nas.graphs.precisions import numbered
from mote.optimize.nas.graphs.quick import NotQuickError, quick_graph
from mote.optimize.nas.graphs.ranges import synthetic_insides, synthetic_ranges
from mote.optimize.nas.graphs.weights import random_weights
from mote.optimize.nas.spaces.network import Network


def integer_graph(network: Network, seed: int = 0) -> Graph:
    """The quantized graph of a network with random weights and typical activation ranges, which costs as much as the
    trained one. Equal networks give equal graphs."""
    try:
        return quick_graph(network, seed)
    except NotQuickError:
        return thorough_graph(network, seed)


def thorough_graph(network: Network, seed: int = 0) -> Graph:
    """The integer graph of any network, built by the quantizer itself; its inputs and outputs are NHWC as in the
    shipped file."""
    normalized = normal(float_graph(network, random_weights(network, seed)))
    edges = [replace(normalized.tensors[t], arrangement=None) for t in (*normalized.inputs, *normalized.outputs)]
    graph = normalized.with_ops(normalized.ops, edges)
    scheme = Scheme(layers={i: Precision(text) for i, text in numbered(network, graph).items()})
    return quantized(graph, synthetic_ranges(graph), scheme, insides=synthetic_insides(graph))
