"""Graph -> Plan: searches the Pareto front of RAM, flash and latency for the plan that meets the goal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from heapq import heappop, heappush
from itertools import count

from mote.base.progress import Say, silent
from mote.compiler.kernels.catalogue import KERNELS
from mote.compiler.kernels.contract import Packed
from mote.compiler.kernels.cost import Costs
from mote.compiler.offload.contract import Offload
from mote.compiler.plan.check import check
from mote.compiler.plan.control import with_bodies
from mote.compiler.plan.goal import DoesNotFitError, Goal, TooSlowError
from mote.compiler.plan.memory.layout import Draft
from mote.compiler.plan.memory.several_memories import UnreachableError, plan_over, room, spread
from mote.compiler.plan.memory.traffic import waits
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.scheduling.frontier import UNLIMITED, Lane, Limit, PlanFront, Sketch, rung_above, rung_below
from mote.compiler.plan.scheduling.recompute import Twice, candidates, rewrite
from mote.compiler.plan.scheduling.rows import shifted_groups
from mote.compiler.plan.scheduling.schedule import Scheduler
from mote.compiler.plan.scheduling.strategies import NEAR, Side, with_room
from mote.compiler.plan.selection.code_size_model import flash
from mote.compiler.plan.selection.cores import centred
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.external import with_external
from mote.compiler.plan.selection.pins import pinned
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.plan.selection.select import (
    APART,
    LEAN,
    MOST_RATE,
    RATES,
    ROOMY,
    SMALLEST,
    Offers,
    PinError,
    Selection,
    Way,
    offers,
    ordered,
)
from mote.hardware.targets import Memory
from mote.ir.graph import Graph

KNEE = 1.03
"""Maximum slowdown of the knee against the fastest plan of equal flash."""
SLOWER = 1.10
"""Maximum slowdown of a plan that also saves flash, against the fastest plan."""
WORTH = 1.05
"""Maximum increase of the weighted sum of latency and flash, against the best plan."""
DEAR = 4
"""RAM-for-time exchange rate: a plan with less flash that is 1% slower must save 4% RAM."""
KNEE_TRIES = 8
"""Number of candidates for the knee that are placed in the arena, to compare their RAM with fragmentation."""
FUSED = (Way(fused=True), Way(layouts=False, fused=True))
"""Selections with forced fusion, which take less RAM where they differ from the others."""
BOTH_WAYS = 1_500
"""Maximum number of nodes by rows for which bottom-up plans are searched with all kernels; in larger models only with
lean ones."""
MOST_ROOMS = 6
"""Maximum number of limits of the RAM of external regions for which plans are searched."""
FLASH_STEP, FLASH_STEPS = 1.1, 16
"""Price increase of flash from one plan to the next on the flash curve, and the number of plans."""
MOST_CONFLICTS = 3
"""Conflicts of external kernels about memories of which all ways out are tried."""
RATE_STEP = 2.0
"""Price increase of flash from one attempt to fit a budget to the next."""


def plan(
    graph: Graph,
    how: Lowering,
    goal: Goal | None = None,
    memories: Sequence[Memory] = (),
    say: Say = silent,
    offload: Offload | None = None,
) -> Plan:
    """The plan of a graph for a goal (see Goal), checked. With several memories it is spread over them; `offload` adds
    the kernels of external generators, of which those are taken that reach the tensors between them."""
    goal = goal or Goal()
    return _reachable(graph, _priced(how, goal.costs), goal, memories, say, offload, frozenset())


def _priced(how: Lowering, costs: Costs) -> Lowering:
    """Conditions that rule out kernels whose costs nobody has measured on the core yet, as in a checkout with a new
    one: plans of other models stay what they are. A user's own table must have all."""
    kernels = [k for k in KERNELS if len(k.computes) == 1 and not k.coded and k.on(how.features)]
    if costs.own or how.fixed is not None or all((k.costs or k.name) in costs.families for k in kernels):
        return how
    return replace(how, priced=frozenset(costs.families))


