"""The normal form of a float graph before quantization: constants and batch norms folded, activations fused into
layers."""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.passes.pipeline import Stage, apply
from mote.ir.graph import Graph


def normal(graph: Graph) -> Graph:
    """The graph in normal form. Tensors keep their ids; operators are renumbered in execution order, so that a number
    identifies one operator, and still know their layers in the model."""
    graph, _ = apply(graph, Stage.QUANTIZE)
    layers = {i: graph.layers[op.index] for i, op in enumerate(graph.ops) if op.index in graph.layers}
    return replace(graph, layers=layers).with_ops(op.with_(index=i) for i, op in enumerate(graph.ops))
