"""The Pareto front of plans: the cheapest plan within each limit of peak memory.

A lane is one selection of kernels and layouts, with the segments that its schedule can be cut into. Lanes meet where
the same operators have run and the same rows are live, and a plan may change lanes there: planar rows and fast kernels
where they fit, lean ones at the peak. Within a limit, each operator has the best kernel whose scratch fits beside the
live rows. The cheapest plan within a limit is then a shortest path.

The plan of a limit is also the plan of every smaller limit that its peak keeps. The limits to try are rungs of one
ladder, independent of the budget, so that a larger budget chooses among all plans of a smaller one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, product

from mote.compiler.kernels.contract import Layout, Packed
from mote.compiler.plan.memory.layout import Draft, arrange
from mote.compiler.plan.scheduling.rows import TALL, Arrival, Liveness, RowGraph, RowNode, Work, build, overlaid
from mote.compiler.plan.scheduling.schedule import Pace, Run, Schedule, Scheduler, Segment
from mote.compiler.plan.selection.code_size_model import flash
from mote.compiler.plan.selection.estimate import more_groups
from mote.compiler.plan.selection.request import Policy
from mote.compiler.plan.selection.select import SURE, Selection
from mote.compiler.plan.selection.way import RATES
from mote.ir.graph.region import Numbers, in_order

UNLIMITED = 1 << 60
"""A limit larger than any memory."""
RUNGS = 64
"""Number of limits to try per power of two."""
SCATTERED, SOLID = 0, 1
"""Whether the live rows between two segments are scattered, or contiguous per tensor, as operators that run whole need
them."""
ENDS = tuple(product((SCATTERED, SOLID), repeat=2))
"""All combinations of SCATTERED and SOLID before and after a segment."""
LAST = ((0.0, 1.0, True), (0.0, 1.0, False), (1 / 32, 1.0, False), (1 / 8, 3 / 4, False))
"""Variants at the least peak: share to leave free, share up to which operators run whole, and whether to minimize the
number of operators by rows."""
LOOSER = ((1 / 64, 1.0), (1 / 16, 1.0), (1 / 16, 3 / 4), (1 / 8, 3 / 4), (1 / 8, 1 / 2))
"""Variants at the peak of a plan with much fragmentation."""
COUNTER = 10**12
"""Penalty per operator that runs by rows, where few should."""
TIGHT = 10**15
"""Penalty per operator that is too close to the limit, where slack should be left."""

Live = tuple[tuple[int, tuple[int, ...]], ...]
"""For each operator of a segment, the peak of live row bytes while it runs, one for each of ENDS."""
Place = tuple[int, frozenset[tuple[object, ...]]]
"""Progress of a schedule: the set of operators that have run, as a bit mask, and the keys of the live rows."""


def rung_above(nbytes: int) -> int:
    """The lowest rung of at least this many bytes."""
    step = 1 << max(nbytes.bit_length() - RUNGS.bit_length(), 0)
    return -(-nbytes // step) * step


def rung_below(nbytes: int) -> int:
    """The highest rung below this many bytes."""
    step = 1 << max((nbytes - 1).bit_length() - RUNGS.bit_length(), 0)
    return (nbytes - 1) // step * step


@dataclass(frozen=True, order=True)
class Limit:
    """The peak that a plan may take."""

    nbytes: int
    slack: int = 0
    """Slack below the limit that as many operators as possible should leave, to reduce fragmentation."""
    whole: int = UNLIMITED
    """Operators that take more than this run by rows, where they can, so that their tensors need not be contiguous."""
    few: bool = False
    """Minimize the number of operators that run by rows, each of which needs a counter."""


class Ends:
    """Extra bytes needed for tensors to be contiguous before or after a segment."""

    def __init__(self, rows: RowGraph, segment: Segment) -> None:
        self.rows = rows
        before, after = rows.crossing[segment.lo], rows.crossing[segment.hi]
        self.holes = self.dying = self.lacking = 0
        self.inner: set[int] = set()
        """Rows that leave holes when they die, as rows on both sides outlive the segment."""
        self.outer: set[int] = set()
        """Rows that free the end of their tensor when they die."""
        for store, live in before.items():
            left = after.get(store)
            if not left:
                self.outer.update(live)
                continue
            self.holes += rows.size[live[0]] * (live[-1] - live[0] + 1 - len(live))
            self.inner.update(r for r in live if left[0] < r < left[-1])
            self.outer.update(r for r in live if not left[0] <= r <= left[-1])
        self.dying = sum(rows.size[r] for r in self.outer)
        self.made = {store: live for store, live in after.items() if store not in before}
        self.begun: set[int] = set()

    def during(self, node: RowNode, state: Liveness) -> tuple[int, int, int]:
        """Extra bytes while a node runs, given the liveness after it: holes in contiguous tensors, rows not yet written
        of tensors that have been started, and dying rows that these may overlay."""
        left, size, store_of = state.left, self.rows.size, self.rows.store_of
        over = bool(node.over) and any(not any(left[r] for r in group) for group in node.over)
        for r in node.writes:
            if store_of[r] in self.made:
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
        """Records that a row is written; `over`: in place of a dead row."""
        store, size = self.rows.store_of[row], self.rows.size[row]
        live = self.made[store]
        if over:
            del self.made[store]
            return
        if store not in self.begun:
            self.begun.add(store)
            self.lacking += size * (live[-1] - live[0] + 1)
        self.lacking -= size if live[0] <= row <= live[-1] else 0


@dataclass(frozen=True)
class Choice:
    """The best kernel of an operator, whole or by rows, within a limit of scratch."""

    kernel: Packed
    beside: int
    """Bytes that it takes beside the rows: scratch, less the rows that it writes over others."""
    price: int
    """The objective to minimize: the cost plus the exchange rate of flash times the constants. An integer, so that sums
    are exact and independent of their order."""
    cost: float


def surely(choices: Sequence[Choice]) -> Choice:
    """The fastest choice, where it is surely faster than the one that also weighs flash."""
    best = min(choices, key=lambda c: (c.cost, c.beside))
    usual = min(choices, key=lambda c: (c.cost + RATES[Policy.BALANCED] * c.kernel.own_flash, c.beside))
    return best if best.cost <= SURE * usual.cost else usual


@dataclass(frozen=True, eq=False)
class Lane:
    """The segments of one selection."""

    selection: Selection
    scheduler: Scheduler
    _choices: dict[tuple[int, bool, float], tuple[list[int], list[Choice]]] = field(init=False, default_factory=dict)
    _offers: dict[tuple[int, bool], list[Packed]] = field(init=False, default_factory=dict)
    _lowest: dict[float, tuple[list[int], list[int]]] = field(init=False, default_factory=dict)
    _priced: dict[tuple[Segment, int, float], tuple[int, int, int]] = field(init=False, default_factory=dict)
    _live: dict[Segment, Live | int] = field(init=False, default_factory=dict)
    _most_overlaid: dict[int, int] = field(init=False, default_factory=dict)

    @property
    def rows(self) -> RowGraph:
        return self.scheduler.rows

    @cached_property
    def places(self) -> list[Place]:
        """The state after the first i operators, for every i."""
        rows = self.rows
        bits = [sum(1 << (n + len(rows.graph.inputs)) for n in work.ops) for work in rows.works]
        done = accumulate(bits, lambda a, b: a | b, initial=0)
        live = (frozenset(self._described[r] for rs in stores.values() for r in rs) for stores in rows.crossing)
        return list(zip(done, live, strict=True))

    @cached_property
    def _described(self) -> list[tuple[object, ...]]:
        """Key of each row: lanes can meet where the keys of the live rows are equal."""
        keys: list[tuple[object, ...]] = []
        size = self.rows.size
        for store in self.rows.stores:
            ring = any(t in self.selection.rings for t in store.tensors)
            first, layout = store.tensors[:1], store.layout
            keys += [(*first, r - store.first, size[r], layout, ring) for r in store.ids]
        return keys

    def outline(self, work: int) -> tuple[object, ...]:
        """Key of an operator: segments of two lanes are interchangeable if the keys of their operators are equal."""
        piece = self.rows.works[work]
        kernels = tuple(tuple(self._known(work, whole)) for whole in (False, True))
        return piece.ops, piece.splits, kernels, *map(self._sketched, (piece.whole, *piece.by_rows))

    def _known(self, work: int, whole: bool) -> Iterator[tuple[object, ...]]:
        """Keys of the candidate kernels of an operator: call, tile, scratch, flash and cost."""
        ops = self.rows.works[work].ops
        for k in self._offered(work, whole):
            cost = 0.0 if ops[0] < 0 else self.selection.cost(ops, k, whole)
            yield k.name, k.entry.call, k.entry.group, k.price.tile, k.needs.scratch, k.own_flash, cost

    def _sketched(self, node: RowNode | None) -> tuple[object, ...] | None:
        """Key of a node, independent of the numbering of rows and operators."""
        if node is None:
            return None
        rows, works = self._described, self.rows.works
        over = tuple(tuple(rows[r] for r in group) for group in node.over)
        needs = tuple((works[w].ops, n) for w, n in node.needs)
        reads, writes = (tuple(rows[r] for r in rs) for rs in (node.reads, node.writes))
        return node.rows, node.tap, node.scratch, reads, writes, over, needs

    def whole(self, segment: Segment, work: int) -> bool:
        """Whether an operator of a segment runs whole."""
        return segment.pace is Pace.WHOLE or not self.rows.works[work].splits

    def choices(self, work: int, whole: bool, rate: float) -> tuple[list[int], list[Choice]]:
        """The best kernels for increasing bytes beside the rows, and these bytes of each."""
        key = work, whole, rate
        if key not in self._choices:
            best: list[Choice] = []
            offered = list(self._priced_kernels(work, whole, rate))
            for room in sorted({c.beside for c in offered}):
                fitting = [c for c in offered if c.beside <= room]
                choice = min(fitting, key=lambda c: (c.price, c.beside)) if rate else surely(fitting)
                if not best or choice.price < best[-1].price:
                    best.append(choice)
            self._choices[key] = [c.beside for c in best], best
        return self._choices[key]

    def _priced_kernels(self, work: int, whole: bool, rate: float) -> Iterator[Choice]:
        ops, selection = self.rows.works[work].ops, self.selection
        for kernel in self._offered(work, whole):
            if ops[0] < 0:
                yield Choice(kernel, 0, 0, 0.0)
                continue
            cost = selection.cost(ops, kernel, whole)
            more = 0.0 if whole else (self._more_groups(work, kernel) - 1) * cost
            price = round(selection.price(ops, kernel, whole, rate) + more)
            beside = (kernel.needs.scratch or 0) - (self._overlaid(work, kernel) if whole else 0)
            yield Choice(kernel, beside, price, cost + more)

    def _more_groups(self, work: int, kernel: Packed) -> float:
        """How many times as long a kernel takes by rows because of groups that are shifted."""
        piece = self.rows.works[work]
        return more_groups(kernel, [n.rows for n in piece.by_rows]) if piece.ops in self.rows.shifts else 1.0

    def _overlaid(self, work: int, kernel: Packed) -> int:
        """Bytes of the output that a kernel which runs whole writes over an input that nothing else reads, where the
        lane's own node counts both."""
        rows, piece = self.rows, self.rows.works[work]
        if piece.whole is None or piece.whole.over:
            return 0
        pairs = overlaid(rows.graph, rows.stores, rows.place, piece.op, kernel)
        readers = Counter(r for node in piece.by_rows for r in node.reads)
        alone = all(rows.reader_nodes[r] == readers[r] and r not in rows.kept for _, r in pairs)
        return sum(rows.size[w] for w, _ in pairs) if alone else 0

    def _spared(self, work: int) -> int:
        """The most bytes that any kernel of an operator that runs whole may save so."""
        if work not in self._most_overlaid:
            self._most_overlaid[work] = max(self._overlaid(work, k) for k in self._offered(work, True))
        return self._most_overlaid[work]

    def _offered(self, work: int, whole: bool) -> list[Packed]:
        """The candidate kernels of an operator."""
        key = work, whole
        if key not in self._offers:
            piece = self.rows.works[work]
            arrives = isinstance(piece.op, Arrival)
            self._offers[key] = [piece.kernel] if arrives else self.selection.able(piece.ops, whole)
        return self._offers[key]

    def fastest(self, rate: float) -> tuple[float, int]:
        """Cost and constant bytes of all operators, whole, without a memory limit."""
        chosen = [self.choices(i, True, rate)[1][-1] for i in range(len(self.rows.works))]
        return sum(c.cost for c in chosen), sum(c.kernel.own_flash for c in chosen)

    def lowest(self, segment: Segment, rate: float) -> int:
        """A lower bound for the price of a segment, without a memory limit."""
        if rate not in self._lowest:
            by_rows, whole = ([0, *accumulate(self._prices(whole, rate))] for whole in (False, True))
            self._lowest[rate] = by_rows, whole
        sums = self._lowest[rate][segment.pace is Pace.WHOLE]
        return sums[segment.hi] - sums[segment.lo]

    def _prices(self, whole: bool, rate: float) -> Iterator[int]:
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
            peak = max(peak, nbytes[ends] + best[n - 1].beside)
        if live is None:
            return None
        self._priced[key] = limit, price, peak
        return price, peak

    def live(self, segment: Segment, limit: int) -> Live | None:
        """Live bytes of a segment; None where they exceed `limit` even if everything is scattered."""
        known = self._live.get(segment)
        if known is None or (isinstance(known, int) and known <= limit):
            known = self._live[segment] = self._simulated(segment, limit)
        return None if isinstance(known, int) else known

    def _simulated(self, segment: Segment, limit: int) -> Live | int:
        """Live bytes of a segment; or a lower bound for them that exceeds `limit`."""
        rows, ends = self.rows, Ends(self.rows, segment)
        state = rows.prefixes[segment.lo].copy()
        most: dict[int, tuple[int, ...]] = {}
        for node in self.scheduler.nodes(segment):
            during = state.run(rows, node)
            least = during - (self._spared(node.op) if node is rows.works[node.op].whole else 0)
            if least > limit:
                return least
            holes, lacking, dying = ends.during(node, state)
            bare = during - node.scratch
            now = bare, bare + lacking, bare + holes, bare + holes + max(lacking - dying, 0)
            known = most.get(node.op)
            most[node.op] = now if known is None else tuple(map(max, known, now))
        return tuple(most.items())


