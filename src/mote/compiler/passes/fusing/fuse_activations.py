"""Fold a RELU, RELU6 or RELU_N1_TO_1 into the operator before it, which clamps its result anyway.

For int8 only if both tensors have the same quantization, as the activation is then only a clamp.
"""

from __future__ import annotations

from mote.ir.graph import Graph, Op
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.elementwise.activations import Clamp


def run(graph: Graph) -> Graph:
    fused: dict[int, Op] = {}
    gone: set[int] = set()
    for op in graph.ops:
        activation = graph.only_consumer(op.outputs[0])
        if not isinstance(activation, Clamp) or getattr(op, "activation", None) != Activation.NONE:
            continue
        x, y = activation.input(graph), activation.output(graph)
        if x.dtype == DType.FLOAT32 or (x.quant is not None and x.quant.same_as(y.quant)):
            fused[id(op)] = op.with_(activation=activation.clamp, outputs=(*activation.outputs, *op.outputs[1:]))
            gone.add(id(activation))
    return graph.with_ops(fused.get(id(op), op) for op in graph.ops if id(op) not in gone)
