"""`--io int8`: remove a QUANTIZE right after a model input and a DEQUANTIZE right before a model output, so that inputs
and outputs are int8 and the caller converts. Other inputs and outputs are unchanged."""

from __future__ import annotations

from dataclasses import replace

from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType


def run(graph: Graph) -> Graph:
    inputs, outputs = list(graph.inputs), list(graph.outputs)
    dropped = set()
    for i, t in enumerate(inputs):
        reader = graph.only_consumer(t)
        if reader is not None and reader.kind == "QUANTIZE" and _types(graph, reader) == (DType.FLOAT32, DType.INT8):
            inputs[i] = reader.outputs[0]
            dropped.add(id(reader))
    for i, t in enumerate(outputs):
        writer = graph.producers.get(t)
        if writer is None or writer.kind != "DEQUANTIZE" or graph.consumers.get(t):
            continue
        if _types(graph, writer) == (DType.INT8, DType.FLOAT32):
            outputs[i] = writer.inputs[0]
            dropped.add(id(writer))
    edges = replace(graph, inputs=tuple(inputs), outputs=tuple(outputs))
    return edges.with_ops(op for op in graph.ops if id(op) not in dropped)


def _types(graph: Graph, op: Op) -> tuple[DType, DType]:
    """The element types of an operator's input and output."""
    return op.input(graph).dtype, op.output(graph).dtype
