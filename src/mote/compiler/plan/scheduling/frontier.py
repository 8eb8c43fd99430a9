"""The Pareto front of plans: the cheapest plan within each limit of peak memory.

A schedule space is one selection of kernels and layouts, with the segments that its schedules can be cut into. A plan
may switch from one space to another wherever the same operators have run and the same rows are live. Vertices of the
search are such states, edges are segments: within a limit of peak memory each operator of a segment has the best kernel
whose scratch fits beside the live rows, and the cheapest plan is a shortest path. It has no addresses yet: its peak is
that of the live bytes, and the allocation (`PlacementCache`) may add fragmentation.

Example: in CONV, POOL, FULLY_CONNECTED with 900 bytes, the fast planar kernels of CONV do not fit. The path takes the
segment (CONV, POOL) row by row in the space with lean NHWC kernels, then the segment (FULLY_CONNECTED) whole in the
space with the fastest kernels.

The limits that are tried form one grid, 64 from each power of two to the next, whatever the budget is: a larger budget
chooses among all plans of a smaller one. A limit whose plan also keeps the next lower limits stands for these.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, product

from mote.compiler.kernels.contract import Layout, Packed
from mote.compiler.plan.memory.layout import PlacedPlan, arrange
from mote.compiler.plan.scheduling.rows import TALL, Liveness, PushedInput, RowGraph, RowNode, Work, build, overlaid
from mote.compiler.plan.scheduling.schedule import Interleaving, Run, Schedule, Scheduler, Segment
from mote.compiler.plan.selection.code_size_model import flash
from mote.compiler.plan.selection.config import RATES
from mote.compiler.plan.selection.estimate import more_groups
from mote.compiler.plan.selection.request import Policy
from mote.compiler.plan.selection.select import SURE, Selection
from mote.ir.graph.region import Numbers, in_order

UNLIMITED = 1 << 60
"""A limit larger than any memory."""
LIMITS_PER_DOUBLING = 64
"""Number of grid limits from each power of two to the next."""
SCATTERED, CONTIGUOUS = 0, 1
"""Placement of the live rows between two segments: each at any address, or contiguous per tensor, as operators that run
whole need them."""
ENDS = tuple(product((SCATTERED, CONTIGUOUS), repeat=2))
"""All combinations of (placement before, placement after) a segment."""
LEAST_PEAK_VARIANTS = ((0.0, 1.0, True), (0.0, 1.0, False), (1 / 32, 1.0, False), (1 / 8, 3 / 4, False))
"""`Limit`s at the least peak, as (slack, whole, few); slack and whole are shares of the peak."""
FRAGMENTED_VARIANTS = ((1 / 64, 1.0), (1 / 16, 1.0), (1 / 16, 3 / 4), (1 / 8, 3 / 4), (1 / 8, 1 / 2))
"""`Limit`s at the peak of a plan with much fragmentation, as (slack, whole), both shares of the peak."""
BY_ROWS_PENALTY = 10**12
"""Added to the price of each operator that runs by rows, if `Limit.few`."""
TIGHT_PENALTY = 10**15
"""Added to the price of each operator that does not leave `Limit.slack`."""

Live = tuple[tuple[int, tuple[int, ...]], ...]
"""Operators of a segment, each with the peak of live row bytes while it runs, for each of ENDS."""
Progress = tuple[int, frozenset[tuple[object, ...]]]
"""A point in a schedule: the operators that have run, as a bit mask, and the keys of the live rows."""


def grid_limit_above(nbytes: int) -> int:
    """The lowest grid limit (see the module) of at least `nbytes`."""
    step = 1 << max(nbytes.bit_length() - LIMITS_PER_DOUBLING.bit_length(), 0)
    return -(-nbytes // step) * step


def grid_limit_below(nbytes: int) -> int:
    """The highest grid limit (see the module) below `nbytes`."""
    step = 1 << max((nbytes - 1).bit_length() - LIMITS_PER_DOUBLING.bit_length(), 0)
    return (nbytes - 1) // step * step


@dataclass(frozen=True, order=True)
class Limit:
    """The limit of the peak of live bytes that an unplaced plan must keep, with options against fragmentation."""

    nbytes: int
    slack: int = 0
    """Bytes below the limit that as many operators as possible should leave free."""
    whole: int = UNLIMITED
    """Operators with a higher peak than this run by rows if they can, so that their tensors may be scattered."""
    few: bool = False
    """Whether to minimize the number of operators that run by rows, each of which needs a step counter."""


class ContiguityOverhead:
    """Simulates a segment for the extra bytes that it takes to keep tensors contiguous before or after it."""

    def __init__(self, rows: RowGraph, segment: Segment) -> None:
        self.rows = rows
        before, after = rows.crossing[segment.lo], rows.crossing[segment.hi]
        self.holes = self.dying = self.lacking = 0
        self.inner: set[int] = set()
        """Rows that leave holes in their tensor when they die: rows before and after them outlive the segment."""
        self.outer: set[int] = set()
        """Rows that free an end of their tensor when they die."""
        for storage, live in before.items():
            left = after.get(storage)
            if not left:
                self.outer.update(live)
                continue
            self.holes += rows.size[live[0]] * (live[-1] - live[0] + 1 - len(live))
            self.inner.update(r for r in live if left[0] < r < left[-1])
            self.outer.update(r for r in live if not left[0] <= r <= left[-1])
        self.dying = sum(rows.size[r] for r in self.outer)
        self.made = {storage: live for storage, live in after.items() if storage not in before}
        self.begun: set[int] = set()

    def during(self, node: RowNode, state: Liveness) -> tuple[int, int, int]:
        """Extra bytes while a node runs, given the liveness after it, as (holes in contiguous inputs, rows of begun
        outputs that are not written yet, dying rows whose memory these may take)."""
        left, size, storage_of = state.left, self.rows.size, self.rows.storage_of
        over = bool(node.over) and any(not any(left[r] for r in group) for group in node.over)
        for r in node.writes:
            if storage_of[r] in self.made:
                self._write(r, over)
        during = self.holes, self.lacking, self.dying
        for r in node.reads:
            if not left[r]:
                if r in self.inner:
                    self.inner.discard(r)
                    self.holes += 0 if over else size[r]
                elif r in self.outer:
                    self.outer.discard(r)
                    self.dying -= size[r]
        return during

    def _write(self, row: int, over: bool) -> None:
        """Records that a row is written; `over`: in place of a row that dies."""
        storage, size = self.rows.storage_of[row], self.rows.size[row]
        live = self.made[storage]
        if over:
            del self.made[storage]
            return
        if storage not in self.begun:
            self.begun.add(storage)
            self.lacking += size * (live[-1] - live[0] + 1)
        self.lacking -= size if live[0] <= row <= live[-1] else 0


@dataclass(frozen=True)
class Choice:
    """A kernel of an operator that runs whole or by rows, with its price."""

    kernel: Packed
    net_scratch: int
    """Bytes beside the live rows: scratch, minus output rows that it writes in place of input rows."""
    price: int
    """The objective: cost plus flash at an exchange rate. An integer, so that sums are exact and independent of their
    order."""
    cost: float


def _clearly_fastest(choices: Sequence[Choice]) -> Choice:
    """The fastest choice, if it is faster than that of the balanced policy by more than the error of the cost model
    (SURE); else the latter."""
    best = min(choices, key=lambda c: (c.cost, c.net_scratch))
    usual = min(choices, key=lambda c: (c.cost + RATES[Policy.BALANCED] * c.kernel.own_flash, c.net_scratch))
    return best if best.cost <= SURE * usual.cost else usual


@dataclass(frozen=True, eq=False)
class ScheduleSpace:
    """The schedules of one selection: the segments that they can be cut into, with prices and peaks."""

    selection: Selection
    scheduler: Scheduler
    _choices: dict[tuple[int, bool, float], tuple[list[int], list[Choice]]] = field(init=False, default_factory=dict)
    _candidates: dict[tuple[int, bool], list[Packed]] = field(init=False, default_factory=dict)
    _lowest: dict[float, tuple[list[int], list[int]]] = field(init=False, default_factory=dict)
    _priced: dict[tuple[Segment, int, float], tuple[int, int, int]] = field(init=False, default_factory=dict)
    _live: dict[Segment, Live | int] = field(init=False, default_factory=dict)
    _most_overlaid: dict[int, int] = field(init=False, default_factory=dict)

    @property
    def rows(self) -> RowGraph:
        return self.scheduler.rows

    @cached_property
    def progress(self) -> list[Progress]:
        """The point in the schedule after the first i operators, for every i."""
        rows = self.rows
        bits = [sum(1 << (n + len(rows.graph.inputs)) for n in work.ops) for work in rows.works]
        done = accumulate(bits, lambda a, b: a | b, initial=0)
        live = (frozenset(self._row_keys[r] for rs in storages.values() for r in rs) for storages in rows.crossing)
        return list(zip(done, live, strict=True))

    @cached_property
    def _row_keys(self) -> list[tuple[object, ...]]:
        """The key of each row: a plan may switch spaces where the keys of the live rows are equal."""
        keys: list[tuple[object, ...]] = []
        size = self.rows.size
        for storage in self.rows.storages:
            ring = any(t in self.selection.rings for t in storage.tensors)
            first, layout = storage.tensors[:1], storage.layout
            keys += [(*first, r - storage.first, size[r], layout, ring) for r in storage.ids]
        return keys

    def work_key(self, work: int) -> tuple[object, ...]:
        """The key of an operator: segments of two spaces are interchangeable if their operators' keys are equal."""
        piece = self.rows.works[work]
        kernels = tuple(tuple(self._kernel_keys(work, whole)) for whole in (False, True))
        return piece.ops, piece.splits, kernels, *map(self._node_key, (piece.whole, *piece.by_rows))

    def _kernel_keys(self, work: int, whole: bool) -> Iterator[tuple[object, ...]]:
        """The keys of an operator's candidate kernels: all that price and peak depend on."""
        ops = self.rows.works[work].ops
        for k in self._candidate_kernels(work, whole):
            cost = 0.0 if ops[0] < 0 else self.selection.cost(ops, k, whole)
            yield k.name, k.entry.call, k.entry.group, k.price.tile, k.needs.scratch, k.own_flash, cost

    def _node_key(self, node: RowNode | None) -> tuple[object, ...] | None:
        """The key of a node, independent of the numbering of rows and operators."""
        if node is None:
            return None
        rows, works = self._row_keys, self.rows.works
        over = tuple(tuple(rows[r] for r in group) for group in node.over)
        needs = tuple((works[w].ops, n) for w, n in node.needs)
        reads, writes = (tuple(rows[r] for r in rs) for rs in (node.reads, node.writes))
        return node.rows, node.tap, node.scratch, reads, writes, over, needs

    def whole(self, segment: Segment, work: int) -> bool:
        """Whether an operator of a segment runs whole."""
        return segment.interleaving is Interleaving.WHOLE or not self.rows.works[work].splits

    def choices(self, work: int, whole: bool, rate: float) -> tuple[list[int], list[Choice]]:
        """The Pareto front of an operator's kernels: `net_scratch` of each, ascending, and the kernels, of falling
        price."""
        key = work, whole, rate
        if key not in self._choices:
            best: list[Choice] = []
            offered = list(self._priced_kernels(work, whole, rate))
            for room in sorted({c.net_scratch for c in offered}):
                fitting = [c for c in offered if c.net_scratch <= room]
                choice = min(fitting, key=lambda c: (c.price, c.net_scratch)) if rate else _clearly_fastest(fitting)
                if not best or choice.price < best[-1].price:
                    best.append(choice)
            self._choices[key] = [c.net_scratch for c in best], best
        return self._choices[key]

    def _priced_kernels(self, work: int, whole: bool, rate: float) -> Iterator[Choice]:
        """The candidate kernels of an operator with their prices at an exchange rate of flash."""
        ops, selection = self.rows.works[work].ops, self.selection
        for kernel in self._candidate_kernels(work, whole):
            if ops[0] < 0:
                yield Choice(kernel, 0, 0, 0.0)
                continue
            cost = selection.cost(ops, kernel, whole)
            more = 0.0 if whole else (self._more_groups(work, kernel) - 1) * cost
            price = round(selection.price(ops, kernel, whole, rate) + more)
            net_scratch = (kernel.needs.scratch or 0) - (self._overlaid(work, kernel) if whole else 0)
            yield Choice(kernel, net_scratch, price, cost + more)

    def _more_groups(self, work: int, kernel: Packed) -> float:
        """The slowdown of a kernel by shifted groups of rows."""
        piece = self.rows.works[work]
        return more_groups(kernel, [n.rows for n in piece.by_rows]) if piece.ops in self.rows.shifts else 1.0

    def _overlaid(self, work: int, kernel: Packed) -> int:
        """Bytes of output that a kernel which runs whole writes in place of a dying input, if the leanest kernel, which
        the row graph is built for, does not (its node counts input and output)."""
        rows, piece = self.rows, self.rows.works[work]
        if piece.whole is None or piece.whole.over:
            return 0
        pairs = overlaid(rows.graph, rows.storages, rows.place, piece.op, kernel)
        readers = Counter(r for node in piece.by_rows for r in node.reads)
        alone = all(rows.reader_nodes[r] == readers[r] and r not in rows.kept for _, r in pairs)
        return sum(rows.size[w] for w, _ in pairs) if alone else 0

    def _most_overlaid_bytes(self, work: int) -> int:
        """The largest `_overlaid` of an operator's candidate kernels."""
        if work not in self._most_overlaid:
            self._most_overlaid[work] = max(self._overlaid(work, k) for k in self._candidate_kernels(work, True))
        return self._most_overlaid[work]

    def _candidate_kernels(self, work: int, whole: bool) -> list[Packed]:
        """The candidate kernels of an operator."""
        key = work, whole
        if key not in self._candidates:
            piece = self.rows.works[work]
            arrives = isinstance(piece.op, PushedInput)
            self._candidates[key] = [piece.kernel] if arrives else self.selection.able(piece.ops, whole)
        return self._candidates[key]

    def fastest(self, rate: float) -> tuple[float, int]:
        """Cost, and bytes of constants, of running all operators whole with their best kernels, without a memory
        limit."""
        chosen = [self.choices(i, True, rate)[1][-1] for i in range(len(self.rows.works))]
        return sum(c.cost for c in chosen), sum(c.kernel.own_flash for c in chosen)

    def lowest(self, segment: Segment, rate: float) -> int:
        """A lower bound for the price of a segment, without a memory limit."""
        if rate not in self._lowest:
            by_rows, whole = ([0, *accumulate(self._prices(whole, rate))] for whole in (False, True))
            self._lowest[rate] = by_rows, whole
        sums = self._lowest[rate][segment.interleaving is Interleaving.WHOLE]
        return sums[segment.hi] - sums[segment.lo]

    def _prices(self, whole: bool, rate: float) -> Iterator[int]:
        """The least price of each operator, run whole or by rows (if it can)."""
        for i, work in enumerate(self.rows.works):
            yield self.choices(i, whole or not work.splits, rate)[1][-1].price

    def priced(self, segment: Segment, ends: int, limit: int, rate: float) -> tuple[int, int] | None:
        """The price and peak of a segment within a limit; None where it does not fit."""
        key = segment, ends, rate
        known = self._priced.get(key)
        if known is not None and known[2] <= limit <= known[0]:
            return known[1], known[2]
        price, peak = 0, 0
        live = self.live(segment, limit)
        for work, nbytes in live or ():
            scratches, best = self.choices(work, self.whole(segment, work), rate)
            n = bisect_right(scratches, limit - nbytes[ends])
            if not n:
                return None
            price += best[n - 1].price
            peak = max(peak, nbytes[ends] + best[n - 1].net_scratch)
        if live is None:
            return None
        self._priced[key] = limit, price, peak
        return price, peak

    def live(self, segment: Segment, limit: int) -> Live | None:
        """The memoized live bytes of a segment; None if its peak exceeds `limit` even with scattered rows."""
        known = self._live.get(segment)
        if known is None or (isinstance(known, int) and known <= limit):
            known = self._live[segment] = self._simulated(segment, limit)
        return None if isinstance(known, int) else known

    def _simulated(self, segment: Segment, limit: int) -> Live | int:
        """The live bytes of a segment by simulation; or a lower bound of its peak, if that exceeds `limit`."""
        rows, ends = self.rows, ContiguityOverhead(self.rows, segment)
        state = rows.prefixes[segment.lo].copy()
        most: dict[int, tuple[int, ...]] = {}
        for node in self.scheduler.nodes(segment):
            during = state.run(rows, node)
            least = during - (self._most_overlaid_bytes(node.op) if node is rows.works[node.op].whole else 0)
            if least > limit:
                return least
            holes, lacking, dying = ends.during(node, state)
            bare = during - node.scratch
            now = bare, bare + lacking, bare + holes, bare + holes + max(lacking - dying, 0)
            known = most.get(node.op)
            most[node.op] = now if known is None else tuple(map(max, known, now))
        return tuple(most.items())


