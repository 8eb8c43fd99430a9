"""Graph -> Plan: strategies are tried in turn, until one is good enough, and the best is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from heapq import heappop, heappush
from itertools import count

from mote.graph import Graph
from mote.offload.contract import Offload
from mote.plan.check import check
from mote.plan.control import with_bodies
from mote.plan.goal import DoesNotFitError, Goal, TooSlowError
from mote.plan.memory.layout import Draft
from mote.plan.memory.several_memories import plan_over
from mote.plan.plan import Plan
from mote.plan.scheduling.frontier import UNLIMITED, Lane, Limit, PlanFront, Sketch, rung_above, rung_below
from mote.plan.scheduling.recompute import Twice, candidates, rewrite
from mote.plan.scheduling.schedule import Scheduler
from mote.plan.scheduling.strategies import NEAR, Side, with_room
from mote.plan.selection.code_size_model import flash
from mote.plan.selection.estimate import estimate
from mote.plan.selection.external import with_external
from mote.plan.selection.pins import pinned
from mote.plan.selection.request import Lowering, Policy
from mote.plan.selection.select import LEAN, MOST_RATE, RATES, ROOMY, Offers, Selection, Way, offers, ordered
from mote.progress import Say, silent
from mote.targets import Memory

KNEE = 1.03
"""How much slower than the fastest plan one with less RAM may be (the knee)."""
SLOWER = 1.10
"""How much slower than the fastest plan one may be that also saves flash."""
WORTH = 1.05
"""How much slower a plan may be where flash is weighed as well."""
DEAR = 4
"""RAM-for-time exchange rate: a plan with less flash that is 1% slower must save 4% RAM."""
KNEE_TRIES = 8
"""How many of the plans that do not are given places, to see which one takes least."""
FUSED = (Way(fused=True), Way(layouts=False, fused=True))
"""Ways that take less memory where they differ from others."""
BOTH_WAYS = 1_500
"""Plans with rows from the bottom up are looked for among all kernels where there are at most so many pieces of work;
in larger models among lean ones only."""
FLASH_STEP, FLASH_STEPS = 1.1, 16
"""Price increase of flash from one plan to the next on the flash curve, and the number of plans."""
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
    """The plan of a graph: see Goal. Where there are several memories it is spread over them; generators are asked for
    what they offer beside the kernels of the core."""
    wanted = goal or Goal()
    known = with_external(offers(ordered(graph)), offload)
    known = pinned(with_bodies(known, wanted, plan), wanted.pins, how)

    def make(goal: Goal) -> Draft:
        return draft(known, how, goal, say)

    found = plan_over(memories, wanted, make) if memories else make(wanted).plan
    check(found)
    return replace(found, goal=wanted)


def draft(known: Offers, how: Lowering, goal: Goal, say: Say = silent) -> Draft:
    """The plan for one memory. For --optimize size weights are coded, if that is worth the code that it takes."""
    found = _draft(_planner(known, how, goal, say))
    if how.optimize is Policy.SIZE:
        coded = _draft(_planner(known, replace(how, coded=True), goal, say))
        found = coded if _flash(coded.plan) < _flash(found.plan) else found
    return found


def _planner(known: Offers, how: Lowering, goal: Goal, say: Say) -> Planner:
    """The planner for a goal. What the limits of a goal do not change is prepared once for all of them."""
    if goal.recompute:
        return Planner(known, how, goal, say)
    unlimited = replace(goal, ram=None, spend=True, most_cost=None, least=False)
    prepared = known.prepared(Planner(known, how, unlimited, say))
    return replace(prepared, goal=goal, _fronts={})


def _draft(planner: Planner) -> Draft:
    goal = planner.goal
    limited = goal.least or goal.pushed or goal.ram is not None
    return _with_recomputation(planner) if goal.recompute > 0 and limited else planner.draft()


def _flash(found: Plan) -> float:
    """About how many bytes of flash a plan takes."""
    return flash(steps[0].kernel for _, steps in found.works)


@dataclass(frozen=True)
class Planner:
    """The plans of a graph for one goal. What several of them need is made once."""

    offers: Offers
    how: Lowering
    goal: Goal
    say: Say = silent
    _selections: dict[Way, Selection] = field(default_factory=dict, compare=False)
    _sides: dict[tuple[Way, bool], Side] = field(default_factory=dict, compare=False)
    _prepared: dict[tuple[bool, bool], PlanFront] = field(default_factory=dict, compare=False)
    """Fronts for all goals."""
    _fronts: dict[tuple[bool, bool], PlanFront] = field(default_factory=dict, compare=False)
    """And for this one, with plans of its own."""

    def selection(self, way: Way) -> Selection:
        """The kernels that are chosen in a way. Without planar tensors and regions lean ones are the same as roomy
        ones."""
        if self.how.optimize is Policy.SIZE:
            way = LEAN
        elif way == LEAN and self.selection(ROOMY).simple:
            way = ROOMY
        if way not in self._selections:
            self._selections[way] = Selection(self.offers, self.how, self.goal, way)
        return self._selections[way]

    def side(self, way: Way, bottom_up: bool = False) -> Side:
        """Lean rows in one direction."""
        selection = self.selection(way)
        key = selection.way, bottom_up
        if key not in self._sides:
            self._sides[key] = Side(selection, self.goal, bottom_up, self.say)
        return self._sides[key]

    @property
    def directions(self) -> tuple[bool, ...]:
        """Whether rows may be computed from the bottom up: rows that the caller hands over come from the top only."""
        return (False,) if self.goal.pushed else (False, True)

    @cached_property
    def fronts(self) -> tuple[bool, ...]:
        """The directions of which there are fronts."""
        return self.directions if self.side(LEAN).scheduler.nodes_by_rows <= BOTH_WAYS else (False,)

    def front(self, bottom_up: bool = False, searched: bool = True) -> PlanFront:
        """The cheapest plans with rows in one direction; `searched`: also with orders that a search has found."""
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
        """The ways that differ."""
        selection = self.selection(ROOMY)
        if self.how.optimize is Policy.SIZE:
            return [LEAN]
        groups = {k.entry.group for ops in selection.ops for k in selection.offered(ops)}
        ways = [ROOMY, *(Way(group=n) for n in sorted(groups) if n > 1)]
        fused = [
            way
            for way in FUSED
            if self.selection(way).ops.keys() != self.selection(replace(way, fused=False)).ops.keys()
        ]
        return [*ways, *fused] if selection.simple else [*ways, LEAN, *fused]

    def _lane(self, way: Way, bottom_up: bool, searched: Scheduler | None) -> Lane:
        scheduler = self.side(way, bottom_up).scheduler
        lean = self.selection(way) is self.selection(LEAN)
        return Lane(self.selection(way), scheduler.lane(searched if lean else None))

    def draft(self) -> Draft:
        """The plan that the goal asks for, and why it has its kernels."""
        found = self._draft()
        choices = [self.selection(way).choices(found.plan) for way in (LEAN, ROOMY)]
        return replace(found, plan=replace(found.plan, choices={**choices[0], **choices[1]}))

    def _draft(self) -> Draft:
        ram = self.goal.ram
        if self.goal.most_cost is not None:
            return self.meeting(self.goal.most_cost)
        if self.goal.least:
            return self.smallest
        if ram is not None and self.goal.spend:
            return self.within(ram)
        found = self._unlimited()
        return found if ram is None or found.plan.ram <= ram else self.within(ram)

    def _unlimited(self) -> Draft:
        """What is wanted where RAM has no price but the one that --optimize gives it."""
        if self.goal.pushed:
            return self.smallest
        if self.how.optimize is Policy.BALANCED:
            return self.knee()
        return self.within(None)

    @property
    def _policies(self) -> int:
        """How many of the rates are those of policies that a plan must be no slower than."""
        return sum(rate <= RATES[Policy.BALANCED] for rate in self.rates)

    @cached_property
    def rates(self) -> list[float]:
        """How much a byte of constants has to save: what the policy says first, then more and more."""
        least = min(RATES.values()) if self.goal.most_cost is not None else RATES[self.how.optimize]
        rates = sorted(rate for rate in RATES.values() if rate >= least)
        while rates[-1] < MOST_RATE:
            rates.append(RATE_STEP * rates[-1])
        return rates

    def knee(self) -> Draft:
        """The least RAM among plans that cost hardly more than the fastest with the same flash, and are worth hardly
        less than the one that is worth most."""
        fronts = [self.front(bottom_up, searched=False) for bottom_up in self.fronts]
        found = [(front, sketch) for front in fronts for sketch in self._valuable(front) if self._hardly_costs(sketch)]
        if not found:
            return self.within(None)
        found.sort(key=lambda candidate: (candidate[1].peak, candidate[1].cost))
        drafts = [found[0][0].placed(found[0][1])]
        for front, sketch in found[:KNEE_TRIES]:
            if sketch.peak < min(d.plan.arena for d in drafts):
                drafts += self._placed(front, sketch)
        return min(drafts, key=self._dear)

    def _valuable(self, front: PlanFront) -> Iterator[Sketch]:
        """Plans with less and less memory, as long as they are worth hardly less than the one that is worth most:
        with less memory no plan is worth more. Where flash is short that is not what plans are chosen by."""
        for limit in front.rungs(self._rate, UNLIMITED):
            sketch = front.within(limit, self._rate)
            if sketch is None or (self._rate == self.rates[0] and not self._is_worth(sketch)):
                return
            yield sketch

    def _dear(self, draft: Draft) -> float:
        """Bytes of RAM; where a plan takes longer than another with more flash, as many more as make up for that."""
        fastest = self._fastest[0][0]
        if not fastest:  # a branch or a loop whose body does nothing
            return draft.plan.ram
        longer = estimate(self.goal.costs, draft.plan) / (KNEE * fastest)
        return draft.plan.ram * max(longer, 1.0) ** DEAR

    def _placed(self, front: PlanFront, sketch: Sketch) -> Iterator[Draft]:
        """The plan of a sketch; where its rows fit together badly, others that hardly cost more as well."""
        draft = front.placed(sketch)
        yield draft
        for limit in front.looser(sketch) if draft.plan.arena > NEAR * sketch.peak else ():
            other = front.within(limit, self._rate)
            if draft.plan.arena > NEAR * sketch.peak and other is not None and self._hardly_costs(other):
                draft = front.placed(other)
                yield draft

    def _hardly_costs(self, sketch: Sketch) -> bool:
        """Whether a plan costs hardly more than the fastest with the same flash, and is worth hardly less."""
        (cost, _), *_ = self._fastest
        same_flash = [cost for cost, nbytes in self._fastest if nbytes <= sketch.constants]
        hardly_slower = sketch.cost <= min(KNEE * min(same_flash, default=cost), SLOWER * cost)
        return hardly_slower and self._is_worth(sketch)

    def _is_worth(self, sketch: Sketch) -> bool:
        """Whether a plan is worth hardly less than the one that is worth most."""
        (cost, constants), *_ = self._fastest
        worth, most = (c + self._rate * n for c, n in ((sketch.cost, sketch.constants), (cost, constants)))
        return worth <= WORTH * most

    @cached_property
    def _fastest(self) -> list[tuple[float, int]]:
        """Cost and bytes of constants of the fastest kernels: those that are worth most, then some that take less and
        less flash."""
        lane = self.front(searched=False).lanes[0]
        return [lane.fastest(self._rate * FLASH_STEP**k) for k in range(FLASH_STEPS)]

    @cached_property
    def _rate(self) -> float:
        """How much a byte of constants has to save so that flash is enough, with all memory there is."""
        front = self.front(searched=False)
        return next((r for r in self.rates if self._flashes(front.within(Limit(UNLIMITED), r))), self.rates[-1])

    def _flashes(self, sketch: Sketch | None) -> bool:
        """Whether a plan does not take too much flash."""
        return sketch is not None and (self.goal.flash is None or sketch.flash <= self.goal.flash)

    def meeting(self, cost: float) -> Draft:
        """The least RAM, and then the least flash, of plans that take no longer."""
        ram = UNLIMITED if self.goal.ram is None else self.goal.ram
        if self._lean.plan.ram <= ram and estimate(self.goal.costs, self.smallest.plan) <= cost:
            return self.smallest
        found = [
            (front, sketch, limit)
            for front in (self.front(bottom_up) for bottom_up in self.fronts)
            for limit in (*front.rungs(self.rates[0], ram), *front.last_rungs())
            if (sketch := self._within_flash(front, limit)) is not None and sketch.cost <= cost
        ]
        best: tuple[int, PlanFront, Limit] | None = None
        for front, sketch, limit in sorted(found, key=lambda candidate: candidate[1].peak):
            if self._may_fit(limit, sketch, ram if best is None else best[0] - 1):
                taken = front.ram(sketch)
                if taken <= ram and (best is None or taken < best[0]):
                    best = taken, front, limit
        if best is None:
            raise TooSlowError(estimate(self.goal.costs, self.within(self.goal.ram).plan))
        return self._leaner(cost, *best)

    def _within_flash(self, front: PlanFront, limit: Limit) -> Sketch | None:
        """The fastest plan within a limit whose flash is not too much."""
        sketches = (front.within(limit, rate) for rate in self.rates)
        return next((sketch for sketch in sketches if self._flashes(sketch)), None)

    def _leaner(self, cost: float, ram: int, front: PlanFront, limit: Limit) -> Draft:
        """The least flash within as much RAM, and no longer."""
        for rate in reversed(self.rates):
            sketch = front.within(limit, rate)
            if sketch is not None and sketch.cost <= cost and self._flashes(sketch) and front.ram(sketch) <= ram:
                return front.placed(sketch)
        raise AssertionError("one of them has been found")

    def within(self, ram: int | None) -> Draft:
        """The fastest plan that takes at most `ram` bytes. All plans of the ladder that cost less do not fit: what fits
        a smaller budget has been among them, or is the plan."""
        found = self._cheapest(ram)
        if ram is None:
            return found[1] if found is not None else self._least_flash()
        if found is not None and found[0] <= self._least_lean_cost(ram):
            return found[1]
        smallest = self._lean
        if smallest.plan.ram <= ram:
            faster = found is None or estimate(self.goal.costs, smallest.plan) < found[0]
            enough = found is None or self.goal.flash is None or _flash(smallest.plan) <= self.goal.flash
            return smallest if (faster and enough) or found is None else found[1]
        if found is None:
            raise DoesNotFitError(self.smallest.plan.ram)
        return found[1]

    def _least_flash(self) -> Draft:
        """The plan where flash is not enough whatever is done."""
        front = self.front(searched=False)
        sketch = front.within(Limit(UNLIMITED), self.rates[-1])
        assert sketch is not None
        return front.placed(sketch)

    def _least_lean_cost(self, ram: int) -> float:
        """What no plan of lean kernels within so many bytes takes less than."""
        sides = {b: self.side(LEAN, b) for b in self.directions}
        orders = (side.scheduler if b in self.fronts else side.unsearched for b, side in sides.items())
        lanes = [Lane(self.selection(LEAN), scheduler) for scheduler in orders]
        found = [PlanFront([lane], False, 0).within(Limit(rung_above(ram)), 0.0) for lane in lanes]
        return min((sketch.cost for sketch in found if sketch is not None), default=0.0)

    def _cheapest(self, ram: int | None) -> tuple[float, Draft] | None:
        """The plan of the ladders that costs least of those that fit, and its cost."""
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
            cost, _, found = heappop(queue)
            front, sketch = found.front, found.sketch
            if self._flashes(sketch) and self._may_fit(found.limit, sketch, most) and sketch.memory not in known:
                if front.ram(sketch) <= most:
                    return cost, front.placed(sketch)
                known.add(sketch.memory)
            others = self._policies if self._flashes(sketch) else len(self.rates)
            if found.rate + 1 < others:
                rate, limit = found.rate + 1, found.limit
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
        """The fastest of the plans with the least RAM that was found."""
        least, costs = self._lean, self.goal.costs
        found = [(least.plan.ram, estimate(costs, least.plan), least)]
        for front in (self.front(bottom_up) for bottom_up in self.fronts):
            for limit in (*front.last_rungs(), *front.rungs(self._rate, least.plan.ram)):
                sketch = front.within(limit, self._rate)
                if sketch is not None and self._may_fit(limit, sketch, min(found, key=_ram_first)[0] - 1):
                    found.append((front.ram(sketch), sketch.cost, front.placed(sketch)))
        return min(found, key=_ram_first)[2]

    @cached_property
    def _lean(self) -> Draft:
        """The least RAM that was found with lean kernels only: top-down and bottom-up, whole operators where they cost
        nothing."""
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
        """The least peak and how often it is reached; the tensors of which something is live then."""
        return min((self.side(ROOMY, bottom_up).peaks() for bottom_up in self.directions), key=lambda found: found[0])


@dataclass(frozen=True)
class Candidate:
    """A plan that may be taken."""

    front: PlanFront
    sketch: Sketch
    limit: Limit
    rate: int
    """The number of the rate."""


def _ram_first(found: tuple[int, float, Draft]) -> tuple[int, float]:
    return found[:2]


def _with_recomputation(planner: Planner) -> Draft:
    """Compute more and more twice, as long as it makes the model smaller, until the plan fits or the allowance is
    spent."""
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
    """The planner of the same model with more layers computed twice, and what that costs: what lowers the peak
    most. Only what is live at the peak is worth it; where several blocks reach the peak, all of them together."""
    graph = planner.offers.graph
    best: tuple[Planner, int] | None = None
    least, live = planner.peaks
    chains: dict[int, list[Twice]] = {}
    for twice in candidates(graph):
        if twice.tensor in live:
            chains.setdefault(twice.tensor, []).append(twice)
    together = [[found[0] for found in chains.values()], [found[-1] for found in chains.values()]]
    for choice in [*together, *([twice] for found in chains.values() for twice in found)]:
        macs = sum(twice.macs(graph) for twice in choice)
        if choice and macs <= allowed:
            rewritten = planner.offers.of(reduce(rewrite, choice, graph))
            other = Planner(rewritten, planner.how, planner.goal, planner.say)
            if other.peaks[0] < least:
                best, least = (other, macs), other.peaks[0]
    return best
