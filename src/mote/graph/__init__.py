"""The network as data: tensors, operators, and the graph that joins them."""

from mote.graph.graph import Graph, InvalidGraphError, ModelLayer, Op, State
from mote.graph.rows import Rows
from mote.graph.tensor import Quantization, Tensor

__all__ = ["Graph", "InvalidGraphError", "ModelLayer", "Op", "Quantization", "Rows", "State", "Tensor"]
