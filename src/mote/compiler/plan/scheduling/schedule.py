"""Schedules: which operators run whole, which by rows, and how their rows interleave.

The operators are cut into segments. A segment of one operator may run whole; any segment may run by rows, as far
downstream as possible at any time (eager), or on demand of its last operator (lazy). Between segments everything that
was computed and is still needed is live. The best cut is a shortest path over the segments: the one with the least
peak, or the one with the least extra work whose peak stays within a limit. If the least peak is above the proven bound,
an exact search looks for a better order of the segments around the peak.

Example: CONV, POOL 2x2, FULLY_CONNECTED. The cut (CONV, POOL), (FULLY_CONNECTED) runs rows CONV 0, CONV 1, POOL 0, CONV
2, CONV 3, POOL 1, ..., so that two rows of CONV are live at a time; then FULLY_CONNECTED whole. With three segments
each operator runs whole, and all rows of CONV are live.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from itertools import count as counted
from math import isqrt
from typing import NamedTuple

from mote.base.progress import Say, silent
from mote.compiler.kernels.cost import Costs
from mote.compiler.plan.memory.bound import Bound
from mote.compiler.plan.scheduling.rows import Liveness, RowGraph, RowNode
from mote.compiler.plan.scheduling.search import Effort, Search
from mote.compiler.plan.selection.estimate import extra_by_rows


class Interleaving(StrEnum):
    """How the operators of a segment take turns, row by row."""

    WHOLE = "whole"
    """A single operator, as one node."""
    LAZY = "lazy"
    """Demand-driven: each row of the last operator, after the rows that it needs."""
    EAGER = "eager"
    """Data-driven: whatever can run farthest downstream."""
    SEARCHED = "searched"
    """An order that the exact search has found."""


ROW_INTERLEAVINGS = (Interleaving.LAZY, Interleaving.EAGER)
LENGTHS = (6, 16, 40)
"""Maximum operators of a segment; the next is tried while the peak is above the bound."""
SIMULATED = 1_500_000
"""Longer segments are not tried where more nodes than this would be simulated."""
IN_SPACES = 100_000
"""Budget of simulated nodes for each schedule space of a Pareto front."""
WINDOW = 200
"""Maximum operators that the exact search reorders."""
APART = 6
"""Maximum operators of a segment with independent parts; the parts of longer ones are segments of their own."""
EAGER = 16
"""Maximum operators of an eager segment."""
PROOFS = 8
"""Number of searches between updates of the lower bound."""
GLANCE = 12
"""Number of nodes of a schedule that an update of the lower bound considers."""


@dataclass(frozen=True)
class Run:
    """A node in a schedule; `whole`: it computes the operator as a whole."""

    node: RowNode
    whole: bool


@dataclass(frozen=True)
class Schedule:
    """An order of nodes, with its peak of live bytes."""

    runs: tuple[Run, ...]
    peak: int
    """The maximum of `during`."""

    def during(self, rows: RowGraph) -> list[int]:
        """Live bytes while each node runs, scratch included."""
        state = Liveness.start(rows)
        return [state.run(rows, run.node) for run in self.runs]

    def nodes(self, rows: RowGraph) -> list[RowNode]:
        """The order of row nodes, operators that run whole expanded to rows."""
        parts = (rows.works[run.node.op].by_rows if run.whole else (run.node,) for run in self.runs)
        return [node for part in parts for node in part]


class Segment(NamedTuple):
    """Consecutive operators lo..hi-1 that run together: one of them whole, or all by rows."""

    lo: int
    hi: int
    interleaving: Interleaving


@dataclass
class Scheduler:
    """Finds the cut of a row graph into segments with the least peak or cost; each segment is simulated once."""

    rows: RowGraph
    costs: Costs
    longest: int = LENGTHS[0]
    """Maximum operators of a segment."""
    bound: int = 0
    """A proven lower bound of the peak of any schedule."""
    whole: bool = True
    """Whether operators that can run by rows may run whole as well."""
    say: Say = silent
    _peaks: dict[Segment, tuple[int, bool]] = field(default_factory=dict)
    _searched: dict[Segment, tuple[RowNode, ...]] = field(default_factory=dict)
    """The node order of each SEARCHED segment."""
    _reach: list[int] = field(default_factory=list)
    """By n: the least peak over all cuts of the first n operators."""
    _segments_at: dict[int, list[Segment]] = field(default_factory=dict)
    """The segments that begin at each operator."""

    def least_peak(self) -> int:
        """The least peak over all cuts into segments."""
        n = len(self.rows.works)
        if not n:
            return self.rows.prefixes[0].live
        if not self._reach:
            self._reach = [0, *[self._layered_peak()] * n]
            self._extend({0})
        return self._reach[n]

    def _extend(self, lower: set[int]) -> None:
        """Updates `_reach` after it has got lower at the positions `lower`."""
        reach, n = self._reach, len(self.rows.works)
        for lo in range(min(lower), n):
            if lo not in lower or reach[lo] >= reach[n]:
                continue
            for segment in self._segments(lo):
                limit = min(reach[n], reach[segment.hi])
                if self.rows.prefixes[segment.hi].live < limit:
                    peak = max(reach[lo], self.peak(segment, limit))
                    if peak < reach[segment.hi]:
                        reach[segment.hi] = peak
                        lower.add(segment.hi)

    def cheapest(self, limit: int, whole: int | None = None) -> Schedule | None:
        """The schedule with the least extra cost of running by rows whose peak is within `limit` (of operators that run
        whole, within `whole`); None if there is none."""
        segments = self._cheapest(limit, limit if whole is None else whole)
        return None if segments is None else self._join(segments)

    def _cheapest(self, limit: int, whole: int) -> list[Segment] | None:
        """The segments of `cheapest`."""
        n = len(self.rows.works)
        best: list[tuple[float, Segment | None] | None] = [None] * (n + 1)
        best[0] = (0.0, None)
        for lo in range(n):
            here = best[lo]
            if here is None:
                continue
            for segment in self._segments(lo):
                so_far = best[segment.hi]
                total = here[0] + self._extra(segment)
                most = whole if segment.interleaving is Interleaving.WHOLE else limit
                if (so_far is None or total < so_far[0]) and self.peak(segment, most + 1) <= most:
                    best[segment.hi] = (total, segment)
        segments: list[Segment] = []
        at = n
        while at:
            step = best[at]
            if step is None or step[1] is None:
                return None
            segments.append(step[1])
            at = step[1].lo
        return segments[::-1]

    def improve(self, effort: Effort) -> int:
        """Lowers the peak by longer segments, then by exact search for better orders around it, until it equals the
        lower bound, the effort is spent, or the search is exhausted; returns it."""
        nodes = self.nodes_by_rows
        for longest in (n for n in LENGTHS if n == LENGTHS[0] or nodes * n * n // 2 <= SIMULATED):
            self._allow(longest)
            least, segments = self._settle("planning")
            if least <= self.bound:
                return least
        for searched in counted(1):
            if least <= self.bound or effort.spent or not self._search(segments, least, self.bound, effort):
                break
            effort.spend(len(self.rows.works) * self.longest // 2)
            least, segments = self._settle("searching", prove=searched % PROOFS == 0)
        return least

    def for_space(self, searched: Scheduler | None = None) -> Scheduler:
        """A scheduler of the same rows for a schedule space: with shorter segments in larger graphs, and the orders
        that `searched` has found by exact search."""
        longest = min(max(isqrt(2 * IN_SPACES // max(self.nodes_by_rows, 1)), LENGTHS[0]), LENGTHS[1])
        scheduler = Scheduler(self.rows, self.costs, longest, whole=self.whole)
        scheduler._searched.update(searched._searched if searched else {})
        return scheduler

    @property
    def nodes_by_rows(self) -> int:
        """The number of nodes if all operators run by rows."""
        return sum(len(work.by_rows) for work in self.rows.works)

    def _allow(self, longest: int) -> None:
        """Sets the maximum segment length."""
        if longest != self.longest:
            self.longest = longest
            self._reach, self._segments_at = [], {}

    def _settle(self, doing: str, *, prove: bool = True) -> tuple[int, list[Segment]]:
        """The least peak so far, and the segments that have it; `prove`: also tightens the bound with their order."""
        least = self.least_peak()
        segments = self._cheapest(least, least)
        assert segments is not None
        if prove:
            self.bound = max(self.bound, self._proof.raised(self._join(segments).nodes(self.rows), GLANCE))
        self.say(f"{doing}: {least:,} bytes live, no schedule needs less than {self.bound:,}...")
        return least, segments

    @cached_property
    def _proof(self) -> Bound:
        return Bound(self.rows)

    def _search(self, segments: list[Segment], least: int, bound: int, effort: Effort) -> bool:
        """Searches for an order of the operators around the peak that lowers it, in growing windows, and adds it as a
        segment; whether one was found."""
        peaks = [self.peak(s) for s in segments]
        at = peaks.index(max(peaks))
        for radius in range(len(segments)):
            lo, hi = max(at - radius, 0), min(at + radius + 1, len(segments))
            if hi - lo == 1 and len(segments) > 1 and segments[at].hi - segments[at].lo == 1:
                continue
            if segments[hi - 1].hi - segments[lo].lo > WINDOW:
                break
            outside = max([bound, *peaks[:lo], *peaks[hi:]])
            window = Segment(segments[lo].lo, segments[hi - 1].hi, Interleaving.SEARCHED)
            for limit in dict.fromkeys((min(outside, least - 1), least - 1)):
                result = Search(self.rows, window.lo, window.hi, limit, effort).run()
                if result.order is not None:
                    self._take(window, result.order)
                    return True
                if not result.exhausted:
                    return False
            if (lo, hi) == (0, len(segments)):
                break
        return False

    def _take(self, window: Segment, order: tuple[RowNode, ...]) -> None:
        """Adds an order that the exact search has found, as a segment."""
        self._searched[window] = order
        self._peaks.pop(window, None)
        self._segments_at.pop(window.lo, None)
        if self._reach:
            self._extend({window.lo})

    def _layered_peak(self) -> int:
        """One more than the peak of running operators one by one: the search starts below that."""
        return 1 + max(self.peak(self._segments(i)[0]) for i in range(len(self.rows.works)))

    def _segments(self, lo: int) -> list[Segment]:
        if lo not in self._segments_at:
            self._segments_at[lo] = list(self._all_segments(lo))
        return self._segments_at[lo]

    def _all_segments(self, lo: int) -> Iterator[Segment]:
        """The segments that begin at operator `lo`."""
        work = self.rows.works[lo]
        if work.whole is not None and (self.whole or not work.splits):
            yield Segment(lo, lo + 1, Interleaving.WHOLE)
        parts: list[frozenset[int]] = []
        chain = True
        for hi in range(lo + 1, min(len(self.rows.works), lo + self.longest) + 1):
            touched = self._touched[hi - 1]
            parts = [p for p in parts if not p & touched] + [touched.union(*(p for p in parts if p & touched))]
            chain = chain and self._others[hi - 1] < lo
            if len(parts) == 1 or hi - lo <= APART:
                yield from (
                    Segment(lo, hi, interleaving)
                    for interleaving in (ROW_INTERLEAVINGS[:1] if chain or hi - lo > EAGER else ROW_INTERLEAVINGS)
                )
        yield from (segment for segment in self._searched if segment.lo == lo)

    @cached_property
    def _touched(self) -> list[frozenset[int]]:
        """For each operator what connects it with others: the storages that it reads or writes and, as negative
        numbers, itself and the operators that it depends on."""
        touched = []
        for w, work in enumerate(self.rows.works):
            storages = {self.rows.storage_of[r] for node in work.by_rows for r in (*node.reads, *node.writes)}
            waits = {~before for node in work.by_rows for before, _ in node.needs}
            touched.append(frozenset(storages | waits | {~w}))
        return touched

    @cached_property
    def _others(self) -> list[int]:
        """The last operator that each depends on, other than the one right before it; -1: none. A segment without such
        dependencies is a chain, in which the eager order equals the lazy one."""
        waits = ({p for node in work.by_rows for p, _ in node.needs} for work in self.rows.works)
        return [max(waited - {w - 1}, default=-1) for w, waited in enumerate(waits)]

    def _extra(self, segment: Segment) -> float:
        """The extra cost of running a segment by rows instead of operator by operator."""
        if segment.interleaving is Interleaving.WHOLE:
            return 0.0
        return self._extras[segment.hi] - self._extras[segment.lo]

    @cached_property
    def _extras(self) -> list[float]:
        """Prefix sums of the extra cost of running each operator by rows."""
        return [0.0, *accumulate(extra_by_rows(self.costs, self.rows.graph, work) for work in self.rows.works)]

    def peak(self, segment: Segment, limit: int | None = None) -> int:
        """The peak of a segment; if it reaches `limit`, some value from that on, as the simulation stops there."""
        known = self._peaks.get(segment)
        if known is not None and (known[1] or (limit is not None and known[0] >= limit)):
            return known[0]
        state = self.rows.prefixes[segment.lo].copy()
        peak, done = state.live, True
        for node in self.nodes(segment):
            during = state.run(self.rows, node)
            if during > peak:
                peak = during
                if limit is not None and peak >= limit:
                    done = False
                    break
        self._peaks[segment] = (peak, done)
        return peak

    def segments(self) -> Iterator[Segment]:
        """All segments."""
        return (segment for lo in range(len(self.rows.works)) for segment in self._segments(lo))

    def nodes(self, segment: Segment) -> Iterable[RowNode]:
        """The nodes of a segment in execution order."""
        if segment.interleaving is Interleaving.WHOLE:
            whole = self.rows.works[segment.lo].whole
            assert whole is not None
            return (whole,)
        if segment.interleaving is Interleaving.SEARCHED:
            return self._searched[segment]
        return _lazy(self.rows, segment) if segment.interleaving is Interleaving.LAZY else _eager(self.rows, segment)

    def runs(self, segment: Segment) -> Iterator[Run]:
        """The nodes of a segment in execution order, as `Run`s."""
        whole = segment.interleaving is Interleaving.WHOLE
        return (Run(node, whole or not self.rows.works[node.op].splits) for node in self.nodes(segment))

    def _join(self, segments: list[Segment]) -> Schedule:
        """The schedule of consecutive segments."""
        runs = [run for segment in segments for run in self.runs(segment)]
        return Schedule(tuple(runs), max(self.peak(s) for s in segments) if segments else self.rows.prefixes[0].live)


def _lazy(rows: RowGraph, segment: Segment) -> Iterator[RowNode]:
    """The lazy order: each row of the last operator after the rows that it needs; then rows that no one needs."""
    works = rows.works
    done = [0] * segment.hi

    def demand(w: int, count: int, nodes: list[RowNode]) -> list[RowNode]:
        while done[w] < count:
            node = works[w].by_rows[done[w]]
            for p, needed in node.needs:
                if p >= segment.lo and done[p] < needed:
                    demand(p, needed, nodes)
            done[w] += 1
            nodes.append(node)
        return nodes

    for w in range(segment.hi - 1, segment.lo - 1, -1):
        for count in range(done[w] + 1, len(works[w].by_rows) + 1):
            yield from demand(w, count, [])


def _eager(rows: RowGraph, segment: Segment) -> Iterator[RowNode]:
    """The eager order: always the ready node farthest downstream. After a node only its readers can become ready, so
    that the search for the next one starts at the last of them."""
    works, lo, last = rows.works, segment.lo, segment.hi - 1
    done = [0] * segment.hi
    left = sum(len(w.by_rows) for w in works[lo : segment.hi])
    start = last
    while left:
        for w in range(start, lo - 1, -1):
            nodes = works[w].by_rows
            if done[w] < len(nodes) and all(done[p] >= n for p, n in nodes[done[w]].needs if p >= lo):
                done[w] += 1
                left -= 1
                yield nodes[done[w] - 1]
                start = min(rows.last_reader[w], last)
                break
