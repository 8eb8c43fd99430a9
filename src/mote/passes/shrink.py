"""Shrinking: remove what cannot matter, bit for bit, whatever the model is given (see docs/shrinking.md)."""

from __future__ import annotations

from collections.abc import Callable

from mote.graph import Graph
from mote.passes import shrink_channels
from mote.passes.removal import Removal

Shrinking = Callable[[Graph], tuple[Graph, list[Removal]]]

PASSES: tuple[Shrinking, ...] = (shrink_channels.run,)


def run(graph: Graph) -> tuple[Graph, list[Removal]]:
    """All passes, again and again until nothing is left to remove."""
    removals: list[Removal] = []
    while True:
        found: list[Removal] = []
        for shrinking in PASSES:
            graph, removed = shrinking(graph)
            found += removed
            graph.verify()
        if not found:
            return graph, removals
        removals += found


def summary(before: Graph, after: Graph, removals: list[Removal]) -> str:
    """What was removed, by kind, and what that saves."""
    counts = {
        what: sum(r.count for r in removals if r.what == what) for what in dict.fromkeys(r.what for r in removals)
    }
    parts = [f"{count:,} {what}" for what, count in counts.items()]
    for unit, measure in (("MACs", macs), ("bytes of weights", weight_bytes)):
        if saved := measure(before) - measure(after):
            parts.append(f"{saved:,} of {measure(before):,} {unit}")
    return ", ".join(parts)


def macs(graph: Graph) -> int:
    return sum(op.macs(graph) for op in graph.ops)


def weight_bytes(graph: Graph) -> int:
    """Of all constants that operators read."""
    return sum(t.nbytes for t in graph.tensors.values() if t.data is not None)
