"""Integer graphs of untrained networks: for the compiler they are as good as trained ones."""

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
    """The graph that the quantizer would make of the trained network, with random weights and likely ranges: it costs
    as much. Graphs of equal networks are equal."""
    try:
        return quick_graph(network, seed)
    except NotQuickError:
        return thorough_graph(network, seed)


def thorough_graph(network: Network, seed: int = 0) -> Graph:
    """The integer graph of any network, by the quantizer itself. Its edges are those of the file that is shipped, with
    the channels last."""
    made = normal(float_graph(network, random_weights(network, seed)))
    edges = [replace(made.tensors[t], arrangement=None) for t in (*made.inputs, *made.outputs)]
    graph = made.with_ops(made.ops, edges)
    scheme = Scheme(layers={i: Precision(text) for i, text in numbered(network, graph).items()})
    return quantized(graph, synthetic_ranges(graph), scheme, insides=synthetic_insides(graph))