def _reachable(
    graph: Graph,
    how: Lowering,
    goal: Goal,
    memories: Sequence[Memory],
    say: Say,
    offload: Offload | None,
    omitted: frozenset[Packed],
) -> Plan:
    """The plan without some kernels of external generators. Where no memory is left for a tensor between others, the
    best of the plans that omit one of these; after a few conflicts the first that there is."""
    try:
        return _planned(graph, how, goal, memories, say, with_external(offers(ordered(graph)), offload, omitted))
    except UnreachableError as error:
        plans: list[Plan] = []
        for kernel in error.kernels:
            if not plans or len(omitted) < MOST_CONFLICTS:
                with suppress(PinError, UnreachableError):
                    plans.append(_reachable(graph, how, goal, memories, say, offload, omitted | {kernel}))
        if not plans:
            raise
        return min(plans, key=_with_waits)


def _planned(graph: Graph, how: Lowering, wanted: Goal, memories: Sequence[Memory], say: Say, external: Offers) -> Plan:
    known = pinned(with_bodies(external, wanted, plan), wanted.pins, how, wanted.cores)

    def make(goal: Goal) -> Draft:
        return draft(known, how, goal, say)

    result = plan_over(memories, wanted, make) if memories else make(wanted).plan
    if memories and not wanted.least and waits(result):
        result = min([result, *_in_fast_memory(memories, wanted, make)], key=_with_waits)
    result = centred(result) if wanted.cores > 1 else result
    check(result)
    return replace(result, goal=wanted)


def _in_fast_memory(memories: Sequence[Memory], goal: Goal, make: Callable[[Goal], Draft]) -> list[Plan]:
    """The plan that leaves the memories behind the first one alone, if there is one."""
    limit = room(memories[0]) if goal.ram is None else min(room(memories[0]), goal.ram)
    with suppress(DoesNotFitError, TooSlowError):
        return [spread(make(replace(goal, ram=limit, spend=True)), memories)]
    return []


def _with_waits(plan: Plan) -> float:
    """The estimated cost of a plan, with the waits for RAM."""
    return estimate(plan.goal.costs, plan) + waits(plan)


def draft(known: Offers, how: Lowering, goal: Goal, say: Say = silent) -> Draft:
    """The plan for one memory. With --optimize size it has compressed weights, if these save more flash than their
    decoders take."""
    best = _draft(_planner(known, how, replace(goal, loads=_loads(how, goal)), say))
    if how.optimize is Policy.SIZE:
        coded = _draft(_planner(known, replace(how, coded=True), goal, say))
        best = min((best, coded), key=partial(_smaller, goal))
    return best


def _loads(how: Lowering, goal: Goal) -> bool:
    """Whether constants may be copied to RAM before a layer, where flash is waited for: RAM may be spent on speed, or
    there is a time limit. Images and encrypted constants have other means, and two cores would wait for the copy."""
    elsewhere = how.sealed or how.copied or how.fixed is not None or goal.cores > 1
    if not goal.costs.memory.waits or elsewhere or how.optimize is Policy.SIZE or goal.least or goal.pushed:
        return False
    spends = how.optimize is Policy.SPEED or (goal.ram is not None and goal.spend)
    return spends or goal.most_cost is not None


def _smaller(goal: Goal, draft: Draft) -> float:
    """Estimated flash of a plan, and within the flash budget its time, as the bytes that it is worth."""
    nbytes = _flash(draft.plan)
    over = goal.flash is not None and nbytes > goal.flash
    return nbytes if over else nbytes + estimate(goal.costs, draft.plan) / SMALLEST


def _planner(known: Offers, how: Lowering, goal: Goal, say: Say) -> Planner:
    """The planner for a goal; selections and fronts that do not depend on the budgets are shared with other goals."""
    if goal.recompute:
        return Planner(known, how, goal, say)
    unlimited = replace(goal, ram=None, spend=True, most_cost=None, least=False)
    prepared = known.prepared(Planner(known, how, unlimited, say))
    return replace(prepared, goal=goal, _fronts={})


def _draft(planner: Planner) -> Draft:
    """The plan of a planner. Where memory or time is limited and external generators have regions, it is also planned
    without these, since whole tensors may not be placed as well as rows are; the better plan is taken."""
    goal = planner.goal
    limited = goal.least or goal.pushed or goal.ram is not None
    make = _with_recomputation if goal.recompute > 0 and limited else Planner.draft
    if planner.alone or not (limited or goal.most_cost is not None) or not planner.external:
        return make(planner)
    drafts: list[Draft] = []
    errors: list[DoesNotFitError | TooSlowError] = []
    for each in (planner, replace(planner, alone=True, _selections={}, _sides={}, _prepared={}, _fronts={})):
        try:
            drafts.append(make(each))
        except (DoesNotFitError, TooSlowError) as error:
            errors.append(error)
        if drafts and not goal.spend and not goal.least and goal.most_cost is None:
            break
    if not drafts:
        raise min(errors, key=lambda error: error.least if isinstance(error, DoesNotFitError) else error.taken)
    return min(drafts, key=partial(_by_goal, planner))


