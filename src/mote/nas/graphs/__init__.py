"""Networks as graphs and files: float, ONNX, and the integer graphs that they are costed with."""

from mote.nas.graphs.floats import float_graph
from mote.nas.graphs.integers import integer_graph
from mote.nas.graphs.onnx_nodes import onnx_file
from mote.nas.graphs.precisions import quantizer_layers
from mote.nas.graphs.weights import random_weights

__all__ = ["float_graph", "integer_graph", "onnx_file", "quantizer_layers", "random_weights"]
