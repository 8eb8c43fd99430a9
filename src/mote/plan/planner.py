"""Graph -> Plan: kernels, order, rows or layers, a place for every row."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce

from mote.graph import Graph, Op, Tensor
from mote.graph.rows import row_count
from mote.kernels import cost
from mote.kernels.cost import Costs
from mote.ops.state import Window
from mote.plan.bound import lower_bound
from mote.plan.check import check
from mote.plan.choice import options
from mote.plan.estimate import estimate
from mote.plan.kernel import Call, Kernel, Layout, Lowering
from mote.plan.layout import arrange
from mote.plan.order import order
from mote.plan.plan import Plan
from mote.plan.recompute import Twice, candidates, rewrite
from mote.plan.rows import TALL, Arrival, RowGraph, State, aligned, build, is_alias, takes_rows
from mote.plan.schedule import Run, Say, Schedule, Scheduler, silent
from mote.plan.search import Effort

LITTLE_ROOM, LITTLE_SHARE = 512, 0.03
"""Bytes, or a share of what the tensors need, that may be spent on the working memory of faster kernels if RAM has no
limit (--optimize speed spends what it takes)."""
RATES = {"speed": 0.0, "balanced": 20.0, "size": 150.0}
"""How much of an inference, in the unit of the costs, a byte of constants has to save to be worth it."""
MOST_RATE = 1e6
"""Flash is then all that counts."""
DECODER, DECODING = 280, 160
"""Bytes of code that decode weights, and of each kernel that has it done."""
MOST_DECODING = 2.0
"""How many times the instructions an operator may take for the sake of coded weights, unless flash is short."""
EFFORT = 250
"""How many nodes the search for a lower peak may try, for each node that there is."""
NEAR = 1.01
"""An arena this close to the least peak is not worth more attempts."""
WHOLE_SHARES = (1.0, 0.5, 0.0)
"""The share of the least peak up to which operators may run whole: their tensors cannot be scattered, so that fewer
of them can mean a smaller arena."""
NEAR_FASTEST = 1.02
"""A plan this close to the fastest kernels, all operators whole, is not worth looking further."""
ROOM_ROUNDS = 4
"""How often faster kernels are tried before the lean ones are kept."""
UNLIMITED = 1 << 60
"""More bytes than there are."""
NARROWER = 6
"""How often a schedule with a lower peak is tried when the rows of one do not fit together within the budget."""


@dataclass(frozen=True)
class Goal:
    """What memory a plan may take. Without a limit operators run whole, unless the input comes row by row."""

    ram: int | None = None
    """Bytes for the arena and the counters: the fastest plan within them is wanted."""
    flash: int | None = None
    """Bytes for constants."""
    least: bool = False
    """The smallest plan is wanted."""
    pushed: bool = False
    """The caller hands the input over row by row."""
    small_steps: bool = False
    """No step computes more than one row, where an operator can be run by rows."""
    zone: int = 0
    """Bytes of red zone around every buffer."""
    recompute: float = 0.0
    """How much more of the model's work may be done, in percent, to need less memory."""
    costs: Costs = field(default_factory=partial(cost.load, cost.USUAL))
    """What kernels take on the core: what fast is measured by."""
    say: Say = silent
    """Is told how the search gets on."""


class DoesNotFitError(Exception):
    """No plan was found within the budget."""

    def __init__(self, least: int) -> None:
        super().__init__(f"the least that was found is {least} bytes")
        self.least = least


def plan(graph: Graph, how: Lowering, goal: Goal | None = None) -> Plan:
    """The plan of a graph: see Goal. For --optimize size weights are coded, if that is worth the code that it takes."""
    goal = goal or Goal()
    found = _plan(graph, how, goal)
    if how.optimize == "size":
        coded = _plan(graph, replace(how, coded=True), goal)
        found = coded if _flash(coded) < _flash(found) else found
    check(found)
    return found


def _plan(graph: Graph, how: Lowering, goal: Goal) -> Plan:
    limited = goal.least or goal.pushed or goal.ram is not None
    again = goal.recompute > 0 and limited
    return _with_recomputation(graph, how, goal) if again else Planner(graph, how, goal).plan()


