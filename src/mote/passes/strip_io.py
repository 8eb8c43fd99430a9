"""`--io int8`: a QUANTIZE right after a model input and a DEQUANTIZE right before a model output are left to
the caller, so that the model's edges are int8. Other inputs and outputs stay as they are."""

from __future__ import annotations

from dataclasses import replace

from mote.graph import Graph
from mote.graph.types import DType


def run(graph: Graph) -> Graph:
    inputs, outputs = list(graph.inputs), list(graph.outputs)
    dropped = set()
    for i, t in enumerate(inputs):
        reader = graph.only_consumer(t)
        if reader is not None and reader.kind == "QUANTIZE" and graph.tensors[t].dtype == DType.FLOAT32:
            inputs[i] = reader.outputs[0]
            dropped.add(id(reader))
    for i, t in enumerate(outputs):
        writer = graph.producers.get(t)
        if writer is not None and writer.kind == "DEQUANTIZE" and not graph.consumers.get(t):
            outputs[i] = writer.inputs[0]
            dropped.add(id(writer))
    edges = replace(graph, inputs=tuple(inputs), outputs=tuple(outputs))
    return edges.with_ops(op for op in graph.ops if id(op) not in dropped)
