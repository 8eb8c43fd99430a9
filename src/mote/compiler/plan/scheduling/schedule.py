"""Schedules: which operators run whole, which by rows, and how they interleave.

The operators are cut into segments. A segment of one operator may run whole; any segment may run by rows, as far
downstream as possible at any time (eager), or on demand of its last operator (lazy). Between segments everything that
was computed and is still needed is live. The best cut is a shortest path over the segments: the one with the least
peak, or the one with the least extra work whose peak stays within a limit. Where the least peak is above the proven
bound, an exact search looks for a better order of the segments around the peak.
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
    """The order in which the nodes of a segment run."""

    WHOLE = "whole"
    """A single operator at once."""
    LAZY = "lazy"
    """On demand of the last operator."""
    EAGER = "eager"
    """As far downstream as possible at any time."""
    SEARCHED = "searched"
    """An order found by exact search."""


ROW_INTERLEAVINGS = (Interleaving.LAZY, Interleaving.EAGER)
LENGTHS = (6, 16, 40)
"""Maximum segment lengths, tried in turn while the peak is above the bound."""
SIMULATED = 1_500_000
"""Budget of simulated nodes for longer segments."""
IN_SPACES = 100_000
"""Budget of simulated nodes where several selections are simulated."""
WINDOW = 200
"""The most operators that a search reorders."""
APART = 6
"""Segments of more operators than this have no parts that have nothing in common: each part is a segment of its own."""
EAGER = 16
"""The most operators of an eager segment: in longer ones too many could run at any time."""
PROOFS = 8
"""Searches between updates of the bound."""
GLANCE = 12
"""Moments of a schedule that a first estimate of the bound considers."""


@dataclass(frozen=True)
class Run:
    """A node in a schedule; `whole`: it stands for all of its operator."""

    node: RowNode
    whole: bool


@dataclass(frozen=True)
class Schedule:
    runs: tuple[Run, ...]
    peak: int
    """The most live bytes at one moment."""

    def during(self, rows: RowGraph) -> list[int]:
        """Live bytes at each run."""
        state = Liveness.start(rows)
        return [state.run(rows, run.node) for run in self.runs]

    def nodes(self, rows: RowGraph) -> list[RowNode]:
        """The order with every operator expanded to rows."""
        parts = (rows.works[run.node.op].by_rows if run.whole else (run.node,) for run in self.runs)
        return [node for part in parts for node in part]


class Segment(NamedTuple):
    """Operators lo..hi-1, run whole (one of them) or by rows."""

    lo: int
    hi: int
    interleaving: Interleaving


@dataclass
class Scheduler:
    """Segments of a row graph, each simulated once."""

    rows: RowGraph
    costs: Costs
    longest: int = LENGTHS[0]
    """The most operators of a segment."""
    bound: int = 0
    """A lower bound of the peak."""
    whole: bool = True
    """Whether operators that can run by rows may run whole as well."""
    say: Say = silent
    _peaks: dict[Segment, tuple[int, bool]] = field(default_factory=dict)
    _searched: dict[Segment, tuple[RowNode, ...]] = field(default_factory=dict)
    """Orders found by search."""
    _reach: list[int] = field(default_factory=list)
    """The least peak over all cuts of the first n operators, by n."""
    _segments_at: dict[int, list[Segment]] = field(default_factory=dict)
    """The segments that begin at an operator."""

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
        """Propagates lower peaks, from the numbers of operators at which cuts improved."""
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
        """The cut with the least extra work and a peak within `limit` (of whole operators, within `whole`); None if
        there is none."""
        segments = self._cheapest(limit, limit if whole is None else whole)
        return None if segments is None else self._join(segments)

    def _cheapest(self, limit: int, whole: int) -> list[Segment] | None:
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
        """The least peak that can be found: by longer segments, then by a search for better orders around the peak,
        until the peak is at the bound, the effort is spent, or the search has shown that there are none."""
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
        """A scheduler for the same rows with shorter segments the more nodes there are, and the orders that another
        scheduler has found."""
        longest = min(max(isqrt(2 * IN_SPACES // max(self.nodes_by_rows, 1)), LENGTHS[0]), LENGTHS[1])
        scheduler = Scheduler(self.rows, self.costs, longest, whole=self.whole)
        scheduler._searched.update(searched._searched if searched else {})
        return scheduler

    @property
    def nodes_by_rows(self) -> int:
        """The number of nodes by rows."""
        return sum(len(work.by_rows) for work in self.rows.works)

    def _allow(self, longest: int) -> None:
        """Sets the maximum segment length."""
        if longest != self.longest:
            self.longest = longest
            self._reach, self._segments_at = [], {}

    def _settle(self, doing: str, *, prove: bool = True) -> tuple[int, list[Segment]]:
        """The least peak so far, and segments that have it; `prove`: the bound is found anew with their help."""
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
        """Replaces the segments around the peak by a better order of the same work, if there is one."""
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
        """Uses an order found by search."""
        self._searched[window] = order
        self._peaks.pop(window, None)
        self._segments_at.pop(window.lo, None)
        if self._reach:
            self._extend({window.lo})

    def _layered_peak(self) -> int:
        """An upper bound for the peak of running operators one by one."""
        return 1 + max(self.peak(self._segments(i)[0]) for i in range(len(self.rows.works)))

    def _segments(self, lo: int) -> list[Segment]:
        if lo not in self._segments_at:
            self._segments_at[lo] = list(self._all_segments(lo))
        return self._segments_at[lo]

    def _all_segments(self, lo: int) -> Iterator[Segment]:
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
        """Resources by which operators depend on each other: the storages that each reads or writes and, as negative
        numbers, itself and the operators that it waits for."""
        touched = []
        for w, work in enumerate(self.rows.works):
            storages = {self.rows.storage_of[r] for node in work.by_rows for r in (*node.reads, *node.writes)}
            waits = {~before for node in work.by_rows for before, _ in node.needs}
            touched.append(frozenset(storages | waits | {~w}))
        return touched

    @cached_property
    def _others(self) -> list[int]:
        """The last operator that each waits for, but for the one right before it. Where there is none in a segment, the
        lazy order is the eager one: whatever can run farthest downstream is what the last operator waits for."""
        waits = ({p for node in work.by_rows for p, _ in node.needs} for work in self.rows.works)
        return [max(waited - {w - 1}, default=-1) for w, waited in enumerate(waits)]

    def _extra(self, segment: Segment) -> float:
        if segment.interleaving is Interleaving.WHOLE:
            return 0.0
        return self._extras[segment.hi] - self._extras[segment.lo]

    @cached_property
    def _extras(self) -> list[float]:
        """Cumulative extra cost of running operators by rows."""
        return [0.0, *accumulate(extra_by_rows(self.costs, self.rows.graph, work) for work in self.rows.works)]

    def peak(self, segment: Segment, limit: int | None = None) -> int:
        """The peak of a segment; at least `limit` where it reaches that."""
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
        if segment.interleaving is Interleaving.WHOLE:
            whole = self.rows.works[segment.lo].whole
            assert whole is not None
            return (whole,)
        if segment.interleaving is Interleaving.SEARCHED:
            return self._searched[segment]
        return _lazy(self.rows, segment) if segment.interleaving is Interleaving.LAZY else _eager(self.rows, segment)

    def runs(self, segment: Segment) -> Iterator[Run]:
        """The runs of a segment, in order."""
        whole = segment.interleaving is Interleaving.WHOLE
        return (Run(node, whole or not self.rows.works[node.op].splits) for node in self.nodes(segment))

    def _join(self, segments: list[Segment]) -> Schedule:
        runs = [run for segment in segments for run in self.runs(segment)]
        return Schedule(tuple(runs), max(self.peak(s) for s in segments) if segments else self.rows.prefixes[0].live)


def _lazy(rows: RowGraph, segment: Segment) -> Iterator[RowNode]:
    """Rows of the last operator one after another, each with what it still lacks; then what nobody asked for."""
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
    """Whatever can run farthest downstream. What has run lets its readers run, and nothing behind the last of them."""
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
