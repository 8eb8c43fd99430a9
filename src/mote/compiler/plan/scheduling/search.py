"""Exact search for a schedule with a lower peak of live bytes, within a budget of work.

A state is how many nodes of each operator have run. Some sequences of nodes can be committed to without branching: they
stay within the limit, end with no more live bytes than before, and none of their feasible parts ends with less. Live
bytes are a submodular function of the set of finished nodes, so that any schedule can be rearranged to run such a
sequence first. The search branches over the states between commitments only. If it exhausts them, there is no schedule
within the limit (with each operator's rows in the given direction).

Example: POOL 2x2 of CONV. From the start, the rows CONV 0 and CONV 1 add to the live bytes; POOL 0 then frees both. If
this sequence ends with no more live bytes than before, since CONV 1 was the last reader of an input row, the search
runs the three nodes without trying anything else first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from mote.compiler.plan.memory.max_flow import FOREVER, Flow
from mote.compiler.plan.scheduling.rows import Liveness, RowGraph, RowNode

AHEAD = (1, 2, 4)
"""Numbers of further rows of an operator that are tried as a commitment."""
COPIED = 32
"""Effort: copying the liveness of this many rows costs as much as trying one node."""
CUT = 16
"""Effort: a minimum cut over this many nodes costs as much as trying one node."""


@dataclass
class Effort:
    """A budget of work in tried nodes; counted, not timed, so that results are deterministic."""

    left: int

    def spend(self, amount: int = 1) -> None:
        self.left -= amount

    @property
    def spent(self) -> bool:
        return self.left <= 0


@dataclass(frozen=True)
class SearchOutcome:
    """The outcome of a search: an order; none, with `exhausted` as proof that there is none; or none, out of budget."""

    order: tuple[RowNode, ...] | None
    exhausted: bool


@dataclass
class Search:
    """Searches for an order of the nodes of operators lo..hi-1 within a limit, those before being finished."""

    rows: RowGraph
    lo: int
    hi: int
    limit: int
    """The limit of live bytes while any node runs."""
    effort: Effort
    _seen: set[tuple[int, ...]] = field(default_factory=set)
    _paths: list[tuple[int, list[RowNode]]] = field(default_factory=list)
    """For each state the index of its predecessor (-1: none) and the nodes from there."""

    def run(self) -> SearchOutcome:
        """Best-first search, states with the most progress first."""
        works = self.rows.works
        counts = tuple(len(w.by_rows) for w in works[self.lo : self.hi])
        start = self.rows.prefixes[self.lo].copy()
        if start.live > self.limit:
            return SearchOutcome(None, True)
        queue: list[tuple[float, int, list[int], Liveness]] = []
        self._push(queue, [0] * len(counts), start, -1, [])
        while queue:
            _, number, done, state = heappop(queue)
            if tuple(done) == counts:
                return SearchOutcome(self._order(number), False)
            if self.effort.spent:
                return SearchOutcome(None, False)
            for k in range(len(counts) - 1, -1, -1):
                node = self._next(done, k)
                if node is None or self._during(state, node) > self.limit:
                    continue
                self.effort.spend(len(state.left) // COPIED)
                after, counted = state.copy(), done.copy()
                after.run(self.rows, node)
                counted[k] += 1
                self._push(queue, counted, after, number, [node])
        return SearchOutcome(None, True)

    def _order(self, number: int) -> tuple[RowNode, ...]:
        """The nodes from the start to a state, by its index in `_paths`."""
        parts: list[list[RowNode]] = []
        while number >= 0:
            number, nodes = self._paths[number]
            parts.append(nodes)
        return tuple(node for nodes in reversed(parts) for node in nodes)

    def _push(
        self,
        queue: list[tuple[float, int, list[int], Liveness]],
        done: list[int],
        state: Liveness,
        parent: int,
        path: list[RowNode],
    ) -> None:
        """Runs all commitments from a state, then adds it to the queue unless it is known."""
        while self._commit(done, state, path):
            pass
        key = tuple(done)
        if key in self._seen:
            return
        self._seen.add(key)
        self._paths.append((parent, path))
        works = self.rows.works[self.lo : self.hi]
        progress = sum((k + 1) * n / len(w.by_rows) for k, (n, w) in enumerate(zip(done, works, strict=True)))
        heappush(queue, (-progress, len(self._paths) - 1, done, state))

    def _commit(self, done: list[int], state: Liveness, path: list[RowNode]) -> bool:
        """Runs a commitment if there is one."""
        for k in range(len(done) - 1, -1, -1):
            for count in AHEAD:
                total = len(self.rows.works[self.lo + k].by_rows)
                if done[k] + count > total and count > 1:
                    break
                nodes = self._demand(done, state, k, done[k] + count)
                if nodes and self._is_safe(state, nodes):
                    for node in nodes:
                        state.run(self.rows, node)
                        done[node.op - self.lo] += 1
                    path += nodes
                    return True
        return False

    def _demand(self, done: list[int], state: Liveness, k: int, count: int) -> list[RowNode] | None:
        """The nodes to run until operator k has finished `count` nodes, dependencies included; None if they exceed the
        limit, or end with more live bytes than now."""
        if count > len(self.rows.works[self.lo + k].by_rows):
            return None
        counted, live = done.copy(), state.live
        nodes: list[RowNode] = []

        def demand(k: int, count: int) -> bool:
            while counted[k] < count:
                node = self.rows.works[self.lo + k].by_rows[counted[k]]
                for p, needed in node.needs:
                    if p >= self.lo and counted[p - self.lo] < needed and not demand(p - self.lo, needed):
                        return False
                self.effort.spend()
                nodes.append(node)
                if state.run(self.rows, node) > self.limit:
                    return False
                counted[k] += 1
            return True

        worth_it = demand(k, count) and state.live <= live
        state.undo(nodes, live)
        return nodes if worth_it else None

    def _is_safe(self, state: Liveness, nodes: Sequence[RowNode]) -> bool:
        """Whether no feasible part of `nodes` ends with fewer live bytes than all of them."""
        if len(nodes) == 1:
            return True
        before = state.live
        for node in nodes:
            state.run(self.rows, node)
        after = state.live
        state.undo(nodes, before)
        self.effort.spend(len(nodes) // CUT)
        return least_between(self.rows, state, nodes) >= after

    def _next(self, done: list[int], k: int) -> RowNode | None:
        """The next node of operator k if its dependencies have run."""
        nodes = self.rows.works[self.lo + k].by_rows
        if done[k] == len(nodes):
            return None
        node = nodes[done[k]]
        ready = all(p < self.lo or done[p - self.lo] >= n for p, n in node.needs)
        return node if ready else None

    def _during(self, state: Liveness, node: RowNode) -> int:
        """The live bytes while a node would run."""
        self.effort.spend()
        before = state.live
        during = state.run(self.rows, node)
        state.undo([node], before)
        return during


def least_between(rows: RowGraph, state: Liveness, nodes: Sequence[RowNode]) -> int:
    """The least live bytes after any feasible subset of `nodes` (given in a feasible order), by a minimum cut."""
    maker = {r: i for i, node in enumerate(nodes) for r in node.writes}
    readers: dict[int, list[int]] = {}
    for i, node in enumerate(nodes):
        for r in node.reads:
            readers.setdefault(r, []).append(i)
    n = len(nodes)
    latest: dict[int, int] = {}
    dying = [r for r, own_readers in readers.items() if state.left[r] == len(own_readers)]
    source, sink = n + len(dying), n + len(dying) + 1
    flow = Flow(sink + 1)
    for i, node in enumerate(nodes):
        flow.add(i, sink, sum(rows.size[r] for r in node.writes if state.left[r]))
        before = {maker[r] for r in node.reads if r in maker} | {latest.get(node.op, i)}
        latest[node.op] = i
        for j in before - {i}:
            flow.add(i, j, FOREVER)
    for d, r in enumerate(dying):
        flow.add(source, n + d, rows.size[r])
        for i in readers[r]:
            flow.add(n + d, i, FOREVER)
    return state.live + flow.send(source, sink) - sum(rows.size[r] for r in dying)
