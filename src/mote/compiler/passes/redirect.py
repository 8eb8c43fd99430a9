"""Redirect consumers: replace one tensor by another everywhere it is read."""

from __future__ import annotations

from collections.abc import Mapping

from mote.ir.graph import Graph


def redirect(graph: Graph, replaced: Mapping[int, int]) -> Graph:
    """The graph with every read of a key of `replaced` made a read of its value (followed to the end)."""

    def final(t: int) -> int:
        while t in replaced:
            t = replaced[t]
        return t

    ops = (op.with_(inputs=tuple(final(t) for t in op.inputs)) for op in graph.ops)
    return graph.with_ops(ops)
