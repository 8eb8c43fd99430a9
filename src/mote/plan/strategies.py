"""Ways to make a plan: each is tried in turn, and each is kernels and layouts, and an order of rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from mote.graph.chain import Numbers
from mote.kernels.contract import Call, Packed
from mote.plan.estimate import estimate
from mote.plan.goal import Goal, Say
from mote.plan.layout import Draft, KernelOf, arrange
from mote.plan.lowering import Policy
from mote.plan.rows import TALL, Arrival, Liveness, RowGraph, build
from mote.plan.schedule import Run, Schedule, Scheduler
from mote.plan.search import Effort
from mote.plan.select import FAST, LEAN, ROOMY, Selection, Way

LITTLE_ROOM, LITTLE_SHARE = 512, 0.03
"""Bytes, or a share of what the tensors need, that may be spent on the working memory of faster kernels if RAM has no
limit (--optimize speed spends what it takes)."""
EFFORT, MOST_EFFORT = 250, 1_000_000
"""How many nodes the search for a lower peak may try: so many for each node that there is, and all in all."""
NEAR = 1.01
"""An arena this close to the least peak is not worth more attempts."""
WHOLE_SHARES = (1.0, 0.5, 0.0)
"""The share of the least peak up to which operators may run whole: their tensors cannot be scattered, so that fewer
of them can mean a smaller arena."""
ROOM_ROUNDS = 4
"""How often faster kernels are tried before the lean ones are kept."""
UNLIMITED = 1 << 60
"""More bytes than there are."""
CLOSE = 64
"""The search for the least memory ends where what is left to gain is one part in so many."""
LOOSE, TIGHTER = 1.05, (1 / 16, 1 / 2)
"""The rows of a plan fit together badly where the arena is so many times the peak. It is then tried again with these
shares of what is between the two."""
NARROWER = 6
"""How often a schedule with a lower peak is tried when the rows of one do not fit together within the budget."""


@dataclass(frozen=True)
class Strategy:
    """Rows in one direction, computed by kernels that are chosen in one way."""

    name: str
    way: Way
    bottom_up: bool = False


ROWS = (
    Strategy("rows", ROOMY),
    Strategy("rows from the bottom up", ROOMY, bottom_up=True),
    Strategy("fast kernels, several rows at once", FAST),
    Strategy("lean rows", LEAN),
    Strategy("lean rows from the bottom up", LEAN, bottom_up=True),
)
"""What is tried for the fastest plan within a budget."""
KNEES = tuple(s for s in ROWS if not s.bottom_up)
"""What is tried for the least memory that hardly costs anything."""
LEANEST = tuple(s for s in ROWS if s.way is LEAN)
"""What is tried for the smallest plan."""


@lru_cache(maxsize=8)
def rows_of(selection: Selection, bottom_up: bool = False) -> RowGraph:
    """The rows of a graph, computed by the leanest kernels of a selection."""
    goal = selection.goal
    return build(
        selection.graph,
        tuple(selection.ops),
        lambda ops: selection.lean[ops],
        lambda ops: selection.by_rows[ops],
        selection.layouts,
        rings=frozenset(selection.rings),
        pushed=goal.pushed,
        bottom_up=bottom_up,
        most=UNLIMITED if goal.small_steps or goal.zone else TALL,
        lent=goal.lent,
    )


@dataclass(frozen=True, eq=False)
class Layers:
    """Every operator whole, one after another."""

    selection: Selection
    goal: Goal

    @cached_property
    def lean(self) -> Draft:
        rows = rows_of(self.selection)
        return arrange(rows, layered(rows), self.selection.kernel, self.selection.how, self.goal)

    @cached_property
    def enough(self) -> int:
        """The bytes of RAM of lean layers, and a little more for faster kernels."""
        lean = self.lean
        return max(lean.plan.ram, with_little(max(_bare(lean.rows, lean.schedule), default=0)) + lean.plan.static)

    def within(self, ram: int | None) -> Draft:
        """Faster kernels that need more working memory, as far as they fit."""
        plan = self.lean.plan
        return with_room(self.selection, self.lean, None if ram is None else max(plan.arena, ram - plan.static))


@dataclass(frozen=True)
class Sketch:
    """A schedule with its kernels: a plan, but for the places."""

    schedule: Schedule
    kernels: dict[Numbers, Packed]
    """Those that are not the leanest."""
    cost: float


@dataclass(frozen=True, eq=False)
class Side:
    """The plans with rows in one direction."""

    selection: Selection
    goal: Goal
    bottom_up: bool
    say: Say
    _arranged: dict[tuple[Run, ...], Draft] = field(default_factory=dict)
    """The arrangements of schedules: different limits often have the same best schedule."""

    @cached_property
    def rows(self) -> RowGraph:
        return rows_of(self.selection, self.bottom_up)

    @cached_property
    def scheduler(self) -> Scheduler:
        return Scheduler(self.rows, self.goal.costs, whole=not self.goal.small_steps, say=self.say)

    @cached_property
    def least(self) -> int:
        """The least peak that was found."""
        nodes = sum(len(work.by_rows) for work in self.rows.works)
        return self._least(Effort(min(EFFORT * nodes, MOST_EFFORT)))

    @cached_property
    def easy(self) -> int:
        """The least peak that is found without a search."""
        return self._least(Effort(0))

    def _least(self, effort: Effort) -> int:
        return self.scheduler.least_peak() if self.selection.way.fast else self.scheduler.improve(effort)

    def peaks(self) -> tuple[tuple[int, int], set[int]]:
        """The least peak and how often it is reached; the tensors of which something is live then."""
        schedule = self._schedule(self.scheduler.least_peak())
        during = schedule.during(self.rows)
        state = Liveness.start(self.rows)
        made = set(self.rows.resident)
        found: set[int] = set()
        for run, nbytes in zip(schedule.runs, during, strict=True):
            made.update(run.node.writes)
            if nbytes == schedule.peak:
                found |= {t for r in made if state.left[r] for t in self.rows.stores[self.rows.store_of[r]].tensors}
            state.run(self.rows, run.node)
        return (schedule.peak, during.count(schedule.peak)), found

    @cached_property
    def smallest(self) -> Draft:
        """The smallest arena; where whole operators make it larger, fewer of them."""
        best: Draft | None = None
        for share in WHOLE_SHARES:
            schedule = self.scheduler.cheapest(self.least, int(share * self.least))
            if schedule is None or (best is not None and schedule.runs == best.schedule.runs):
                continue
            best = min([self._arrange(schedule), *([best] if best else [])], key=lambda d: d.plan.ram)
            if best.plan.arena <= NEAR * self.least:
                break
        assert best is not None
        return best

    def unlimited(self) -> Draft:
        """One operator after another, each by rows."""
        lean = self._arrange(self._schedule(UNLIMITED))
        room = None if self.selection.how.optimize is Policy.SPEED else with_little(lean.plan.arena)
        return with_room(self.selection, lean, room)

    def within(self, ram: int) -> Draft | None:
        """The least extra work that was found to fit: memory may be spent on whole operators, or left to kernels that
        are faster with more of it."""
        limits = self._limits(ram, self.least)
        found = [fitting for limit in limits if (fitting := self._fitting(ram, limit)) is not None]
        if not found and self.smallest.plan.ram <= ram:
            return self.smallest
        return min(found, key=lambda d: estimate(self.goal.costs, d.plan), default=None)

    def _limits(self, ram: int, least: int) -> list[int]:
        """What lean kernels may take of `ram` bytes, so that faster ones have room for their working memory."""
        rooms = self._rooms
        limits = (max(ram - room, least) for room in (0, rooms[len(rooms) // 2], rooms[-1]))
        return list(dict.fromkeys(limits))

    @cached_property
    def _rooms(self) -> list[int]:
        return sorted({0, *(self.selection.best(ops, True).scratch or 0 for ops in self.selection.ops)})

    def leanest(self, enough: float) -> Sketch | None:
        """The least memory that was found for a plan that costs no more than `enough`."""
        best = self._sketch(UNLIMITED)
        if best.cost > enough:
            return None
        low, high = self.easy - 1, best.schedule.peak
        while high - low > max(high // CLOSE, 1):
            middle = (low + high) // 2
            limits = self._limits(middle, self.easy)
            found = min((self._sketch(middle, limit) for limit in limits), key=lambda s: s.cost)
            if found.cost <= enough and found.schedule.peak <= middle:
                best, high = found, found.schedule.peak
            else:
                low = middle
        return best

    def _sketch(self, ram: int, limit: int = UNLIMITED) -> Sketch:
        """The least extra work with lean kernels within `limit`, then the best kernels within `ram`."""
        schedule = self._schedule(limit)
        live = _bare(self.rows, schedule)
        chosen = _choose(self.selection, self.rows, schedule, live, ram)
        kernel_of = _kernels(self.selection, chosen)
        ways = {run.node.op: run.whole for run in schedule.runs}
        works = [(self.rows.works[i], whole) for i, whole in ways.items()]
        cost = sum(
            self.goal.costs.of(self.rows.graph, work.op, kernel_of(work.ops, whole), whole)
            for work, whole in works
            if not isinstance(work.op, Arrival)
        )
        return Sketch(_peaking(self.rows, schedule, live, kernel_of), chosen, cost)

    def placed(self, sketch: Sketch, enough: float) -> Draft:
        """The plan of a sketch; what room is left in its arena is for faster kernels. Where its rows fit together
        badly, another plan that costs no more than `enough` and takes less."""
        selection, peak = self.selection, sketch.schedule.peak
        kernel_of = _kernels(selection, sketch.kernels)
        found = arrange(self.rows, sketch.schedule, kernel_of, selection.how, self.goal, bottom_up=self.bottom_up)
        arena, static = found.plan.arena, found.plan.static
        for share in TIGHTER if arena > LOOSE * peak else ():
            tighter = self.within(static + peak + int(share * (arena - peak)))
            if tighter is not None and estimate(self.goal.costs, tighter.plan) <= enough:
                return tighter
        return with_room(selection, found, arena)

    def _fitting(self, ram: int, limit: int) -> Draft | None:
        """A plan within `ram` bytes, whose lean kernels take no more than `limit`."""
        for _ in range(NARROWER):
            if limit < self.least:
                break
            schedule = self._schedule(limit)
            lean = self._arrange(schedule)
            if lean.plan.ram <= ram:
                return with_room(self.selection, lean, ram - lean.plan.static)
            limit = max(min(limit, schedule.peak) - (lean.plan.ram - ram), min(limit - 1, self.least))
        return None

    def _schedule(self, limit: int) -> Schedule:
        found = self.scheduler.cheapest(limit)
        assert found is not None
        return found

    def _arrange(self, schedule: Schedule) -> Draft:
        selection, goal = self.selection, self.goal
        if schedule.runs not in self._arranged:
            found = arrange(self.rows, schedule, selection.kernel, selection.how, goal, bottom_up=self.bottom_up)
            self._arranged[schedule.runs] = found
        return self._arranged[schedule.runs]


def layered(rows: RowGraph) -> Schedule:
    """One operator after another."""
    parts = (
        [Run(w.whole, True)] if w.whole is not None else [Run(node, False) for node in w.by_rows] for w in rows.works
    )
    schedule = Schedule(tuple(run for part in parts for run in part), 0)
    return replace(schedule, peak=max([rows.prefixes[0].live, *schedule.during(rows)]))


def with_little(nbytes: int) -> int:
    """A little more than so many bytes."""
    return nbytes + max(LITTLE_ROOM, int(LITTLE_SHARE * nbytes))


def with_room(selection: Selection, lean: Draft, limit: int | None) -> Draft:
    """The plan with the best kernels whose working memory an arena of `limit` bytes holds."""
    rows, schedule, plan = lean.rows, lean.schedule, lean.plan
    live = _bare(rows, schedule)
    chosen = _choose(selection, rows, schedule, live, limit)
    there = {step.ops: step.kernel for step in plan.steps}
    for _ in range(ROOM_ROUNDS):
        if all(there[ops] is kernel for ops, kernel in chosen.items()):
            break
        kernel_of = _kernels(selection, chosen)
        scheduled = _peaking(rows, schedule, live, kernel_of)
        found = arrange(rows, scheduled, kernel_of, plan.how, plan.goal, bottom_up=plan.bottom_up)
        if limit is None or found.plan.arena <= limit:
            return found
        above = {s.ops for s in found.plan.steps if (s.scratch or 0) + (s.kernel.scratch or 0) > limit}
        chosen = {ops: k for ops, k in chosen.items() if above & set(chosen) and ops not in above}
    return lean


def _peaking(rows: RowGraph, schedule: Schedule, live: list[int], kernel_of: KernelOf) -> Schedule:
    """The schedule with the peak that it has with other kernels."""
    kernels = [kernel_of(rows.works[run.node.op].ops, run.whole) for run in schedule.runs]
    peaks = (n + (k.scratch or 0) for n, k in zip(live, kernels, strict=True))
    return replace(schedule, peak=max(peaks, default=schedule.peak))


def _kernels(selection: Selection, chosen: dict[Numbers, Packed]) -> KernelOf:
    """Those that were chosen, and else the leanest."""
    return lambda ops, whole: chosen.get(ops) or selection.kernel(ops, whole)


def _choose(
    selection: Selection, rows: RowGraph, schedule: Schedule, live: list[int], limit: int | None
) -> dict[Numbers, Packed]:
    """The best kernels of operators that fit beside what is live."""
    most: dict[int, int] = {}
    ways: dict[int, bool] = {}
    for run, nbytes in zip(schedule.runs, live, strict=True):
        most[run.node.op] = max(most.get(run.node.op, 0), nbytes)
        ways[run.node.op] = run.whole
    found = {}
    for i, nbytes in most.items():
        ops = rows.works[i].ops
        if ops in selection.ops and selection.kernel(ops, ways[i]).call is not Call.ADDS:
            found[ops] = selection.best(ops, ways[i], None if limit is None else limit - nbytes)
    return found


def _bare(rows: RowGraph, schedule: Schedule) -> list[int]:
    """The bytes of rows that are live at each run, without working memory."""
    return [live - run.node.scratch for live, run in zip(schedule.during(rows), schedule.runs, strict=True)]
