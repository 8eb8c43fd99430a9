"""Remove operators whose results are read neither in this inference nor, as states, in the next."""

from __future__ import annotations

from mote.ir.graph import Graph


def run(graph: Graph) -> Graph:
    needed = {*graph.outputs, *(s.after for s in graph.states)}
    kept = []
    for op in reversed(graph.ops):
        if needed & set(op.outputs):
            needed.update(op.inputs)
            kept.append(op)
    return graph.with_ops(reversed(kept))
