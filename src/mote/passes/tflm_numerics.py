"""Follow TensorFlow Lite Micro where it differs from LiteRT's reference: fully connected layers round twice."""

from __future__ import annotations

from mote.graph import Graph
from mote.ops.fully_connected import FullyConnected


def run(graph: Graph) -> Graph:
    return graph.with_ops(
        op.with_(rounding="twice") if isinstance(op, FullyConnected) else op for op in graph.ops
    )
