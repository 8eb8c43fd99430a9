"""Replaces one tensor by another wherever it is read."""

from __future__ import annotations

from collections.abc import Mapping

from mote.ir.graph import Graph


def redirect(graph: Graph, replaced: Mapping[int, int]) -> Graph:
    """The graph in which operators read `replaced[t]` instead of each tensor `t` in `replaced`, followed
    transitively."""

    def final(t: int) -> int:
        while t in replaced:
            t = replaced[t]
        return t

    ops = (op.with_(inputs=tuple(final(t) for t in op.inputs)) for op in graph.ops)
    return graph.with_ops(ops)
