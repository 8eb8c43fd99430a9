"""Turn int8 functions that map each byte to itself into reshapes, which cost nothing: converters scale attention scores
by a constant and give the product a scale that is smaller by just that factor."""

from __future__ import annotations

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import INT8
from mote.ir.ops.moves.reshape import Reshape


def run(graph: Graph) -> Graph:
    return graph.with_ops(_view(graph, op) if _keeps_bytes(graph, op) else op for op in graph.ops)


def _keeps_bytes(graph: Graph, op: Op) -> bool:
    computed = op.computed(graph)
    if op.is_view or len(computed) != 1 or len(op.outputs) != 1:
        return False
    x, y = graph.tensors[computed[0][1]], op.output(graph)
    if x.dtype != DType.INT8 or y.dtype != DType.INT8 or x.shape != y.shape:
        return False
    table = op.table(graph)
    return table is not None and np.array_equal(table, INT8)


def _view(graph: Graph, op: Op) -> Reshape:
    ((_, x),) = op.computed(graph)
    return Reshape(inputs=(x,), outputs=op.outputs, name=op.name, index=op.index, shape=op.output(graph).shape)
