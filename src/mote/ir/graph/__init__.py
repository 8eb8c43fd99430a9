"""The network as data: tensors, operators, and the graph that connects them."""

from mote.ir.graph.graph import Graph, InvalidGraphError, ModelLayer, Op, State
from mote.ir.graph.rows import Rows
from mote.ir.graph.tensor import Quantization, Tensor

__all__ = ["Graph", "InvalidGraphError", "ModelLayer", "Op", "Quantization", "Rows", "State", "Tensor"]