def _by_goal(planner: Planner, draft: Draft) -> tuple[float, float]:
    """The measures of a limited plan: the first is minimized, the second decides between equals."""
    goal, cost = planner.goal, estimate(planner.goal.costs, draft.plan)
    spends = goal.ram is not None and goal.spend
    if goal.least or goal.most_cost is not None or (goal.pushed and not spends):
        return draft.plan.ram, cost
    return (_smaller(planner.goal, draft) if planner.how.optimize is Policy.SIZE else cost), draft.plan.ram


def _flash(candidate: Plan) -> float:
    """Estimated flash of a plan, in bytes."""
    return flash(steps[0].kernel for _, steps in candidate.works)


@dataclass(frozen=True)
class Planner:
    """Searches the plans of a graph for one goal; selections, sides and fronts are memoized."""

    offers: Offers
    how: Lowering
    goal: Goal
    say: Say = silent
    alone: bool = False
    """Whether only kernels of the core compute several operators at once, unless others are pinned."""
    _selections: dict[Way, Selection] = field(default_factory=dict, compare=False)
    _sides: dict[tuple[Way, bool], Side] = field(default_factory=dict, compare=False)
    _prepared: dict[tuple[bool, bool], PlanFront] = field(default_factory=dict, compare=False)
    """Pareto fronts, by (bottom_up, searched), shared by all goals."""
    _fronts: dict[tuple[bool, bool], PlanFront] = field(default_factory=dict, compare=False)
    """Copies of the fronts with the placed plans of this goal."""

    def selection(self, way: Way) -> Selection:
        """The selection of a way. LEAN equals ROOMY if no tensor is planar and no operators are fused."""
        room = None if not self.external else 0 if self.alone else way.room
        roomy = replace(ROOMY, room=room)
        if self.how.optimize is Policy.SIZE:
            way = LEAN
        elif way == LEAN and self.selection(roomy).simple:
            way = roomy
        way = replace(way, room=room)
        if way not in self._selections:
            self._selections[way] = Selection(self.offers, self.how, self.goal, way)
        return self._selections[way]

    def side(self, way: Way, bottom_up: bool = False) -> Side:
        """The plans of a way with rows in one direction."""
        selection = self.selection(way)
        key = selection.way, bottom_up
        if key not in self._sides:
            self._sides[key] = Side(selection, self.goal, bottom_up, self.say)
        return self._sides[key]

    @property
    def directions(self) -> tuple[bool, ...]:
        """Possible values of `bottom_up`: input rows that the caller hands over arrive top-down only."""
        return (False,) if self.goal.pushed else (False, True)

    @cached_property
    def fronts(self) -> tuple[bool, ...]:
        """Values of `bottom_up` for which Pareto fronts are computed."""
        return self.directions if self.side(LEAN).scheduler.nodes_by_rows <= BOTH_WAYS else (False,)

    def front(self, bottom_up: bool = False, searched: bool = True) -> PlanFront:
        """The Pareto front of plans with rows in one direction; `searched`: including orders of the exact search."""
        key = bottom_up, searched
        if key not in self._prepared:
            lean = self.side(LEAN, bottom_up)
            least = lean.least if searched else 0
            lanes = [self._lane(way, bottom_up, lean.scheduler if searched else None) for way in self._ways]
            self._prepared[key] = PlanFront(lanes, bottom_up, least)
        if key not in self._fronts:
            self._fronts[key] = replace(self._prepared[key], _drafts={})
        return self._fronts[key]

    @cached_property
    def _ways(self) -> list[Way]:
        """The ways with distinct selections, one lane each."""
        selection = self.selection(ROOMY)
        if self.how.optimize is Policy.SIZE:
            return self._distinct([replace(LEAN, room=room) for room in self._rooms])
        groups = {k.entry.group for ops in selection.ops for k in selection.offered(ops)}
        ways = [ROOMY, *(Way(group=n) for n in sorted(groups) if n > 1)]
        ways += [replace(way, shifted=True) for way in ways[1:] if self._shifts(way)]
        fused = [
            way
            for way in FUSED
            if self.selection(way).ops.keys() != self.selection(replace(way, fused=False)).ops.keys()
        ]
        apart = [APART] if self.selection(APART).ops.keys() != selection.ops.keys() else []
        ways = [*ways, *fused] if selection.simple else [*ways, LEAN, *apart, *fused]
        between = [replace(way, room=room) for room in self._rooms for way in (ROOMY, LEAN)]
        return self._distinct([*ways, *between]) if self.external else ways

    def _distinct(self, ways: Iterable[Way]) -> list[Way]:
        """The ways without those that select what one before them does."""
        kept: dict[tuple[object, ...], Way] = {}
        for way in ways:
            selection = self.selection(way)
            same = replace(way, room=None, layouts=True), tuple(selection.ops), tuple(selection.layouts.items())
            kept.setdefault(same, way)
        return list(kept.values())

    @cached_property
    def external(self) -> list[int]:
        """The RAM that regions of external generators take, in ascending order."""
        if not self.offers.claimed():
            return []
        selection = Selection(self.offers, self.how, self.goal, ROOMY)
        sizes = {selection.region_bytes(ops) for ops in self.offers.regions(self.how)}
        return sorted(size for size in sizes if size is not None)

    @property
    def _rooms(self) -> list[int | None]:
        """Limits of the RAM of external regions, a lane for each: a region that takes more than the budget may overlap
        with smaller ones."""
        if self.alone or not self.external:
            return [None]
        step = -(-len(self.external) // MOST_ROOMS)
        return [None, *self.external[::-1][step::step], 0]

    def _shifts(self, way: Way) -> bool:
        """Whether groups of rows could be shifted; images have groups that begin with row 0."""
        selection = self.selection(way)
        by_rows, ops = selection.by_rows, tuple(selection.ops)
        return self.how.fixed is None and any(
            shifted_groups(selection.graph, ops, by_rows.__getitem__, bottom_up=bottom_up) for bottom_up in self.fronts
        )

    def _lane(self, way: Way, bottom_up: bool, searched: Scheduler | None) -> Lane:
        scheduler = self.side(way, bottom_up).scheduler
        lean = self.selection(way) is self.selection(LEAN)
        return Lane(self.selection(way), scheduler.lane(searched if lean else None))

    def draft(self) -> Draft:
        """The plan for the goal, with the reasons for its kernels."""
        draft = self._draft()
        choices = [self.selection(way).choices(draft.plan) for way in (LEAN, ROOMY)]
        return replace(draft, plan=replace(draft.plan, choices={**choices[0], **choices[1]}))

    def _draft(self) -> Draft:
        ram = self.goal.ram
        if self.goal.most_cost is not None:
            return self.meeting(self.goal.most_cost)
        if self.goal.least:
            return self.smallest
        if ram is not None and self.goal.spend:
            return self.within(ram)
        draft = self._unlimited()
        return draft if ram is None or draft.plan.ram <= ram else self.within(ram)

    def _unlimited(self) -> Draft:
        """The plan without a RAM budget, by the policy of --optimize."""
        if self.goal.pushed:
            return self.smallest
        if self.how.optimize is Policy.BALANCED:
            return self.knee()
        return self.within(None)

    @property
    def _policies(self) -> int:
        """Number of rates that belong to policies whose plans must not be faster than the result."""
        return sum(rate <= RATES[Policy.BALANCED] for rate in self.rates)

    @cached_property
    def rates(self) -> list[float]:
        """Exchange rates of flash in cycles per byte: those of the policies, then increasing ones for tight flash
        budgets."""
        least = min(RATES.values()) if self.goal.most_cost is not None else RATES[self.how.optimize]
        rates = sorted(rate for rate in RATES.values() if rate >= least)
        while rates[-1] < MOST_RATE:
            rates.append(RATE_STEP * rates[-1])
        return rates

    def knee(self) -> Draft:
        """The knee of the Pareto front: least RAM among plans whose latency is close to the fastest of equal flash, and
        whose weighted sum of latency and flash is close to the best."""
        fronts = [self.front(bottom_up, searched=False) for bottom_up in self.fronts]
        sketches = [
            (front, sketch) for front in fronts for sketch in self._valuable(front) if self._hardly_costs(sketch)
        ]
        if not sketches:
            return self.within(None)
        sketches.sort(key=lambda candidate: (candidate[1].peak, candidate[1].cost))
        drafts = [sketches[0][0].placed(sketches[0][1])]
        for front, sketch in sketches[:KNEE_TRIES]:
            if sketch.peak < min(d.plan.arena for d in drafts):
                drafts += self._placed(front, sketch)
        return min(drafts, key=self._dear)

    def _valuable(self, front: PlanFront) -> Iterator[Sketch]:
        """Plans with decreasing peak memory, until the weighted sum of latency and flash is too far from the best: it
        only grows from there. If flash is over budget at the policy's rate, that sum does not count."""
        for limit in front.rungs(self._rate, UNLIMITED):
            sketch = front.within(limit, self._rate)
            if sketch is None or (self._rate == self.rates[0] and not self._is_worth(sketch)):
                return
            yield sketch

    def _dear(self, draft: Draft) -> float:
        """RAM in bytes, with a penalty if the plan is slower than one with more flash (see DEAR)."""
        fastest = self._fastest[0][0]
        if not fastest:  # a branch or a loop whose body does nothing
            return draft.plan.ram
        longer = estimate(self.goal.costs, draft.plan) / (KNEE * fastest)
        return draft.plan.ram * max(longer, 1.0) ** DEAR

    def _placed(self, front: PlanFront, sketch: Sketch) -> Iterator[Draft]:
        """The plan of a sketch; if its arena is fragmented, also alternatives of about the same cost."""
        draft = front.placed(sketch)
        yield draft
        for limit in front.looser(sketch) if draft.plan.arena > NEAR * sketch.peak else ():
            other = front.within(limit, self._rate)
            if draft.plan.arena > NEAR * sketch.peak and other is not None and self._hardly_costs(other):
                draft = front.placed(other)
                yield draft

    def _hardly_costs(self, sketch: Sketch) -> bool:
        """Whether latency is close to the fastest plan of equal flash, and the weighted sum of latency and flash close
        to the best."""
        (cost, _), *_ = self._fastest
        same_flash = [cost for cost, nbytes in self._fastest if nbytes <= sketch.constants]
        hardly_slower = sketch.cost <= min(KNEE * min(same_flash, default=self._usual), SLOWER * cost)
        return hardly_slower and self._is_worth(sketch)

    def _is_worth(self, sketch: Sketch) -> bool:
        """Whether the weighted sum of latency and flash is close to the best."""
        (cost, constants), *_ = self._fastest
        worth, most = (c + self._rate * n for c, n in ((sketch.cost, sketch.constants), (cost, constants)))
        return worth <= WORTH * most

    @cached_property
    def _fastest(self) -> list[tuple[float, int]]:
        """Latency and bytes of constants of the fastest kernels without a RAM budget, at the current and at increasing
        exchange rates of flash."""
        lane = self.front(searched=False).lanes[0]
        return [lane.fastest(self._rate * FLASH_STEP**k) for k in range(FLASH_STEPS)]

    @cached_property
    def _usual(self) -> float:
        """Latency of the plan without a RAM budget, at least that of the fastest kernels: it may have less flash than
        these have at any of their exchange rates."""
        sketch = self.front(searched=False).within(Limit(UNLIMITED), self._rate)
        return max([self._fastest[0][0], *([sketch.cost] if sketch is not None else [])])

    @cached_property
    def _rate(self) -> float:
        """The lowest exchange rate of flash at which the plan without a RAM budget meets the flash budget."""
        front = self.front(searched=False)
        return next((r for r in self.rates if self._flashes(front.within(Limit(UNLIMITED), r))), self.rates[-1])

    def _flashes(self, sketch: Sketch | None) -> bool:
        """Whether a plan meets the flash budget."""
        return sketch is not None and (self.goal.flash is None or sketch.flash <= self.goal.flash)

    def meeting(self, cost: float) -> Draft:
        """The plan with least RAM, then least flash, within a latency budget."""
        ram = UNLIMITED if self.goal.ram is None else self.goal.ram
        if self._lean.plan.ram <= ram and estimate(self.goal.costs, self.smallest.plan) <= cost:
            return self.smallest
        sketches = [
            (front, sketch, limit)
            for front in (self.front(bottom_up) for bottom_up in self.fronts)
            for limit in (*front.rungs(self.rates[0], ram), *front.last_rungs())
            if (sketch := self._within_flash(front, limit)) is not None and sketch.cost <= cost
        ]
        best: tuple[int, PlanFront, Limit] | None = None
        for front, sketch, limit in sorted(sketches, key=lambda candidate: candidate[1].peak):
            if self._may_fit(limit, sketch, ram if best is None else best[0] - 1):
                taken = front.ram(sketch)
                if taken <= ram and (best is None or taken < best[0]):
                    best = taken, front, limit
        if best is None:
            raise TooSlowError(estimate(self.goal.costs, self.within(self.goal.ram).plan))
        return self._leaner(cost, *best)

    def _within_flash(self, front: PlanFront, limit: Limit) -> Sketch | None:
        """The fastest plan within a limit that meets the flash budget."""
        sketches = (front.within(limit, rate) for rate in self.rates)
        return next((sketch for sketch in sketches if self._flashes(sketch)), None)

    def _leaner(self, cost: float, ram: int, front: PlanFront, limit: Limit) -> Draft:
        """The plan with least flash within this RAM and latency."""
        for rate in reversed(self.rates):
            sketch = front.within(limit, rate)
            if sketch is not None and sketch.cost <= cost and self._flashes(sketch) and front.ram(sketch) <= ram:
                return front.placed(sketch)
        raise AssertionError("one of them has been found")

    def within(self, ram: int | None) -> Draft:
        """The fastest plan within a RAM budget. It never gets slower with a larger budget: every plan for a smaller one
        is among the candidates, and all cheaper candidates do not fit."""
        cheapest = self._cheapest(ram)
        if ram is None:
            return cheapest[1] if cheapest is not None else self._least_flash()
        if cheapest is not None and cheapest[0] <= self._least_lean_cost(ram):
            return cheapest[1]
        smallest = self._lean
        if smallest.plan.ram <= ram:
            faster = cheapest is None or estimate(self.goal.costs, smallest.plan) < cheapest[0]
            enough = cheapest is None or self.goal.flash is None or _flash(smallest.plan) <= self.goal.flash
            return smallest if (faster and enough) or cheapest is None else cheapest[1]
        if cheapest is None:
            raise DoesNotFitError(self.smallest.plan.ram)
        return cheapest[1]

    def _least_flash(self) -> Draft:
        """The plan with the least flash, where no plan meets the flash budget."""
        front = self.front(searched=False)
        sketch = front.within(Limit(UNLIMITED), self.rates[-1])
        assert sketch is not None
        return front.placed(sketch)

    def _least_lean_cost(self, ram: int) -> float:
        """A lower bound for the cost of plans of lean kernels within `ram` bytes."""
        sides = {b: self.side(LEAN, b) for b in self.directions}
        orders = (side.scheduler if b in self.fronts else side.unsearched for b, side in sides.items())
        lanes = [Lane(self.selection(LEAN), scheduler) for scheduler in orders]
        sketches = [PlanFront([lane], False, 0).within(Limit(rung_above(ram)), 0.0) for lane in lanes]
        return min((sketch.cost for sketch in sketches if sketch is not None), default=0.0)

    def _cheapest(self, ram: int | None) -> tuple[float, Draft] | None:
        """The cheapest plan on the Pareto fronts that fits the budgets, and its cost; best-first search."""
        queue: list[tuple[float, int, Candidate]] = []
        known: set[tuple[object, ...]] = set()

        def push(front: PlanFront, limits: Iterable[Limit], rate: int) -> None:
            for limit in limits:
                sketch = front.within(limit, self.rates[rate])
                if sketch is not None:
                    heappush(queue, (sketch.cost, next(count_), Candidate(front, sketch, limit, rate)))

        count_ = count()
        most = UNLIMITED if ram is None else ram
        for bottom_up in self.fronts if ram is not None else (False,):
            front = self.front(bottom_up, searched=ram is not None)
            push(front, front.rungs(self.rates[0], most), 0)
            push(front, front.last_rungs() if ram is not None else (), 0)
        while queue:
            cost, _, candidate = heappop(queue)
            front, sketch = candidate.front, candidate.sketch
            if self._flashes(sketch) and self._may_fit(candidate.limit, sketch, most) and sketch.memory not in known:
                if front.ram(sketch) <= most:
                    return cost, front.placed(sketch)
                known.add(sketch.memory)
            others = self._policies if self._flashes(sketch) else len(self.rates)
            if candidate.rate + 1 < others:
                rate, limit = candidate.rate + 1, candidate.limit
                below = rung_below(sketch.peak)
                limits = (
                    [limit]
                    if limit.few or limit.whole < UNLIMITED
                    else front.rungs(self.rates[rate], limit.nbytes, below)
                )
                push(front, limits, rate)
        return None

    @staticmethod
    def _may_fit(limit: Limit, sketch: Sketch, ram: int) -> bool:
        return sketch.peak <= ram or limit.nbytes == UNLIMITED

    @cached_property
    def smallest(self) -> Draft:
        """The fastest of the plans with the least known RAM."""
        least, costs = self._lean, self.goal.costs
        drafts = [(least.plan.ram, estimate(costs, least.plan), least)]
        for front in (self.front(bottom_up) for bottom_up in self.fronts):
            for limit in (*front.last_rungs(), *front.rungs(self._rate, least.plan.ram)):
                sketch = front.within(limit, self._rate)
                if sketch is not None and self._may_fit(limit, sketch, min(drafts, key=_ram_first)[0] - 1):
                    drafts.append((front.ram(sketch), sketch.cost, front.placed(sketch)))
        return min(drafts, key=_ram_first)[2]

    @cached_property
    def _lean(self) -> Draft:
        """The plan with the least known RAM of lean kernels: top-down or bottom-up, with whole operators where they do
        not increase RAM."""
        sides = sorted((self.side(LEAN, bottom_up) for bottom_up in self.directions), key=lambda side: side.least)
        best = sides[0].smallest
        for side in sides[1:]:
            if side.least < best.plan.arena:
                best = min(best, side.smallest, key=lambda d: d.plan.ram)
        for side in sides:
            if NEAR * side.least < best.plan.arena:
                best = side.narrower(best.plan.ram - 1) or best
        return with_room(self.selection(LEAN), best)

    @cached_property
    def peaks(self) -> tuple[tuple[int, int], set[int]]:
        """The least peak and how often it is reached; the tensors that are partly live at that point."""
        return min((self.side(ROOMY, bottom_up).peaks() for bottom_up in self.directions), key=lambda peak: peak[0])


@dataclass(frozen=True)
class Candidate:
    """A sketch in the queue of the best-first search."""

    front: PlanFront
    sketch: Sketch
    limit: Limit
    rate: int
    """Index in `Planner.rates`."""


def _ram_first(ranked: tuple[int, float, Draft]) -> tuple[int, float]:
    return ranked[:2]


def _with_recomputation(planner: Planner) -> Draft:
    """Recomputes more and more layers instead of keeping their outputs, as long as that lowers the peak, until the plan
    fits or the allowance of MACs is spent."""
    goal, graph = planner.goal, planner.offers.graph
    allowed = goal.recompute / 100 * sum(op.macs(graph) for op in graph.ops)
    while True:
        if not goal.least and goal.ram is not None and planner.peaks[0][0] <= goal.ram:
            with suppress(DoesNotFitError):
                return planner.draft()
        better = _recomputing(planner, allowed)
        if better is None:
            return planner.draft()
        planner, spent = better
        allowed -= spent


def _recomputing(planner: Planner, allowed: float) -> tuple[Planner, int] | None:
    """The planner after the recomputation that lowers the peak most, and its MACs; None if none lowers it. Candidates
    are tensors that are live at the peak; where several blocks reach the peak, also all of them together."""
    graph = planner.offers.graph
    best: tuple[Planner, int] | None = None
    least, live = planner.peaks
    chains: dict[int, list[Twice]] = {}
    for twice in candidates(graph):
        if twice.tensor in live:
            chains.setdefault(twice.tensor, []).append(twice)
    together = [[chain[0] for chain in chains.values()], [chain[-1] for chain in chains.values()]]
    for choice in [*together, *([twice] for chain in chains.values() for twice in chain)]:
        macs = sum(twice.macs(graph) for twice in choice)
        if choice and macs <= allowed:
            rewritten = planner.offers.of(reduce(rewrite, choice, graph))
            other = Planner(rewritten, planner.how, planner.goal, planner.say)
            if other.peaks[0] < least:
                best, least = (other, macs), other.peaks[0]
    return best
