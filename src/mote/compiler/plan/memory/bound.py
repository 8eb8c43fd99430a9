"""A proven lower bound of the peak of live bytes for any schedule of a row graph, whatever the interleaving.

While a node runs, its dependencies are finished and nothing that depends on it has run. The least live bytes at that
moment, over all sets of finished nodes, are a minimum cut of the row graph: live rows are those that are computed but
have readers left, edges from finished to unfinished nodes. The maximum of these minima over all nodes bounds the peak
of every order in which each operator's rows run in the given direction.

Example: while row 1 of CONV runs (the tour's model), the whole input is live, as later rows of CONV read it, and so are
rows 0 and 1, as POOL 0 reads both: 576 + 2 * 96 bytes, and 72 of scratch, in any order.
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
"""Maximum number of nodes whose minimum cut is computed, by default."""


def lower_bound(rows: RowGraph, order: Sequence[RowNode] | None = None, moments: int = MOMENTS) -> int:
    """The lower bound of the peak of a row graph; a schedule with a low peak (`order`) makes it fast."""
    return Bound(rows).raised(order or [node for work in rows.works for node in work.by_rows], moments)


def _with_least_sums(rows: RowGraph) -> RowGraph:
    """The row graph with accumulators reduced, so that the bound also holds if their operator runs whole, without them.
    It then keeps its input until that is complete: at least one row wherever the accumulators would be live, or no
    extra bytes if another reader keeps these rows anyway."""
    size = list(rows.size)
    for i, storage in rows.sums.items():
        sums = rows.storages[storage].first
        read = [r for node in rows.works[i].by_rows for r in node.reads if r != sums]
        alone = all(rows.reader_nodes[r] == 1 and r not in rows.kept for r in read)
        size[sums] = min(size[sums], *(size[r] for r in read)) if alone else 0
    return replace(rows, size=tuple(size))


class Bound:
    """A lower bound of the peak of a row graph, which can be raised incrementally."""

    def __init__(self, rows: RowGraph) -> None:
        self.given = rows
        self.rows = _with_least_sums(rows)
        self.sums = {rows.storages[storage].first for storage in rows.sums.values()}
        self.nodes = [node for work in self.rows.works for node in work.by_rows]
        self.best = max(self.rows.prefixes[0].live, self.rows.prefixes[-1].live)
        self._seen: set[int] = set()

    def raised(self, order: Sequence[RowNode], moments: int = MOMENTS) -> int:
        """Raises the bound by minimum cuts at some nodes, and returns it. A schedule selects them: nodes during which
        it has no more live bytes than the current bound cannot raise that; of the others the `moments` with the most
        live bytes are taken."""
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
        """The index of each node, by identity."""
        return {id(node): i for i, node in enumerate(self.nodes)}

    @cached_property
    def maker(self) -> dict[int, int]:
        """The node that writes each row."""
        return {r: i for i, node in enumerate(self.nodes) for r in node.writes}

    @cached_property
    def starts(self) -> frozenset[int]:
        """The indices of the first node of each operator."""
        counts = [len(work.by_rows) for work in self.rows.works]
        return frozenset(accumulate(counts, initial=0))

    def _at(self, i: int) -> int:
        """The least live bytes while node i runs. Accumulators are not counted in their first node, as an operator that
        runs whole has not kept any row instead yet."""
        node = self.nodes[i]
        new = sum(self.rows.size[r] for r in node.writes if r not in self.sums)
        before = self._least_live(i, done=False)
        if not node.over:
            return before + new + node.scratch
        return max(before, self._least_live(i, done=True)) + node.scratch

    def _least_live(self, i: int, done: bool) -> int:
        """The least live bytes just before node i runs, or (`done`) just after: a minimum cut over the nodes that may
        be finished or not at that moment. Finished nodes and dead rows are on the source side."""
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
        """Rows that are ever live: row, bytes, the node that writes it (-1: live from the start), and its readers."""
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
