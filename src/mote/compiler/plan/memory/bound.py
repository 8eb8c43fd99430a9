"""A proven lower bound of the peak for any schedule of these rows, with any interleaving of operators.

While a node runs, what it reads has been computed and nothing after it has. The least that can be live at such a
moment, over all sets of finished work, is a minimum cut (the rows that are computed and not yet dead are what is cut).
The largest of these minima, over all nodes, bounds the peak of every order in which each operator's rows run in the
given direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from heapq import nsmallest
from itertools import accumulate

from mote.compiler.plan.memory.max_flow import FOREVER, Flow
from mote.compiler.plan.scheduling.rows import RowGraph, RowNode

MOMENTS = 400


def lower_bound(rows: RowGraph, order: Sequence[RowNode] | None = None, moments: int = MOMENTS) -> int:
    """The lower bound, tightened with a schedule (see Bound.raised)."""
    return Bound(rows).raised(order or [node for work in rows.works for node in work.by_rows], moments)


def _with_least_sums(rows: RowGraph) -> RowGraph:
    """The rows with running sums so small that the bound holds for operators that run whole, without sums, too.
    Those keep the rows that they read until they have all of them: while the sums would live, one row at least, unless
    the rows have to be kept for another reader anyway."""
    size = list(rows.size)
    for i, storage in rows.sums.items():
        sums = rows.storages[storage].first
        read = [r for node in rows.works[i].by_rows for r in node.reads if r != sums]
        alone = all(rows.reader_nodes[r] == 1 and r not in rows.kept for r in read)
        size[sums] = min(size[sums], *(size[r] for r in read)) if alone else 0
    return replace(rows, size=tuple(size))


class Bound:
    """The best known bound, which grows with the schedules that it is shown."""

    def __init__(self, rows: RowGraph) -> None:
        self.given = rows
        self.rows = _with_least_sums(rows)
        self.sums = {rows.storages[storage].first for storage in rows.sums.values()}
        self.nodes = [node for work in self.rows.works for node in work.by_rows]
        self.best = max(self.rows.prefixes[0].live, self.rows.prefixes[-1].live)
        self._seen: set[int] = set()

    def raised(self, order: Sequence[RowNode], moments: int = MOMENTS) -> int:
        """The bound, with the help of a schedule. Nodes during which no more is live in it than the best bound so far
        cannot raise that and are left out: a good schedule makes this fast. Of the others the `moments` with the most
        live are looked at: fewer only make the bound lower."""
        state = self.given.prefixes[0].copy()
        during = [(-state.run(self.given, node), self.number[id(node)]) for node in order]
        for most, i in nsmallest(moments, during):
            if -most <= self.best:
                break
            if i not in self._seen:
                self._seen.add(i)
                self.best = max(self.best, self._at(i))
        return self.best

    @cached_property
    def number(self) -> dict[int, int]:
        """Node indices by identity."""
        return {id(node): i for i, node in enumerate(self.nodes)}

    @cached_property
    def maker(self) -> dict[int, int]:
        return {r: i for i, node in enumerate(self.nodes) for r in node.writes}

    @cached_property
    def starts(self) -> frozenset[int]:
        """The index of each operator's first node."""
        counts = [len(work.by_rows) for work in self.rows.works]
        return frozenset(accumulate(counts, initial=0))

    def _at(self, i: int) -> int:
        """The least that is live while node i runs. Sums are not counted where they begin: an operator that runs whole
        has read no row yet that it would keep in their place."""
        node = self.nodes[i]
        new = sum(self.rows.size[r] for r in node.writes if r not in self.sums)
        before = self._least_live(i, done=False)
        if not node.over:
            return before + new + node.scratch
        return max(before, self._least_live(i, done=True)) + node.scratch

    def _least_live(self, i: int, done: bool) -> int:
        """The least that is live just before node i runs, or just after: a minimum cut over the nodes that may then be
        finished or not. Its source side is what is finished (nodes) and dead (rows)."""
        finished = _reached({i} if done else set(self.before[i]), self.before)
        unfinished = _reached(set(self.after[i]) if done else {i}, self.after)
        free = [k for k in range(len(self.nodes)) if k not in finished and k not in unfinished]
        vertex = {k: v for v, k in enumerate(free)}
        source, sink = len(free), len(free) + 1
        flow = Flow(len(free) + 2)
        for k in free:
            for j in self.before[k]:
                if j in vertex:
                    flow.add(vertex[k], vertex[j], FOREVER)
        live = 0
        for r, nbytes, maker, readers in self.living:
            if maker in unfinished:
                continue
            stays = r in self.rows.kept or not unfinished.isdisjoint(readers)
            if maker in vertex:
                flow.add(vertex[maker], sink, nbytes)
                live -= 0 if stays else nbytes
            elif stays:
                live += nbytes
            reading = () if stays else [vertex[k] for k in readers if k in vertex]
            if reading:
                dead = flow.vertex()
                flow.add(source, dead, nbytes)
                for v in reading:
                    flow.add(dead, v, FOREVER)
        return live + flow.send(source, sink)

    @cached_property
    def living(self) -> list[tuple[int, int, int, list[int]]]:
        """Rows that are ever live: index, bytes, the node that writes them (-1: initially present), and their
        readers."""
        readers: list[list[int]] = [[] for _ in self.rows.size]
        for i, node in enumerate(self.nodes):
            for r in node.reads:
                readers[r].append(i)
        there = {**dict.fromkeys(self.rows.resident, -1), **self.maker}
        return [(r, self.rows.size[r], there[r], readers[r]) for r in there if readers[r] or r in self.rows.kept]

    @cached_property
    def before(self) -> list[list[int]]:
        """Direct predecessors of each node: the writers of its inputs, and the node before it in its operator."""
        predecessors = []
        for i, node in enumerate(self.nodes):
            makers = {self.maker[r] for r in node.reads if r in self.maker} - {i}
            predecessors.append(sorted(makers if i in self.starts else makers | {i - 1}))
        return predecessors

    @cached_property
    def after(self) -> list[list[int]]:
        """Direct successors of each node."""
        successors: list[list[int]] = [[] for _ in self.nodes]
        for i, nodes in enumerate(self.before):
            for j in nodes:
                successors[j].append(i)
        return successors


def _reached(nodes: set[int], following: list[list[int]]) -> set[int]:
    """A set of nodes, and all that are reachable from it."""
    queue = list(nodes)
    for i in queue:
        for j in following[i]:
            if j not in nodes:
                nodes.add(j)
                queue.append(j)
    return nodes