def _counters(segment: Segment, few: bool) -> int:
    """The penalty of a segment, where few operators should run by rows."""
    return COUNTER * (segment.hi - segment.lo) if few and segment.pace is not Pace.WHOLE else 0


@dataclass(frozen=True)
class Leg:
    """A segment of a lane that starts at a state; `ends`: which of ENDS."""

    start: int
    lane: Lane
    segment: Segment
    ends: int


@dataclass(frozen=True, eq=False)
class Sketch:
    """A plan without addresses: the cheapest within a limit, at a price of flash."""

    legs: tuple[Leg, ...]
    peak: int
    chosen: dict[Numbers, Choice]
    """The chosen kernels, by operator numbers."""

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
        """The key of its memory use."""
        taken = ((c.beside, c.kernel.needs.scratch) for c in self.chosen.values())
        return (*((leg.lane, leg.segment) for leg in self.legs), *taken)


@dataclass(frozen=True, eq=False)
class PlanFront:
    """The Pareto front of plans in peak memory and price, with rows in one direction."""

    lanes: Sequence[Lane]
    bottom_up: bool
    least: int
    """The least known peak."""
    _sketches: dict[tuple[Limit, float], Sketch | None] = field(init=False, default_factory=dict)
    _lows: dict[tuple[float, bool], dict[int, list[tuple[int, int]]]] = field(init=False, default_factory=dict)

    @cached_property
    def _marks(self) -> list[list[int]]:
        """State numbers of each lane: lanes meet where they are equal. There are two of each: odd ones are
        contiguous."""
        numbers: dict[Place, int] = {}
        return [[2 * numbers.setdefault(place, len(numbers)) for place in lane.places] for lane in self.lanes]

    @cached_property
    def _order(self) -> list[int]:
        """All states in topological order."""
        known = zip(self._marks, self.lanes, strict=True)
        done = {m: place[0].bit_count() for marks, lane in known for m, place in zip(marks, lane.places, strict=True)}
        return [m + solid for m in sorted(done, key=lambda m: (done[m], m)) for solid in (SCATTERED, SOLID)]

    @cached_property
    def _legs(self) -> dict[int, list[Leg]]:
        """The segments that end at a state."""
        legs: dict[int, list[Leg]] = {mark: [] for mark in self._order}
        for lane, marks, segment in self._segments():
            for i, (start, end) in enumerate(ENDS):
                if segment.pace is not Pace.WHOLE or start == end == SOLID:
                    legs[marks[segment.hi] + end].append(Leg(marks[segment.lo] + start, lane, segment, i))
        return legs

    def _segments(self) -> Iterator[tuple[Lane, list[int], Segment]]:
        """The segments of all lanes, with the states of their lane, deduplicated."""
        numbers: dict[object, int] = {}
        known: set[tuple[object, ...]] = set()
        for lane, marks in zip(self.lanes, self._marks, strict=True):
            works = range(len(lane.rows.works))
            outlines = [numbers.setdefault(lane.outline(i), len(numbers)) for i in works if len(self.lanes) > 1]
            for segment in lane.scheduler.segments():
                lo, hi, pace = segment
                same = pace, marks[lo], marks[hi], *outlines[lo:hi]
                if pace is Pace.SEARCHED or len(self.lanes) == 1 or same not in known:
                    known.add(same)
                    yield lane, marks, segment

    def rungs(self, rate: float, most: int, above: int = 0) -> Iterator[Limit]:
        """The limits to try for plans within `most` bytes, in descending order, as far as each has a plan of its own;
        optionally only those `above` a limit."""
        limit = min(rung_above(most), UNLIMITED)
        while limit > above and (sketch := self.within(Limit(limit), rate)) is not None:
            yield Limit(limit)
            limit = rung_below(sketch.peak)

    def looser(self, sketch: Sketch) -> Iterator[Limit]:
        """Limits at the peak of a plan for alternatives with other orders."""
        return (Limit(sketch.peak, int(slack * sketch.peak), int(whole * sketch.peak)) for slack, whole in LOOSER)

    def last_rungs(self) -> Iterator[Limit]:
        """The limits at the least peak, and none: contiguous tensors may take less than estimated."""
        least = self.least
        yield Limit(UNLIMITED)
        yield from (Limit(least, int(slack * least), int(whole * least), few) for slack, whole, few in LAST)

    def within(self, limit: Limit, rate: float) -> Sketch | None:
        """The plan with the least price whose peak is within a limit, if any."""
        if (limit, rate) not in self._sketches:
            self._sketches[limit, rate] = self._within(limit, rate)
        return self._sketches[limit, rate]

    def _within(self, limit: Limit, rate: float) -> Sketch | None:
        first, last = ({marks[i] + SOLID for marks in self._marks} for i in (0, -1))
        best: dict[int, tuple[int, int, Leg | None]] = {}
        for mark in self._order:
            cheapest: tuple[int, int, Leg | None] | None = (0, 0, None) if mark in first else None
            legs = self._legs[mark]
            starts = enumerate(self._lowest(rate, limit.few)[mark])
            for lowest, i in sorted((best[start][0] + low, i) for i, (start, low) in starts if start in best):
                if cheapest is not None and lowest > cheapest[0]:
                    break
                priced = self._priced(legs[i], limit, rate)
                if priced is not None:
                    so_far, peak, _ = best[legs[i].start]
                    new = so_far + priced[0], max(peak, priced[1])
                    if cheapest is None or new < cheapest[:2]:
                        cheapest = (*new, legs[i])
            if cheapest is not None:
                best[mark] = cheapest
        return self._followed(best, last, limit, rate)

    def _lowest(self, rate: float, few: bool) -> dict[int, list[tuple[int, int]]]:
        """Start states of the segments that end at a state, with lower bounds for their prices."""
        key = rate, few
        if key not in self._lows:
            self._lows[key] = {
                mark: [(leg.start, leg.lane.lowest(leg.segment, rate) + _counters(leg.segment, few)) for leg in legs]
                for mark, legs in self._legs.items()
            }
        return self._lows[key]

    @staticmethod
    def _priced(leg: Leg, limit: Limit, rate: float) -> tuple[int, int] | None:
        """The price and peak of a leg within a limit."""
        lane, segment = leg.lane, leg.segment
        whole, works = segment.pace is Pace.WHOLE, segment.hi - segment.lo
        priced = lane.priced(segment, leg.ends, limit.nbytes - limit.slack, rate)
        more = _counters(segment, limit.few)
        if priced is None and limit.slack:
            priced = lane.priced(segment, leg.ends, limit.nbytes, rate)
            more += TIGHT * works
        if priced is None or (whole and lane.rows.works[segment.lo].splits and priced[1] > limit.whole):
            return None
        return priced[0] + more, priced[1]

    def _followed(
        self, best: dict[int, tuple[int, int, Leg | None]], last: set[int], limit: Limit, rate: float
    ) -> Sketch | None:
        """Backtracks the shortest path from one of the last states."""
        ends = [mark for mark in self._order if mark in last and mark in best]
        if not ends:
            return None
        at = min(ends, key=lambda mark: best[mark][:2])
        peak = best[at][1]
        legs: list[Leg] = []
        while (leg := best[at][2]) is not None:
            legs.append(leg)
            at = leg.start
        return Sketch(tuple(reversed(legs)), peak, dict(self._chosen(legs[::-1], limit, rate)))

    def _chosen(self, legs: Sequence[Leg], limit: Limit, rate: float) -> Iterator[tuple[Numbers, Choice]]:
        for leg in legs:
            lane, segment = leg.lane, leg.segment
            narrow = lane.priced(segment, leg.ends, limit.nbytes - limit.slack, rate) is not None
            most = limit.nbytes - limit.slack if narrow else limit.nbytes
            for work, nbytes in lane.live(segment, most) or ():
                scratches, best = lane.choices(work, lane.whole(segment, work), rate)
                yield lane.rows.works[work].ops, best[bisect_right(scratches, most - nbytes[leg.ends]) - 1]