def _flash(found: Plan) -> int:
    """Bytes of constants, and of the code that expands those that are coded."""
    kernels = [steps[0].kernel for _, steps in found.works]
    coded = {k.name for k in kernels if k.coding is not None}
    code = DECODER * bool(coded) + DECODING * len(coded)
    return sum(k.constants for k in kernels) + code


def _with_recomputation(graph: Graph, how: Lowering, goal: Goal) -> Plan:
    """Compute more and more twice, as long as it makes the model smaller, until the plan fits or the allowance is
    spent."""
    planner = Planner(graph, how, goal)
    allowed = goal.recompute / 100 * sum(op.macs(graph) for op in graph.ops)
    while True:
        if not goal.least and goal.ram is not None and planner.peaks[0][0] <= goal.ram:
            with suppress(DoesNotFitError):
                return planner.plan()
        better = planner.recomputing(allowed)
        if better is None:
            return planner.plan()
        planner, spent = better
        allowed -= spent


@dataclass(frozen=True)
class Planner:
    graph: Graph
    how: Lowering
    goal: Goal
    keep_order: bool = False
    """The operators are in the order that is wanted."""
    planar: bool = True
    """Tensors may lie in other layouts than NHWC, which take more memory."""
    fast: bool = False
    """Rows are computed by the fastest kernels, whatever working memory they take."""
    grouped: bool = False
    """Kernels compute as many rows at once as they like."""

    def plan(self) -> Plan:
        found = self._plan()
        rate = self.rate
        choices = {
            id(op): options(self.costs, self.graph, op, steps[0], self.variants[id(op)], rate)
            for op, steps in found.works
            if id(op) in self.variants
        }
        return replace(found, prove=self.bound, choices=choices)

    def bound(self) -> int:
        """The bytes that no plan of the same work takes less than: with no row computed twice that is computed once,
        each operator's rows in one direction, and the least working memory that the kernels can do with."""
        bounds = []
        for side in self.leanest.sides:
            schedule = side.scheduler.cheapest(side.least)
            assert schedule is not None
            bounds.append(lower_bound(side.rows.unaligned(), schedule.nodes(side.rows)))
        return min(bounds)

    def _plan(self) -> Plan:
        goal = self.goal
        if goal.least or (goal.pushed and goal.ram is None):
            return self.leanest.smallest()
        if goal.small_steps and goal.ram is None:
            return self.sides[0].unlimited()
        if not goal.pushed and not goal.small_steps:
            layered = self._layered()
            if self.limit is None or (layered.ram <= self.limit and not self._slow(layered)):
                return layered
            if layered.ram <= self.limit:
                return min(layered, self.within(self.limit), key=self.estimate)
        assert self.limit is not None
        return self.within(self.limit)

    def recomputing(self, allowed: float) -> tuple[Planner, int] | None:
        """The planner of the same model with more layers computed twice, and what that costs: what lowers the peak
        most. Only what is live at the peak is worth it; where several blocks reach the peak, all of them together."""
        best: tuple[Planner, int] | None = None
        least, live = self.peaks
        chains: dict[int, list[Twice]] = {}
        for twice in candidates(self.graph):
            if twice.tensor in live:
                chains.setdefault(twice.tensor, []).append(twice)
        together = [[found[0] for found in chains.values()], [found[-1] for found in chains.values()]]
        for choice in [*together, *([twice] for found in chains.values() for twice in found)]:
            macs = sum(twice.macs(self.graph) for twice in choice)
            if choice and macs <= allowed:
                other = replace(self, graph=reduce(rewrite, choice, self.graph), keep_order=True)
                if other.peaks[0] < least:
                    best, least = (other, macs), other.peaks[0]
        return best

    @cached_property
    def peaks(self) -> tuple[tuple[int, int], set[int]]:
        """The least peak and how often it is reached; the tensors of which something is live then."""
        return min((side.peaks() for side in self.sides), key=lambda found: found[0])

    def smallest(self) -> Plan:
        """The least RAM that was found: top-down and bottom-up, whole operators where they cost nothing."""
        best = None if self.goal.pushed or self.goal.small_steps else self._layered()
        for side in sorted(self.sides, key=lambda side: side.least):
            if best is None or side.least < best.arena:
                best = min([side.smallest, *([best] if best else [])], key=lambda p: p.ram)
        assert best is not None
        for side in self.sides:
            if NEAR * side.least < best.arena:
                best = side.within(best.ram - 1) or best
        return self.with_room(best, best.arena)

    def within(self, ram: int) -> Plan:
        """The fastest plan that takes at most `ram` bytes."""
        found: list[Plan] = []
        enough = NEAR_FASTEST * self._fastest
        for side in self._ways():
            plan = side.within(ram)
            found += [] if plan is None else [plan]
            if plan is not None and self.estimate(plan) <= enough:
                break
        if found:
            return min(found, key=self.estimate)
        smallest = self.leanest.smallest()
        if smallest.ram > ram:
            raise DoesNotFitError(smallest.ram)
        return smallest

    @property
    def costs(self) -> Costs:
        return self.goal.costs

    def estimate(self, plan: Plan) -> float:
        """About what a plan takes on the core."""
        return estimate(self.costs, plan)

    @cached_property
    def _fastest(self) -> float:
        """What all operators take with the best kernels, whole."""
        return sum(self.costs.of(self.graph, op, self.best(op, True), True) for op in self.ops)

    def _slow(self, layered: Plan) -> bool:
        """Whether rows might be worth a look where operators could run whole: a budget keeps them from the kernels that
        they would have."""
        return self.goal.ram is not None and self.estimate(layered) > NEAR_FASTEST * self._fastest

    @cached_property
    def leanest(self) -> Planner:
        """The same with what takes the least memory."""
        lean = not (self.layouts or self.fast or self.grouped)
        return self if lean else replace(self, planar=False, fast=False, grouped=False)

    def _ways(self) -> list[_Side]:
        """Kernels and layouts that are fast, or take little memory; rows from the top or from the bottom."""
        fast = replace(self, fast=True, grouped=True)
        lean = self.leanest.sides if self.leanest is not self else []
        return [*self.sides, fast.sides[0], *lean]

    @cached_property
    def sides(self) -> list[_Side]:
        """Rows from the top, and where the input is all there, from the bottom as well."""
        return [_Side(self, bottom_up) for bottom_up in ((False,) if self.goal.pushed else (False, True))]

    @cached_property
    def layouts(self) -> dict[int, Layout]:
        return choose_layouts(self.graph, self.how) if self.planar else {}

    @cached_property
    def ops(self) -> list[Op]:
        ops = self.graph.ops if self.keep_order else order(self.graph)
        return [op for op in ops if not is_alias(self.graph, op)]

    @cached_property
    def rings(self) -> dict[int, Kernel]:
        """The windows (by tensor) that become ring buffers, and how: all who read them take rows wherever they lie, and
        that is less work than moving them."""
        found = {}
        for op in self.ops:
            ring = op.ring(self.graph) if isinstance(op, Window) else None
            if ring is not None and self._prefers_ring(op.output(self.graph)):
                found[op.outputs[0]] = ring
        return found

    def _prefers_ring(self, window: Tensor) -> bool:
        readers = self.graph.consumers.get(window.id, [])
        ways = [[self._cheapest_by_rows(op), self._cheapest(op)] for op in readers if not is_alias(self.graph, op)]
        if window.id in self.graph.outputs or len(ways) < len(readers):
            return False
        by_rows, whole = (sum(way[k] for way in ways) for k in (0, 1))
        return by_rows < whole + self.costs.sliding(window.nbytes)

    def _cheapest(self, op: Op) -> float:
        how = _for(op, self.how, self.layouts)
        return min(self.costs.of(self.graph, op, k, True) for k in op.kernels(self.graph, how))

    def _cheapest_by_rows(self, op: Op) -> float:
        """What a reader takes that finds the rows by pointers; infinite where it cannot."""
        how = _for(op, self.how, self.layouts)
        able = [k for k in op.kernels(self.graph, how) if _one_row(self.graph, op, k)]
        return min((self.costs.of(self.graph, op, k, False) for k in able), default=math.inf)

    def _reads_ring(self, op: Op) -> bool:
        return any(t in self.rings for _, t in op.computed(self.graph))

    @cached_property
    def variants(self) -> dict[int, list[Kernel]]:
        found = {id(op): op.kernels(self.graph, _for(op, self.how, self.layouts)) for op in self.ops}
        for op in self.ops:
            if op.outputs[0] in self.rings:
                found[id(op)] = [self.rings[op.outputs[0]]]
            elif self._reads_ring(op):
                found[id(op)] = [k for k in found[id(op)] if _one_row(self.graph, op, k)]
        if self.grouped:
            return found
        return {key: [replace(k, group=1) for k in kernels] for key, kernels in found.items()}

    @cached_property
    def rate(self) -> float:
        """How much a byte of constants has to save: more, where flash is short."""
        rate = RATES[self.how.optimize]
        while self.goal.flash is not None and rate < MOST_RATE and self._constants(rate) > self.goal.flash:
            rate = 1.5 * rate + 0.1
        return rate

    def _constants(self, rate: float) -> int:
        """Bytes of constants if each operator has the kernel that is best at a rate."""
        return sum(
            min(self.variants[id(op)], key=lambda k: self._price(op, k, True, rate)).constants for op in self.ops
        )

    @cached_property
    def lean(self) -> dict[int, Kernel]:
        """The kernels with the least working memory, and of those the best."""
        if self.fast:
            return {id(op): self.best(op, True) for op in self.ops}
        return {
            id(op): min(self.variants[id(op)], key=lambda k: (k.scratch or 0, self._price(op, k, True)))
            for op in self.ops
        }

    def best(self, op: Op, whole: bool, room: int | None = None) -> Kernel:
        """The best kernel with at most `room` bytes of working memory."""
        found = [k for k in self.variants[id(op)] if room is None or aligned(k.scratch or 0) <= room]
        able = [k for k in found if whole or (k.call is not Call.WHOLE and (self.grouped or k.tile[0] == 1))]
        return min(able or found or self.variants[id(op)], key=lambda k: self._price(op, k, whole))

    def _price(self, op: Op, kernel: Kernel, whole: bool, rate: float | None = None) -> float:
        rate = self.rate if rate is None else rate
        taken = self.costs.of(self.graph, op, kernel, whole)
        if (
            kernel.coding is not None
            and rate <= RATES[self.how.optimize]
            and taken > MOST_DECODING * self._plain[id(op)]
        ):
            return math.inf
        return taken + rate * kernel.constants

    @cached_property
    def _plain(self) -> dict[int, float]:
        """What each operator takes with weights that are not coded."""
        return {
            id(op): min(self.costs.of(self.graph, op, k, True) for k in self.variants[id(op)] if k.coding is None)
            for op in self.ops
        }

    @cached_property
    def by_rows(self) -> dict[int, Kernel]:
        """The kernels for rows: running sums where an operator has one output row of several."""
        found = {id(op): self.best(op, False) for op in self.ops} if self.fast else dict(self.lean)
        for op in self.ops:
            if self._reads_ring(op):
                continue
            if op.activations(self.graph) and row_count(op.output(self.graph).shape) == 1 < row_count(
                op.activations(self.graph)[0].shape
            ):
                found[id(op)] = op.lower(self.graph, _for(op, replace(self.how, adds=True), self.layouts))
        return found

    def rows(self, bottom_up: bool = False) -> RowGraph:
        return build(
            self.graph,
            self.ops,
            lambda op: self.lean[id(op)],
            lambda op: self.by_rows[id(op)],
            self.layouts,
            rings=frozenset(self.rings),
            pushed=self.goal.pushed,
            bottom_up=bottom_up,
            most=UNLIMITED if self.goal.small_steps or self.goal.zone else TALL,
        )

    def kernel(self, op: Op, whole: bool) -> Kernel:
        if isinstance(op, Arrival):
            return op.kernel
        return (self.lean if whole else self.by_rows)[id(op)]

    def _layered(self) -> Plan:
        """Every operator whole; faster kernels that need more working memory as far as they fit."""
        lean = self._lean_layered
        limit = None if self.limit is None else max(lean.arena, self.limit - lean.static)
        return self.with_room(lean, limit)

    @cached_property
    def _lean_layered(self) -> Plan:
        rows = self.rows()
        return arrange(rows, layered(rows), self.kernel, zone=self.goal.zone)

    @cached_property
    def limit(self) -> int | None:
        """The bytes of RAM that a plan may take. Without a budget it is what layer by layer takes in the leanest
        layout, and a little more; --optimize speed takes what it likes."""
        if self.goal.ram is not None or self.how.optimize == "speed":
            return self.goal.ram
        lean = self.leanest._lean_layered
        return max(lean.ram, _with_little(max(_bare(lean.rows, lean.schedule), default=0)) + lean.static)

    def with_room(self, lean: Plan, limit: int | None) -> Plan:
        """The plan with the best kernels whose working memory an arena of `limit` bytes holds."""
        rows, schedule = lean.rows, lean.schedule
        live = _bare(rows, schedule)
        chosen = self._choose(rows, schedule, live, limit)

        def kernel_of(op: Op, whole: bool) -> Kernel:
            return chosen.get(id(op)) or self.kernel(op, whole)

        for _ in range(ROOM_ROUNDS):
            if not chosen:
                break
            kernels = [kernel_of(rows.works[run.node.op].op, run.whole) for run in schedule.runs]
            peak = max(n + (k.scratch or 0) for n, k in zip(live, kernels, strict=True))
            found = arrange(rows, replace(schedule, peak=peak), kernel_of, bottom_up=lean.bottom_up, zone=lean.zone)
            if limit is None or found.arena <= limit:
                return found
            above = {id(s.op) for s in found.steps if (s.scratch or 0) + (s.kernel.scratch or 0) > limit}
            chosen = {key: k for key, k in chosen.items() if above & set(chosen) and key not in above}
        return lean

    def _choose(self, rows: RowGraph, schedule: Schedule, live: list[int], limit: int | None) -> dict[int, Kernel]:
        """The best kernels of operators that fit beside what is live."""
        most: dict[int, int] = {}
        ways: dict[int, bool] = {}
        for run, nbytes in zip(schedule.runs, live, strict=True):
            most[run.node.op] = max(most.get(run.node.op, 0), nbytes)
            ways[run.node.op] = run.whole
        found = {}
        for i, nbytes in most.items():
            op = rows.works[i].op
            if not isinstance(op, Arrival) and self.kernel(op, ways[i]).call is not Call.ADDS:
                found[id(op)] = self.best(op, ways[i], None if limit is None else limit - nbytes)
        return found


