"""The network as data: tensors, operators, and the graph that joins them."""

from mote.graph.graph import Graph, InvalidGraphError, Op, State
from mote.graph.rows import Rows
from mote.graph.tensor import Quantization, Tensor

__all__ = ["Graph", "InvalidGraphError", "Op", "Quantization", "Rows", "State", "Tensor"]