@dataclass(frozen=True, eq=False)
class Placing:
    """A sketch that is being turned into a plan: the rows of its lanes, merged."""

    front: PlanFront
    sketch: Sketch

    @cached_property
    def works(self) -> dict[Numbers, tuple[Lane, Work, bool]]:
        """The lane and the work of each operator in topological order, and whether it runs whole."""
        works = {}
        for leg in self.sketch.legs:
            for i in range(leg.segment.lo, leg.segment.hi):
                work = leg.lane.rows.works[i]
                works[work.ops] = leg.lane, work, leg.lane.whole(leg.segment, i)
        return {ops: works[ops] for ops in in_order(self.front.lanes[0].rows.graph, works) or works}

    def kernel(self, ops: Numbers, whole: bool) -> Packed:
        """The chosen kernel; the leanest one for operators that do not run in this way."""
        _, work, runs_whole = self.works[ops]
        if whole == runs_whole:
            return self.sketch.chosen[ops].kernel
        return work.kernel if whole else work.row_kernel

    @cached_property
    def rows(self) -> RowGraph:
        layouts: dict[int, Layout] = {}
        rings: set[int] = set()
        for lane, work, _ in self.works.values():
            layouts.update((t, lane.selection.layouts[t]) for t in work.op.outputs if t in lane.selection.layouts)
            rings.update(t for t in work.op.outputs if t in lane.selection.rings)
        selection = self.front.lanes[0].selection
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
            shifts={ops: lane.rows.shifts[ops] for ops, (lane, _, _) in self.works.items() if ops in lane.rows.shifts},
        )

    def draft(self) -> Draft:
        rows, selection = self.rows, self.front.lanes[0].selection
        works = {work.ops: work for work in rows.works}
        nodes = {(work.ops, node.rows, node.tap): node for work in rows.works for node in work.by_rows}
        runs = []
        for leg in self.sketch.legs:
            for run in leg.lane.scheduler.runs(leg.segment):
                ops = leg.lane.rows.works[run.node.op].ops
                whole = works[ops].whole if run.whole else None
                runs.append(Run(whole or nodes[ops, run.node.rows, run.node.tap], run.whole))
        schedule = Schedule(tuple(runs), 0)
        peak = max([rows.prefixes[0].live, *schedule.during(rows)])
        how, goal = selection.how, selection.goal
        return arrange(rows, replace(schedule, peak=peak), self.kernel, how, goal, bottom_up=self.front.bottom_up)


class Drafts:
    """The plans of sketches with addresses, each placed when it is first asked for."""

    def __init__(self) -> None:
        self._drafts: dict[tuple[object, ...], Draft] = {}

    def ram(self, front: PlanFront, sketch: Sketch) -> int:
        """The bytes that the plan of a sketch takes."""
        return self._draft(front, sketch).plan.ram

    def placed(self, front: PlanFront, sketch: Sketch) -> Draft:
        """The plan of a sketch."""
        draft = self._draft(front, sketch)
        kernels = {ops: choice.kernel for ops, choice in sketch.chosen.items()}
        steps = tuple(replace(step, kernel=kernels[step.ops]) for step in draft.plan.steps)
        return replace(draft, plan=replace(draft.plan, steps=steps))

    def _draft(self, front: PlanFront, sketch: Sketch) -> Draft:
        """The plan of a sketch, up to kernels with the same memory use."""
        key = (front, *sketch.memory)
        if key not in self._drafts:
            self._drafts[key] = Placing(front, sketch).draft()
        return self._drafts[key]
