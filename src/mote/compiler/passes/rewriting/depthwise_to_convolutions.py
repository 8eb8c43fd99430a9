"""Replace DEPTHWISE_CONV_2D of an image with one channel by CONV_2D, which has faster kernels.

All output channels then read the same input channel, as those of a convolution do: only the order of weights differs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.ops.common import learned
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


def run(graph: Graph) -> Graph:
    ops: list[Op] = []
    weights: list[Tensor] = []
    fresh = graph.fresh_id()
    for op in graph.ops:
        if isinstance(op, DepthwiseConv2D) and op.input(graph).channels == 1 and not learned(graph, op):
            weights.append(_weights(graph, op, fresh + len(weights)))
            op = Conv2D(
                inputs=(op.inputs[0], weights[-1].id, *op.inputs[2:]),
                outputs=op.outputs,
                name=op.name,
                index=op.index,
                vertical=op.vertical,
                horizontal=op.horizontal,
                activation=op.activation,
                rounding=op.rounding,
            )
        ops.append(op)
    return graph.with_ops(ops, weights) if weights else graph


def _weights(graph: Graph, op: DepthwiseConv2D, fresh: int) -> Tensor:
    """The weights as [out, kh, kw, 1]."""
    weights = op.input(graph, 1)
    assert weights.data is not None
    turned = np.ascontiguousarray(weights.data.transpose(3, 1, 2, 0))
    quant = weights.quant and replace(weights.quant, axis=0)
    return replace(weights, id=fresh, shape=turned.shape, quant=quant, data=turned, copy_of=None)
