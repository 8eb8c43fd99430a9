"""Schedules and smallest plans of one selection, with rows computed in one direction: top-down or bottom-up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from mote.base.progress import Say
from mote.compiler.kernels.contract import Call, Packed
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.memory.layout import KernelOf, PlacedPlan, arrange
from mote.compiler.plan.scheduling.rows import TALL, Liveness, RowGraph, build, shifted_groups
from mote.compiler.plan.scheduling.schedule import Run, Schedule, Scheduler
from mote.compiler.plan.scheduling.search import Effort
from mote.compiler.plan.selection.select import Selection
from mote.ir.graph.region import Numbers

EFFORT, MOST_EFFORT = 250, 1_000_000
"""Effort of the exact search for a lower peak: tried nodes per node of the graph, and at most in total."""
NEAR = 1.01
"""An arena at most this factor above the peak of live bytes is good enough."""
WHOLE_SHARES = (1.0, 0.5, 0.0)
"""Limits that are tried for the peak of operators that run whole, as shares of the least peak: they need contiguous
tensors, so that fewer of them can mean less fragmentation."""
ROOM_ROUNDS = 4
"""Maximum number of attempts of `with_room` to place the plan with faster kernels."""
UNLIMITED = 1 << 60
"""A limit larger than any memory, in bytes."""
NARROWER = 6
"""Maximum number of schedules with lower peaks that `narrower` tries."""


@lru_cache(maxsize=16)
def rows_of(selection: Selection, bottom_up: bool = False) -> RowGraph:
    """The memoized row graph with the leanest kernels of a selection."""
    goal, shifts = selection.goal, dict[Numbers, int]()
    if selection.config.shifted:
        shifts = shifted_groups(
            selection.graph, tuple(selection.ops), selection.by_rows.__getitem__, bottom_up=bottom_up
        )
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
        shifts=shifts,
    )


@dataclass(frozen=True, eq=False)
class DirectedPlans:
    """Schedules and smallest plans of a selection with rows in one direction; computed lazily."""

    selection: Selection
    goal: Goal
    bottom_up: bool
    say: Say
    _arranged: dict[tuple[Run, ...], PlacedPlan] = field(init=False, default_factory=dict)
    """Placed plans by schedule: different limits often have the same best schedule."""

    @cached_property
    def rows(self) -> RowGraph:
        return rows_of(self.selection, self.bottom_up)

    @cached_property
    def scheduler(self) -> Scheduler:
        return Scheduler(self.rows, self.goal.costs, whole=not self.goal.small_steps, say=self.say)

    @cached_property
    def unsearched(self) -> Scheduler:
        """A scheduler without the orders that the exact search has added to `scheduler`: independent of other goals."""
        return Scheduler(self.rows, self.goal.costs, whole=not self.goal.small_steps)

    @cached_property
    def least(self) -> int:
        """The least peak of live bytes that was found, by segments and exact search."""
        nodes = sum(len(work.by_rows) for work in self.rows.works)
        return self.scheduler.improve(Effort(min(EFFORT * nodes, MOST_EFFORT)))

    def peaks(self) -> tuple[tuple[int, int], set[int]]:
        """The least peak and the number of nodes that reach it; the tensors with live rows while these run."""
        schedule = self._schedule(self.scheduler.least_peak())
        during = schedule.during(self.rows)
        state = Liveness.start(self.rows)
        made = set(self.rows.resident)
        tensors: set[int] = set()
        for run, nbytes in zip(schedule.runs, during, strict=True):
            made.update(run.node.writes)
            if nbytes == schedule.peak:
                tensors |= {
                    t for r in made if state.left[r] for t in self.rows.storages[self.rows.storage_of[r]].tensors
                }
            state.run(self.rows, run.node)
        return (schedule.peak, during.count(schedule.peak)), tensors

    @cached_property
    def smallest(self) -> PlacedPlan:
        """The plan with the least RAM, with as many operators run whole as do not increase it (WHOLE_SHARES)."""
        best: PlacedPlan | None = None
        for share in WHOLE_SHARES:
            schedule = self.scheduler.cheapest(self.least, int(share * self.least))
            if schedule is None or (best is not None and schedule.runs == best.schedule.runs):
                continue
            best = min([self._arrange(schedule), *([best] if best else [])], key=lambda d: d.plan.ram)
            if best.plan.arena <= NEAR * self.least:
                break
        assert best is not None
        return best

    def narrower(self, ram: int) -> PlacedPlan | None:
        """A plan within `ram` bytes from schedules with lower and lower peaks; None if none fits when placed."""
        limit = ram
        for _ in range(NARROWER):
            if limit < self.least:
                break
            schedule = self._schedule(limit)
            lean = self._arrange(schedule)
            if lean.plan.ram <= ram:
                return lean
            limit = max(min(limit, schedule.peak) - (lean.plan.ram - ram), min(limit - 1, self.least))
        return None

    def _schedule(self, limit: int) -> Schedule:
        """The schedule with the least extra cost whose peak is within `limit`, which must be feasible."""
        schedule = self.scheduler.cheapest(limit)
        assert schedule is not None
        return schedule

    def _arrange(self, schedule: Schedule) -> PlacedPlan:
        selection, goal = self.selection, self.goal
        if schedule.runs not in self._arranged:
            placed = arrange(self.rows, schedule, selection.kernel, selection.how, goal, bottom_up=self.bottom_up)
            self._arranged[schedule.runs] = placed
        return self._arranged[schedule.runs]


def with_room(selection: Selection, lean: PlacedPlan) -> PlacedPlan:
    """The plan `lean` with the best kernels whose scratch fits in its arena without making it larger."""
    rows, schedule, plan = lean.rows, lean.schedule, lean.plan
    limit, live = plan.arena, _bare(rows, schedule)
    chosen = _choose(selection, rows, schedule, live, limit)
    current = {step.ops: step.kernel for step in plan.steps}
    for _ in range(ROOM_ROUNDS):
        if all(current[ops] is kernel for ops, kernel in chosen.items()):
            break
        kernel_of = _kernels(selection, chosen)
        scheduled = _peaking(rows, schedule, live, kernel_of)
        candidate = arrange(rows, scheduled, kernel_of, plan.how, plan.goal, bottom_up=plan.bottom_up)
        if candidate.plan.arena <= limit:
            return candidate
        above = {s.ops for s in candidate.plan.steps if (s.scratch or 0) + (s.kernel.needs.scratch or 0) > limit}
        chosen = {ops: k for ops, k in chosen.items() if above & set(chosen) and ops not in above}
    return lean


def _peaking(rows: RowGraph, schedule: Schedule, live: list[int], kernel_of: KernelOf) -> Schedule:
    """The schedule, with its peak recomputed for other kernels."""
    kernels = [kernel_of(rows.works[run.node.op].ops, run.whole) for run in schedule.runs]
    peaks = (n + (k.needs.scratch or 0) for n, k in zip(live, kernels, strict=True))
    return replace(schedule, peak=max(peaks, default=schedule.peak))


def _kernels(selection: Selection, chosen: dict[Numbers, Packed]) -> KernelOf:
    """Callback: the chosen kernel of operators, or else the leanest one."""
    return lambda ops, whole: chosen.get(ops) or selection.kernel(ops, whole)


def _choose(
    selection: Selection, rows: RowGraph, schedule: Schedule, live: list[int], limit: int
) -> dict[Numbers, Packed]:
    """The best kernel of each operator whose scratch fits in `limit` bytes beside the live rows."""
    most: dict[int, int] = {}
    whole: dict[int, bool] = {}
    for run, nbytes in zip(schedule.runs, live, strict=True):
        most[run.node.op] = max(most.get(run.node.op, 0), nbytes)
        whole[run.node.op] = run.whole
    kernels = {}
    for i, nbytes in most.items():
        ops = rows.works[i].ops
        if ops in selection.ops and selection.kernel(ops, whole[i]).entry.call is not Call.ADDS:
            kernels[ops] = selection.best(ops, whole[i], limit - nbytes)
    return kernels


def _bare(rows: RowGraph, schedule: Schedule) -> list[int]:
    """Live bytes while each node of the schedule runs, without scratch."""
    return [live - run.node.scratch for live, run in zip(schedule.during(rows), schedule.runs, strict=True)]
