"""The least peak of all schedules of a small graph of rows, by trying all of them.

The memory model is written down again here, from definitions: a row is live from when it is made (or from the start)
until the last node that reads it has run; while a node runs, what was live, what it makes and its working memory are
there, unless it may write over what dies.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import prod

from mote.compiler.plan.scheduling.rows import RowGraph, RowNode


def state_count(rows: RowGraph) -> int:
    """How many states of progress the search may have to look at."""
    return prod(len(work.by_rows) + 1 for work in rows.works)


def least_peak(rows: RowGraph) -> int:
    """The least peak over all orders in which the rows of each operator keep their order; an operator may also run as
    one node, if none of its rows has run before."""
    counts = tuple(len(work.by_rows) for work in rows.works)
    start = (0,) * len(counts)
    queue = [(live(rows, start), start)]
    seen = set()
    while queue:
        peak, done = heappop(queue)
        if done == counts:
            return peak
        if done in seen:
            continue
        seen.add(done)
        for after, node in _next(rows, done):
            heappush(queue, (max(peak, during(rows, done, after, node), live(rows, after)), after))
    raise AssertionError("no order was found")


Done = tuple[int, ...]
"""How many nodes of each operator have run."""


def _next(rows: RowGraph, done: Done) -> list[tuple[Done, RowNode]]:
    """What can run, and how far things are after it."""
    made = {*rows.resident, *(r for i, n in enumerate(done) for node in rows.works[i].by_rows[:n] for r in node.writes)}
    found = []
    for i, (n, work) in enumerate(zip(done, rows.works, strict=True)):
        nodes = [(n + 1, work.by_rows[n])] if n < len(work.by_rows) else []
        if n == 0 and work.whole is not None:
            nodes.append((len(work.by_rows), work.whole))
        found += [((*done[:i], m, *done[i + 1 :]), node) for m, node in nodes if made.issuperset(node.reads)]
    return found


def live(rows: RowGraph, done: Done) -> int:
    made = set(rows.resident)
    for work, n in zip(rows.works, done, strict=True):
        made.update(r for node in work.by_rows[:n] for r in node.writes)
    return sum(rows.size[r] for r in made & _wanted(rows, done))


def during(rows: RowGraph, before: Done, after: Done, node: RowNode) -> int:
    """The bytes that are taken while a node runs."""
    new = sum(rows.size[r] for r in node.writes)
    for group in node.over:
        if _wanted(rows, after).isdisjoint(group):
            new = max(new - sum(rows.size[r] for r in group), 0)
            break
    return live(rows, before) + new + node.scratch


def _wanted(rows: RowGraph, done: Done) -> set[int]:
    """The rows that are read from now on, or kept."""
    left = (node for work, n in zip(rows.works, done, strict=True) for node in work.by_rows[n:])
    return {*rows.kept, *(r for node in left for r in node.reads)}
