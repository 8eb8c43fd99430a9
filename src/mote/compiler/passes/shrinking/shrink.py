"""Shrinking: remove what cannot affect outputs, bit-exact for any input (see docs/compile/shrinking.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from mote.compiler.passes.folding import compose_requantization, fold_by_range
from mote.compiler.passes.shrinking import merge_channels, shrink_channels, trim_kernels
from mote.compiler.passes.shrinking.report import Removal, RemovalKind
from mote.ir.graph import Graph, Op
from mote.ir.ops.common import learned
from mote.ir.ops.control.control_flow import Control

Shrinking = Callable[[Graph], tuple[Graph, list[Removal]]]

PASSES: tuple[Shrinking, ...] = (
    fold_by_range.run,
    compose_requantization.run,
    shrink_channels.run,
    merge_channels.run,
    trim_kernels.run,
)


def run(graph: Graph) -> tuple[Graph, list[Removal]]:
    """Runs all shrinking passes until nothing is left to remove, first in the bodies of control flow. A graph with
    layers that learn is not changed, as channels that have no effect may get one by training."""
    if any(learned(graph, op) for op in graph.ops):
        return graph, []
    graph, removals = _in_bodies(graph)
    while True:
        latest: list[Removal] = []
        for shrinking in PASSES:
            graph, removed = shrinking(graph)
            graph.verify()
            latest += removed
        if not latest:
            return graph, removals
        removals += latest


def reported(graph: Graph) -> tuple[Graph, str]:
    """The graph after all shrinking passes, and a line of text about what they removed."""
    after, removals = run(graph)
    return after, summary(graph, after, removals) if removals else ""


def _in_bodies(graph: Graph) -> tuple[Graph, list[Removal]]:
    """The graph with the bodies of control flow shrunk; removals inside of a body count for its operator."""
    ops: list[Op] = []
    removals: list[Removal] = []
    for op in graph.ops:
        if isinstance(op, Control):
            shrunk = [run(body) for body in op.bodies]
            removals += [replace(removal, index=op.index) for _, removed in shrunk for removal in removed]
            op = op.with_bodies([body for body, _ in shrunk])
        ops.append(op)
    return (graph.with_ops(ops), removals) if removals else (graph, [])


def summary(before: Graph, after: Graph, removals: list[Removal]) -> str:
    """A line of text with the number of removals by kind, and the savings."""
    parts = [f"{count:,} {kind.name}" for kind, count in totals(removals).items()]
    for unit, measure in (("MACs", _macs), ("bytes of weights", _weight_bytes)):
        if saved := measure(before) - measure(after):
            parts.append(f"{saved:,} of {measure(before):,} {unit}")
    return ", ".join(parts)


def totals(removals: Iterable[Removal]) -> dict[RemovalKind, int]:
    """The number of removed things by kind."""
    totals: dict[RemovalKind, int] = {}
    for r in removals:
        totals[r.kind] = totals.get(r.kind, 0) + r.count
    return totals


def weight_bytes(graph: Graph, op: Op) -> int:
    """The bytes of the constants that an operator reads."""
    read = (op.tensor(graph, position) for position in range(len(op.inputs)))
    return sum(t.nbytes for t in read if t is not None and t.data is not None)


def _macs(graph: Graph) -> int:
    return sum(op.macs(graph) for op in graph.ops)


def _weight_bytes(graph: Graph) -> int:
    return sum(weight_bytes(graph, op) for op in graph.ops)
