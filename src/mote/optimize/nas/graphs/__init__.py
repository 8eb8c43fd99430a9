"""Exports networks as float graphs, ONNX files and integer graphs (for costing)."""

from mote.optimize.nas.graphs.floats import float_graph
from mote.optimize.nas.graphs.integers import integer_graph
from mote.optimize.nas.graphs.onnx_nodes import onnx_file
from mote.optimize.nas.graphs.precisions import quantizer_layers
from mote.optimize.nas.graphs.weights import random_weights

__all__ = ["float_graph", "integer_graph", "onnx_file", "quantizer_layers", "random_weights"]
