"""Shrinking: remove what cannot matter, bit for bit, whatever the model is given (see docs/shrinking.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mote.graph import Graph, Op
from mote.passes import compose_requantization, merge_channels, settle, shrink_channels, trim_kernels
from mote.passes.removal import Kind, Removal

Shrinking = Callable[[Graph], tuple[Graph, list[Removal]]]

PASSES: tuple[Shrinking, ...] = (
    settle.run,
    compose_requantization.run,
    shrink_channels.run,
    merge_channels.run,
    trim_kernels.run,
)


def run(graph: Graph) -> tuple[Graph, list[Removal]]:
    """All passes, again and again until nothing is left to remove."""
    removals: list[Removal] = []
    while True:
        found: list[Removal] = []
        for shrinking in PASSES:
            graph, removed = shrinking(graph)
            graph.verify()
            found += removed
        if not found:
            return graph, removals
        removals += found


def summary(before: Graph, after: Graph, removals: list[Removal]) -> str:
    """What was removed, by kind, and what that saves."""
    parts = [f"{count:,} {kind.name}" for kind, count in totals(removals).items()]
    for unit, measure in (("MACs", _macs), ("bytes of weights", _weight_bytes)):
        if saved := measure(before) - measure(after):
            parts.append(f"{saved:,} of {measure(before):,} {unit}")
    return ", ".join(parts)


def totals(removals: Iterable[Removal]) -> dict[Kind, int]:
    """How many of each kind."""
    found: dict[Kind, int] = {}
    for r in removals:
        found[r.kind] = found.get(r.kind, 0) + r.count
    return found


def weight_bytes(graph: Graph, op: Op) -> int:
    """Of the constants that an operator reads."""
    read = (op.tensor(graph, position) for position in range(len(op.inputs)))
    return sum(t.nbytes for t in read if t is not None and t.data is not None)


def _macs(graph: Graph) -> int:
    return sum(op.macs(graph) for op in graph.ops)


def _weight_bytes(graph: Graph) -> int:
    return sum(weight_bytes(graph, op) for op in graph.ops)
