"""Replace BATCH_MATMUL with a constant operand by FULLY_CONNECTED, which has faster kernels."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.matrix.fully_connected import FullyConnected


def run(graph: Graph) -> Graph:
    ops: list[Op] = []
    weights: list[Tensor] = []
    fresh = graph.fresh_id()
    for op in graph.ops:
        if isinstance(op, BatchMatmul) and _is_layer(graph, op):
            weights.append(_weights(graph, op, fresh + len(weights)))
            op = FullyConnected(
                inputs=(op.inputs[0], weights[-1].id),
                outputs=op.outputs,
                name=op.name,
                index=op.index,
                keep_dims=True,
                rounding=op.rounding,
            )
        ops.append(op)
    return graph.with_ops(ops, weights) if weights else graph


def _is_layer(graph: Graph, op: BatchMatmul) -> bool:
    """Whether a product multiplies every row by the same constant matrix, with types that FULLY_CONNECTED supports."""
    left, right, output = op.input(graph), op.input(graph, 1), op.output(graph)
    types = {left.dtype, right.dtype, output.dtype}
    if right.data is None or prod(right.shape[:-2]) != 1 or op.left_turned or len(left.shape) != len(output.shape):
        return False
    wide = (left.dtype, right.dtype) == (DType.INT16, DType.INT8)
    return types == {DType.FLOAT32} or wide or (types == {DType.INT8} and right.zero_point == 0)


def _weights(graph: Graph, op: BatchMatmul, fresh: int) -> Tensor:
    """The constant matrix as weights [outputs, inputs]."""
    right = op.input(graph, 1)
    assert right.data is not None
    matrix = right.data.reshape(right.shape[-2:])
    turned = np.ascontiguousarray(matrix if op.right_turned else matrix.T)
    return Tensor(fresh, right.name, turned.shape, right.dtype, right.quant, turned)
