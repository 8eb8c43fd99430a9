"""Replace global AVERAGE_POOL_2D by MEAN before quantization: the output of MEAN has a scale of its own, and the mean
of an image has a much smaller range than its pixels."""

from __future__ import annotations

from mote.ir.graph import Graph, Op
from mote.ir.graph.types import Activation
from mote.ir.ops.common import Axis
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.windows.pool import AveragePool


def run(graph: Graph) -> Graph:
    return graph.with_ops(_mean(op) if _is_whole(graph, op) else op for op in graph.ops)


def _is_whole(graph: Graph, op: Op) -> bool:
    """Whether an operator averages each whole image."""
    if not isinstance(op, AveragePool) or op.activation != Activation.NONE:
        return False
    _, height, width, _ = op.input(graph).shape
    axes = zip((op.vertical, op.horizontal), (height, width), strict=True)
    return all(axis.size(n) == 1 and axis.inner(n) == Axis(n, axis.stride) for axis, n in axes)


def _mean(op: Op) -> Mean:
    return Mean(inputs=op.inputs, outputs=op.outputs, name=op.name, index=op.index, axes=(1, 2), keep_dims=True)