def _by_rows_penalty(segment: Segment, few: bool) -> int:
    """The penalty of a segment that runs by rows, if `Limit.few`."""
    return BY_ROWS_PENALTY * (segment.hi - segment.lo) if few and segment.interleaving is not Interleaving.WHOLE else 0


@dataclass(frozen=True)
class SegmentEdge:
    """An edge of the search graph: a segment of a schedule space, from vertex `start`; `ends`: index in ENDS."""

    start: int
    space: ScheduleSpace
    segment: Segment
    ends: int


@dataclass(frozen=True, eq=False)
class UnplacedPlan:
    """A plan without addresses: the cheapest path within a limit, at an exchange rate of flash."""

    edges: tuple[SegmentEdge, ...]
    peak: int
    chosen: dict[Numbers, Choice]
    """The chosen kernel by operator numbers."""

    @cached_property
    def cost(self) -> float:
        return sum(c.cost for c in self.chosen.values())

    @cached_property
    def constants(self) -> int:
        return sum(c.kernel.own_flash for c in self.chosen.values())

    @cached_property
    def flash(self) -> float:
        """Estimated flash in bytes: constants and code."""
        return flash(choice.kernel for choice in self.chosen.values())

    @cached_property
    def memory(self) -> tuple[object, ...]:
        """The key of its memory use: plans with equal keys have equal placements."""
        taken = ((c.net_scratch, c.kernel.needs.scratch) for c in self.chosen.values())
        return (*((edge.space, edge.segment) for edge in self.edges), *taken)


