"""The network as data: tensors, operators, and the graph that joins them."""

from mote.graph.graph import Graph, State
from mote.graph.op import Op, Rows
from mote.graph.tensor import Quantization, Tensor

__all__ = ["Graph", "Op", "Quantization", "Rows", "State", "Tensor"]
