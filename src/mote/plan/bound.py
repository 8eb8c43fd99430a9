"""A proven lower bound: no schedule of these rows, however it interleaves the operators, has a lower peak.

While a node runs, what it reads has been computed and nothing after it has. The least that can be live at such a
moment, over all sets of finished work, is a minimum cut (the rows that are computed and not yet dead are what is cut).
The largest of these minima, over all nodes, bounds the peak of every order in which each operator's rows run in the
given direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mote.plan.rows import Node, RowGraph

MOMENTS = 400
FOREVER = 1 << 28
"""A capacity that no sum of rows reaches."""


def lower_bound(rows: RowGraph, order: Sequence[Node] | None = None, moments: int = MOMENTS) -> int:
    """The bound. Nodes during which no more is live in some schedule than the best bound so far cannot raise it and are
    left out: a good schedule (`order`) makes this fast. Of the others the `moments` with the most live are looked at:
    fewer only make the bound lower."""
    if order is None:
        order = [node for work in rows.works for node in work.by_rows]
    state = rows.prefixes[0].copy()
    during = [state.run(rows, node) for node in order]
    return _Bound(_with_least_sums(rows)).lower_bound(order, during, moments)


def _with_least_sums(rows: RowGraph) -> RowGraph:
    """The same rows with running sums so small that the bound holds for operators that run whole, without sums, too.
    Those keep the rows that they read until they have all of them: while the sums would live, one row at least, unless
    the rows have to be kept for another reader anyway."""
    size = list(rows.size)
    for i, store in rows.sums.items():
        sums = rows.stores[store].first
        read = [r for node in rows.works[i].by_rows for r in node.reads if r != sums]
        alone = all(rows.reader_nodes[r] == 1 and r not in rows.kept for r in read)
        size[sums] = min(size[sums], *(size[r] for r in read)) if alone else 0
    return replace(rows, size=tuple(size))


@dataclass(frozen=True)
class _Bound:
    rows: RowGraph

    @cached_property
    def nodes(self) -> list[Node]:
        return [node for work in self.rows.works for node in work.by_rows]

    @cached_property
    def maker(self) -> dict[int, int]:
        return {r: i for i, node in enumerate(self.nodes) for r in node.writes}

    @cached_property
    def starts(self) -> frozenset[int]:
        """The number of each operator's first node."""
        counts = [len(work.by_rows) for work in self.rows.works]
        return frozenset(sum(counts[:i]) for i in range(len(counts)))

    def lower_bound(self, order: Sequence[Node], during: Sequence[int], moments: int) -> int:
        number = {id(node): i for i, node in enumerate(self.nodes)}
        best = max(self.rows.prefixes[0].live, self.rows.prefixes[-1].live)
        ranked = sorted(zip(during, order, strict=True), key=lambda x: (-x[0], number[id(x[1])]))
        for most, node in ranked[:moments]:
            if most <= best:
                break
            best = max(best, self._at(number[id(node)]))
        return best

    def _at(self, i: int) -> int:
        """The least that is live while node i runs."""
        node = self.nodes[i]
        new = sum(self.rows.size[r] for r in node.writes)
        before = self._least_live(i, done=False)
        if not node.over:
            return before + new + node.scratch
        return max(before, self._least_live(i, done=True)) + node.scratch

    def _least_live(self, i: int, done: bool) -> int:
        """The least that is live just before node i runs, or just after."""
        from scipy.sparse.csgraph import maximum_flow

        capacity = self._capacity.copy()
        n, node = len(self.nodes), self.nodes[i]
        finished = {i} if done else {self.maker[r] for r in node.reads if r in self.maker}
        unfinished = i
        if done:
            unfinished = i + 1
        elif i not in self.starts:
            finished.add(i - 1)
        for j in finished:
            capacity[self._from_source[j]] = FOREVER
        if unfinished == i or (unfinished < n and unfinished not in self.starts):
            capacity[self._to_sink[unfinished]] = FOREVER
        graph = self._matrix
        graph.data = capacity
        cut = int(maximum_flow(graph, n + len(self._dying), n + len(self._dying) + 1).flow_value)
        return cut + self._constant

    @cached_property
    def _dying(self) -> list[int]:
        """Rows that die before the end: those with readers that nobody keeps."""
        return [r for r in range(len(self.rows.size)) if self.rows.reader_nodes[r] and r not in self.rows.kept]

    @cached_property
    def _constant(self) -> int:
        """What is live whatever is done, less what the source's arcs to dying rows add to every cut."""
        there = sum(self.rows.size[r] for r in self.rows.resident if self.rows.reader_nodes[r] or r in self.rows.kept)
        return there - sum(self.rows.size[r] for r in self._dying)

    @cached_property
    def _arcs(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Tails, heads, capacities. Nodes come first, then dying rows, source and sink. The source side of the cut is
        what is finished (nodes) and dead (rows)."""
        rows, n = self.rows, len(self.nodes)
        dead = {r: n + k for k, r in enumerate(self._dying)}
        source, sink = n + len(dead), n + len(dead) + 1
        arcs: list[tuple[int, int, int]] = []
        for i, node in enumerate(self.nodes):
            made = sum(rows.size[r] for r in node.writes if r in dead or r in rows.kept)
            arcs += [(source, i, 0), (i, sink, made)]
            before = {self.maker[r] for r in node.reads if r in self.maker}
            if i not in self.starts:
                before.add(i - 1)
            arcs += [(i, j, FOREVER) for j in sorted(before) if j != i]
            arcs += [(dead[r], i, FOREVER) for r in node.reads if r in dead]
        arcs += [(source, dead[r], rows.size[r]) for r in self._dying]
        tails, heads, capacities = np.array(arcs, np.int32).reshape(-1, 3).T
        order = np.lexsort((heads, tails))
        return tails[order], heads[order], capacities[order]

    @cached_property
    def _capacity(self) -> NDArray[np.int32]:
        return self._arcs[2]

    @cached_property
    def _matrix(self):  # type: ignore[no-untyped-def]
        from scipy.sparse import csr_matrix

        tails, heads, capacities = self._arcs
        size = len(self.nodes) + len(self._dying) + 2
        return csr_matrix((capacities, (tails, heads)), shape=(size, size))

    @cached_property
    def _from_source(self) -> dict[int, int]:
        """The place in the capacities of each node's arc from the source."""
        source = len(self.nodes) + len(self._dying)
        tails, heads, _ = self._arcs
        return {int(heads[k]): int(k) for k in np.flatnonzero(tails == source) if heads[k] < len(self.nodes)}

    @cached_property
    def _to_sink(self) -> dict[int, int]:
        sink = len(self.nodes) + len(self._dying) + 1
        tails, heads, _ = self._arcs
        return {int(tails[k]): int(k) for k in np.flatnonzero(heads == sink)}
