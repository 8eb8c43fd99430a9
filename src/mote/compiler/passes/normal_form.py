"""The form of a float graph that is quantized: constants and batch norms folded, activations fused into layers."""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.passes.pipeline import Stage, apply
from mote.ir.graph import Graph


def normal(graph: Graph) -> Graph:
    """The graph in that form. Tensors keep their ids; operators are numbered anew in the order of their execution, so
    that a number means one operator. They still know their layers in the model."""
    graph, _ = apply(graph, Stage.QUANTIZE)
    layers = {i: graph.layers[op.index] for i, op in enumerate(graph.ops) if op.index in graph.layers}
    return replace(graph, layers=layers).with_ops(op.with_(index=i) for i, op in enumerate(graph.ops))