@dataclass(frozen=True, eq=False)
class PlanFront:
    """The Pareto front of plans in peak memory and price, with rows in one direction, over several schedule spaces."""

    spaces: Sequence[ScheduleSpace]
    bottom_up: bool
    least: int
    """The least known peak."""
    _unplaced: dict[tuple[Limit, float], UnplacedPlan | None] = field(init=False, default_factory=dict)
    _lows: dict[tuple[float, bool], dict[int, list[tuple[int, int]]]] = field(init=False, default_factory=dict)

    @cached_property
    def _vertices(self) -> list[list[int]]:
        """Vertices of the search graph after the first i operators of each space. Equal progress has equal vertices.
        Numbers are even (SCATTERED); the next odd number is the same point with CONTIGUOUS tensors."""
        numbers: dict[Progress, int] = {}
        return [
            [2 * numbers.setdefault(progress, len(numbers)) for progress in space.progress] for space in self.spaces
        ]

    @cached_property
    def _order(self) -> list[int]:
        """All vertices in topological order."""
        known = zip(self._vertices, self.spaces, strict=True)
        pairs = (pair for vertices, space in known for pair in zip(vertices, space.progress, strict=True))
        done = {vertex: operators.bit_count() for vertex, (operators, _) in pairs}
        return [v + end for v in sorted(done, key=lambda v: (done[v], v)) for end in (SCATTERED, CONTIGUOUS)]

    @cached_property
    def _edges(self) -> dict[int, list[SegmentEdge]]:
        """The edges that end at each vertex."""
        edges: dict[int, list[SegmentEdge]] = {vertex: [] for vertex in self._order}
        for space, vertices, segment in self._segments():
            for i, (start, end) in enumerate(ENDS):
                if segment.interleaving is not Interleaving.WHOLE or start == end == CONTIGUOUS:
                    edges[vertices[segment.hi] + end].append(
                        SegmentEdge(vertices[segment.lo] + start, space, segment, i)
                    )
        return edges

    def _segments(self) -> Iterator[tuple[ScheduleSpace, list[int], Segment]]:
        """The segments of all spaces, with the vertices of their space, without interchangeable ones."""
        numbers: dict[object, int] = {}
        known: set[tuple[object, ...]] = set()
        for space, vertices in zip(self.spaces, self._vertices, strict=True):
            works = range(len(space.rows.works))
            keys = [numbers.setdefault(space.work_key(i), len(numbers)) for i in works if len(self.spaces) > 1]
            for segment in space.scheduler.segments():
                lo, hi, interleaving = segment
                same = interleaving, vertices[lo], vertices[hi], *keys[lo:hi]
                if interleaving is Interleaving.SEARCHED or len(self.spaces) == 1 or same not in known:
                    known.add(same)
                    yield space, vertices, segment

    def limits(self, rate: float, most: int, above: int = 0) -> Iterator[Limit]:
        """Grid limits from `most` bytes down to `above`, one for each distinct plan: a limit's plan is also that of
        lower limits down to its peak."""
        limit = min(grid_limit_above(most), UNLIMITED)
        while limit > above and (unplaced := self.within(Limit(limit), rate)) is not None:
            yield Limit(limit)
            limit = grid_limit_below(unplaced.peak)

    def looser(self, unplaced: UnplacedPlan) -> Iterator[Limit]:
        """Limits for alternatives to a plan whose placement is fragmented: at its peak, with slack."""
        return (
            Limit(unplaced.peak, int(slack * unplaced.peak), int(whole * unplaced.peak))
            for slack, whole in FRAGMENTED_VARIANTS
        )

    def least_peak_limits(self) -> Iterator[Limit]:
        """No limit (contiguous tensors may take less than estimated), and the limits at the least peak."""
        least = self.least
        yield Limit(UNLIMITED)
        yield from (
            Limit(least, int(slack * least), int(whole * least), few) for slack, whole, few in LEAST_PEAK_VARIANTS
        )

    def within(self, limit: Limit, rate: float) -> UnplacedPlan | None:
        """The memoized plan with the least price whose peak is within a limit, if any: a shortest path."""
        if (limit, rate) not in self._unplaced:
            self._unplaced[limit, rate] = self._within(limit, rate)
        return self._unplaced[limit, rate]

    def _within(self, limit: Limit, rate: float) -> UnplacedPlan | None:
        first, last = ({vertices[i] + CONTIGUOUS for vertices in self._vertices} for i in (0, -1))
        best: dict[int, tuple[int, int, SegmentEdge | None]] = {}
        for vertex in self._order:
            cheapest: tuple[int, int, SegmentEdge | None] | None = (0, 0, None) if vertex in first else None
            edges = self._edges[vertex]
            starts = enumerate(self._lowest(rate, limit.few)[vertex])
            for lowest, i in sorted((best[start][0] + low, i) for i, (start, low) in starts if start in best):
                if cheapest is not None and lowest > cheapest[0]:
                    break
                priced = self._priced(edges[i], limit, rate)
                if priced is not None:
                    so_far, peak, _ = best[edges[i].start]
                    new = so_far + priced[0], max(peak, priced[1])
                    if cheapest is None or new < cheapest[:2]:
                        cheapest = (*new, edges[i])
            if cheapest is not None:
                best[vertex] = cheapest
        return self._backtracked(best, last, limit, rate)

    def _lowest(self, rate: float, few: bool) -> dict[int, list[tuple[int, int]]]:
        """For each vertex the start vertices of its edges, with lower bounds for their prices."""
        key = rate, few
        if key not in self._lows:
            self._lows[key] = {
                vertex: [
                    (edge.start, edge.space.lowest(edge.segment, rate) + _by_rows_penalty(edge.segment, few))
                    for edge in edges
                ]
                for vertex, edges in self._edges.items()
            }
        return self._lows[key]

    @staticmethod
    def _priced(edge: SegmentEdge, limit: Limit, rate: float) -> tuple[int, int] | None:
        """The price and peak of an edge within a limit, penalties included; None if it does not fit."""
        space, segment = edge.space, edge.segment
        whole, works = segment.interleaving is Interleaving.WHOLE, segment.hi - segment.lo
        priced = space.priced(segment, edge.ends, limit.nbytes - limit.slack, rate)
        more = _by_rows_penalty(segment, limit.few)
        if priced is None and limit.slack:
            priced = space.priced(segment, edge.ends, limit.nbytes, rate)
            more += TIGHT_PENALTY * works
        if priced is None or (whole and space.rows.works[segment.lo].splits and priced[1] > limit.whole):
            return None
        return priced[0] + more, priced[1]

    def _backtracked(
        self, best: dict[int, tuple[int, int, SegmentEdge | None]], last: set[int], limit: Limit, rate: float
    ) -> UnplacedPlan | None:
        """Backtracks the shortest path from the best of the `last` vertices."""
        ends = [vertex for vertex in self._order if vertex in last and vertex in best]
        if not ends:
            return None
        at = min(ends, key=lambda vertex: best[vertex][:2])
        peak = best[at][1]
        edges: list[SegmentEdge] = []
        while (edge := best[at][2]) is not None:
            edges.append(edge)
            at = edge.start
        return UnplacedPlan(tuple(reversed(edges)), peak, dict(self._chosen_kernels(edges[::-1], limit, rate)))

    def _chosen_kernels(
        self, edges: Sequence[SegmentEdge], limit: Limit, rate: float
    ) -> Iterator[tuple[Numbers, Choice]]:
        """The best kernel of each operator of a path within the limit."""
        for edge in edges:
            space, segment = edge.space, edge.segment
            narrow = space.priced(segment, edge.ends, limit.nbytes - limit.slack, rate) is not None
            most = limit.nbytes - limit.slack if narrow else limit.nbytes
            for work, nbytes in space.live(segment, most) or ():
                scratches, best = space.choices(work, space.whole(segment, work), rate)
                yield space.rows.works[work].ops, best[bisect_right(scratches, most - nbytes[edge.ends]) - 1]