@dataclass(frozen=True)
class _Side:
    """The plans with rows in one direction."""

    planner: Planner
    bottom_up: bool

    @cached_property
    def rows(self) -> RowGraph:
        return self.planner.rows(self.bottom_up)

    @cached_property
    def scheduler(self) -> Scheduler:
        goal = self.planner.goal
        return Scheduler(self.rows, goal.costs, whole=not goal.small_steps, say=goal.say)

    @cached_property
    def least(self) -> int:
        """The least peak that was found."""
        if self.planner.fast:
            return self.scheduler.least_peak()
        nodes = sum(len(work.by_rows) for work in self.rows.works)
        return self.scheduler.improve(Effort(EFFORT * nodes))

    def peaks(self) -> tuple[tuple[int, int], set[int]]:
        """The least peak and how often it is reached; the tensors of which something is live then."""
        schedule = self.scheduler.cheapest(self.scheduler.least_peak())
        assert schedule is not None
        during = schedule.during(self.rows)
        state = State.start(self.rows)
        made = set(self.rows.resident)
        found: set[int] = set()
        for run, nbytes in zip(schedule.runs, during, strict=True):
            made.update(run.node.writes)
            if nbytes == schedule.peak:
                found |= {t for r in made if state.left[r] for t in self.rows.stores[self.rows.store_of[r]].tensors}
            state.run(self.rows, run.node)
        return (schedule.peak, during.count(schedule.peak)), found

    @cached_property
    def smallest(self) -> Plan:
        """The smallest arena; where whole operators make it larger, fewer of them."""
        best: Plan | None = None
        for share in WHOLE_SHARES:
            schedule = self.scheduler.cheapest(self.least, int(share * self.least))
            if schedule is None or (best is not None and schedule.runs == best.schedule.runs):
                continue
            best = min([self._arrange(schedule), *([best] if best else [])], key=lambda p: p.ram)
            if best.arena <= NEAR * self.least:
                break
        assert best is not None
        return best

    def unlimited(self) -> Plan:
        """One operator after another, each by rows."""
        schedule = self.scheduler.cheapest(UNLIMITED)
        assert schedule is not None
        lean = self._arrange(schedule)
        room = None if self.planner.how.optimize == "speed" else _with_little(lean.arena)
        return self.planner.with_room(lean, room)

    def within(self, ram: int) -> Plan | None:
        """The least extra work that was found to fit: memory may be spent on whole operators, or left to kernels that
        are faster with more of it."""
        planner = self.planner
        rooms = sorted({0, *(planner.best(op, True).scratch or 0 for op in planner.ops)})
        limits = dict.fromkeys(max(ram - room, self.least) for room in (0, rooms[len(rooms) // 2], rooms[-1]))
        found = [p for limit in limits if (p := self._fitting(ram, limit)) is not None]
        return min(found, key=planner.estimate, default=None)

    def _fitting(self, ram: int, limit: int) -> Plan | None:
        """A plan within `ram` bytes, whose lean kernels take no more than `limit`."""
        for _ in range(NARROWER):
            if limit < self.least:
                break
            schedule = self.scheduler.cheapest(limit)
            assert schedule is not None
            lean = self._arrange(schedule)
            if lean.ram <= ram:
                return self.planner.with_room(lean, ram - lean.static)
            limit = max(min(limit, schedule.peak) - (lean.ram - ram), min(limit - 1, self.least))
        return self.smallest if self.smallest.ram <= ram else None

    def _arrange(self, schedule: Schedule) -> Plan:
        planner = self.planner
        return arrange(self.rows, schedule, planner.kernel, bottom_up=self.bottom_up, zone=planner.goal.zone)


def layered(rows: RowGraph) -> Schedule:
    """One operator after another."""
    parts = (
        [Run(w.whole, True)] if w.whole is not None else [Run(node, False) for node in w.by_rows] for w in rows.works
    )
    schedule = Schedule(tuple(run for part in parts for run in part), 0)
    return replace(schedule, peak=max([rows.prefixes[0].live, *schedule.during(rows)]))


def _with_little(nbytes: int) -> int:
    return nbytes + max(LITTLE_ROOM, int(LITTLE_SHARE * nbytes))


def _bare(rows: RowGraph, schedule: Schedule) -> list[int]:
    """The bytes of rows that are live at each run, without working memory."""
    return [live - run.node.scratch for live, run in zip(schedule.during(rows), schedule.runs, strict=True)]


def choose_layouts(graph: Graph, how: Lowering) -> dict[int, Layout]:
    """The tensors that are not kept in NHWC: every reader would rather have another layout, and the writer can
    write it. The model's inputs and outputs stay as they are."""
    layouts = {}
    for op in graph.ops:
        out = op.outputs[0]
        readers = graph.consumers.get(out, [])
        wanted = {r.preferred(graph, how) if r.inputs[0] == out else None for r in readers}
        if len(wanted) == 1 and out not in graph.outputs:
            (layout,) = wanted
            if layout is not None and op.writes(graph, how, layout):
                layouts[out] = layout
    return layouts


def _one_row(graph: Graph, op: Op, kernel: Kernel) -> bool:
    """Whether a kernel computes just one output row from rows wherever they lie."""
    return kernel.tile[0] == 1 and takes_rows(graph, op, kernel)


def _for(op: Op, how: Lowering, layouts: dict[int, Layout]) -> Lowering:
    reads = layouts.get(op.inputs[0], Layout.NHWC) if op.inputs else Layout.NHWC
    return replace(how, reads=reads, writes=layouts.get(op.outputs[0], Layout.NHWC))