@dataclass(frozen=True, eq=False)
class Placer:
    """Places an unplaced plan in the arena: merges the row graphs of its spaces first."""

    front: PlanFront
    unplaced: UnplacedPlan

    @cached_property
    def works(self) -> dict[Numbers, tuple[ScheduleSpace, Work, bool]]:
        """By operator numbers, in topological order: the space and the work of the operator, and whether it runs
        whole."""
        works = {}
        for edge in self.unplaced.edges:
            for i in range(edge.segment.lo, edge.segment.hi):
                work = edge.space.rows.works[i]
                works[work.ops] = edge.space, work, edge.space.whole(edge.segment, i)
        return {ops: works[ops] for ops in in_order(self.front.spaces[0].rows.graph, works) or works}

    def kernel(self, ops: Numbers, whole: bool) -> Packed:
        """The chosen kernel; for the mode (whole or by rows) in which the operator does not run, the leanest one."""
        _, work, runs_whole = self.works[ops]
        if whole == runs_whole:
            return self.unplaced.chosen[ops].kernel
        return work.kernel if whole else work.row_kernel

    @cached_property
    def rows(self) -> RowGraph:
        """The row graph with the chosen kernels, layouts and ring buffers."""
        layouts: dict[int, Layout] = {}
        rings: set[int] = set()
        for space, work, _ in self.works.values():
            layouts.update((t, space.selection.layouts[t]) for t in work.op.outputs if t in space.selection.layouts)
            rings.update(t for t in work.op.outputs if t in space.selection.rings)
        selection = self.front.spaces[0].selection
        goal = selection.goal
        return build(
            selection.graph,
            [ops for ops in self.works if ops[0] >= 0],
            lambda ops: self.kernel(ops, True),
            lambda ops: self.kernel(ops, False),
            layouts,
            rings=frozenset(rings),
            pushed=goal.pushed,
            bottom_up=self.front.bottom_up,
            most=UNLIMITED if goal.small_steps or goal.zone else TALL,
            lent=goal.lent,
            shifts={
                ops: space.rows.shifts[ops] for ops, (space, _, _) in self.works.items() if ops in space.rows.shifts
            },
        )

    def placed(self) -> PlacedPlan:
        """The plan with addresses."""
        rows, selection = self.rows, self.front.spaces[0].selection
        works = {work.ops: work for work in rows.works}
        nodes = {(work.ops, node.rows, node.tap): node for work in rows.works for node in work.by_rows}
        runs = []
        for edge in self.unplaced.edges:
            for run in edge.space.scheduler.runs(edge.segment):
                ops = edge.space.rows.works[run.node.op].ops
                whole = works[ops].whole if run.whole else None
                runs.append(Run(whole or nodes[ops, run.node.rows, run.node.tap], run.whole))
        schedule = Schedule(tuple(runs), 0)
        peak = max([rows.prefixes[0].live, *schedule.during(rows)])
        how, goal = selection.how, selection.goal
        return arrange(rows, replace(schedule, peak=peak), self.kernel, how, goal, bottom_up=self.front.bottom_up)


class PlacementCache:
    """A cache of placed plans: unplaced plans with equal memory use share one placement."""

    def __init__(self) -> None:
        self._placed: dict[tuple[object, ...], PlacedPlan] = {}

    def ram(self, front: PlanFront, unplaced: UnplacedPlan) -> int:
        """The RAM of a plan when placed, in bytes."""
        return self._placement(front, unplaced).plan.ram

    def placed(self, front: PlanFront, unplaced: UnplacedPlan) -> PlacedPlan:
        """The plan with addresses, and with its own kernels."""
        placed = self._placement(front, unplaced)
        kernels = {ops: choice.kernel for ops, choice in unplaced.chosen.items()}
        steps = tuple(replace(step, kernel=kernels[step.ops]) for step in placed.plan.steps)
        return replace(placed, plan=replace(placed.plan, steps=steps))

    def _placement(self, front: PlanFront, unplaced: UnplacedPlan) -> PlacedPlan:
        """The placed plan, with the kernels of some plan of equal memory use."""
        key = (front, *unplaced.memory)
        if key not in self._placed:
            self._placed[key] = Placer(front, unplaced).placed()
        return self._placed[key]
