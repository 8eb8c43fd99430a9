"""The plans of a graph within budgets of RAM, flash and time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import count

from mote.compiler.plan.goal import DoesNotFitError, Goal, TooSlowError
from mote.compiler.plan.memory.layout import Draft
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.prepared import PreparedPlans
from mote.compiler.plan.scheduling.frontier import (
    UNLIMITED,
    Drafts,
    Lane,
    Limit,
    PlanFront,
    Sketch,
    rung_above,
    rung_below,
)
from mote.compiler.plan.scheduling.strategies import NEAR, with_room
from mote.compiler.plan.selection.code_size_model import flash
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.request import Policy
from mote.compiler.plan.selection.select import MOST_RATE
from mote.compiler.plan.selection.way import LEAN, RATES

FLASH_STEP, FLASH_STEPS = 1.1, 16
"""Price increase of flash from one plan to the next on the flash curve, and the number of plans."""
RATE_STEP = 2.0
"""Price increase of flash from one attempt to fit a budget to the next."""


@dataclass(eq=False)
class Planner:
    """Searches the plans of a graph for one goal."""

    prepared: PreparedPlans
    goal: Goal
    drafts: Drafts = field(init=False, default_factory=Drafts)

    @property
    def _policies(self) -> int:
        """Number of rates that belong to policies whose plans must not be faster than the result."""
        return sum(rate <= RATES[Policy.BALANCED] for rate in self.rates)

    @cached_property
    def rates(self) -> list[float]:
        """Exchange rates of flash in cycles per byte: those of the policies, then increasing ones for tight flash
        budgets."""
        least = min(RATES.values()) if self.goal.most_cost is not None else RATES[self.prepared.how.optimize]
        rates = sorted(rate for rate in RATES.values() if rate >= least)
        while rates[-1] < MOST_RATE:
            rates.append(RATE_STEP * rates[-1])
        return rates

    @cached_property
    def fastest(self) -> list[tuple[float, int]]:
        """Latency and bytes of constants of the fastest kernels without a RAM budget, at the current and at increasing
        exchange rates of flash."""
        lane = self.prepared.front(searched=False).lanes[0]
        return [lane.fastest(self.rate * FLASH_STEP**k) for k in range(FLASH_STEPS)]

    @cached_property
    def usual(self) -> float:
        """Latency of the plan without a RAM budget, at least that of the fastest kernels: it may have less flash than
        these have at any of their exchange rates."""
        sketch = self.prepared.front(searched=False).within(Limit(UNLIMITED), self.rate)
        return max([self.fastest[0][0], *([sketch.cost] if sketch is not None else [])])

    @cached_property
    def rate(self) -> float:
        """The lowest exchange rate of flash at which the plan without a RAM budget meets the flash budget."""
        front = self.prepared.front(searched=False)
        return next((r for r in self.rates if self.flashes(front.within(Limit(UNLIMITED), r))), self.rates[-1])

    def flashes(self, sketch: Sketch | None) -> bool:
        """Whether a plan meets the flash budget."""
        return sketch is not None and (self.goal.flash is None or sketch.flash <= self.goal.flash)

    def meeting(self, cost: float) -> Draft:
        """The plan with least RAM, then least flash, within a latency budget."""
        ram = UNLIMITED if self.goal.ram is None else self.goal.ram
        if self.lean.plan.ram <= ram and estimate(self.goal.costs, self.smallest.plan) <= cost:
            return self.smallest
        sketches = [
            (front, sketch, limit)
            for front in (self.prepared.front(bottom_up) for bottom_up in self.prepared.fronts)
            for limit in (*front.rungs(self.rates[0], ram), *front.last_rungs())
            if (sketch := self._within_flash(front, limit)) is not None and sketch.cost <= cost
        ]
        best: tuple[int, PlanFront, Limit] | None = None
        for front, sketch, limit in sorted(sketches, key=lambda candidate: candidate[1].peak):
            if self._may_fit(limit, sketch, ram if best is None else best[0] - 1):
                taken = self.drafts.ram(front, sketch)
                if taken <= ram and (best is None or taken < best[0]):
                    best = taken, front, limit
        if best is None:
            raise TooSlowError(estimate(self.goal.costs, self.within(self.goal.ram).plan))
        return self._leaner(cost, *best)

    def _within_flash(self, front: PlanFront, limit: Limit) -> Sketch | None:
        """The fastest plan within a limit that meets the flash budget."""
        sketches = (front.within(limit, rate) for rate in self.rates)
        return next((sketch for sketch in sketches if self.flashes(sketch)), None)

    def _leaner(self, cost: float, ram: int, front: PlanFront, limit: Limit) -> Draft:
        """The plan with least flash within this RAM and latency."""
        for rate in reversed(self.rates):
            sketch = front.within(limit, rate)
            if (
                sketch is not None
                and sketch.cost <= cost
                and self.flashes(sketch)
                and self.drafts.ram(front, sketch) <= ram
            ):
                return self.drafts.placed(front, sketch)
        raise AssertionError("one of them has been found")

    def within(self, ram: int | None) -> Draft:
        """The fastest plan within a RAM budget. It never gets slower with a larger budget: every plan for a smaller one
        is among the candidates, and all cheaper candidates do not fit."""
        cheapest = self._cheapest(ram)
        if ram is None:
            return cheapest[1] if cheapest is not None else self._least_flash()
        if cheapest is not None and cheapest[0] <= self._least_lean_cost(ram):
            return cheapest[1]
        smallest = self.lean
        if smallest.plan.ram <= ram:
            faster = cheapest is None or estimate(self.goal.costs, smallest.plan) < cheapest[0]
            enough = cheapest is None or self.goal.flash is None or flash_of(smallest.plan) <= self.goal.flash
            return smallest if (faster and enough) or cheapest is None else cheapest[1]
        if cheapest is None:
            raise DoesNotFitError(self.smallest.plan.ram)
        return cheapest[1]

    def _least_flash(self) -> Draft:
        """The plan with the least flash, where no plan meets the flash budget."""
        front = self.prepared.front(searched=False)
        sketch = front.within(Limit(UNLIMITED), self.rates[-1])
        assert sketch is not None
        return self.drafts.placed(front, sketch)

    def _least_lean_cost(self, ram: int) -> float:
        """A lower bound for the cost of plans of lean kernels within `ram` bytes."""
        sides = {b: self.prepared.side(LEAN, b) for b in self.prepared.directions}
        orders = (side.scheduler if b in self.prepared.fronts else side.unsearched for b, side in sides.items())
        lanes = [Lane(self.prepared.selection(LEAN), scheduler) for scheduler in orders]
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
        for bottom_up in self.prepared.fronts if ram is not None else (False,):
            front = self.prepared.front(bottom_up, searched=ram is not None)
            push(front, front.rungs(self.rates[0], most), 0)
            push(front, front.last_rungs() if ram is not None else (), 0)
        while queue:
            cost, _, candidate = heappop(queue)
            front, sketch = candidate.front, candidate.sketch
            if self.flashes(sketch) and self._may_fit(candidate.limit, sketch, most) and sketch.memory not in known:
                if self.drafts.ram(front, sketch) <= most:
                    return cost, self.drafts.placed(front, sketch)
                known.add(sketch.memory)
            others = self._policies if self.flashes(sketch) else len(self.rates)
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
        least, costs = self.lean, self.goal.costs
        drafts = [(least.plan.ram, estimate(costs, least.plan), least)]
        for front in (self.prepared.front(bottom_up) for bottom_up in self.prepared.fronts):
            for limit in (*front.last_rungs(), *front.rungs(self.rate, least.plan.ram)):
                sketch = front.within(limit, self.rate)
                if sketch is not None and self._may_fit(limit, sketch, min(drafts, key=_ram_first)[0] - 1):
                    drafts.append((self.drafts.ram(front, sketch), sketch.cost, self.drafts.placed(front, sketch)))
        return min(drafts, key=_ram_first)[2]

    @cached_property
    def lean(self) -> Draft:
        """The plan with the least known RAM of lean kernels: top-down or bottom-up, with whole operators where they do
        not increase RAM."""
        sides = sorted(
            (self.prepared.side(LEAN, bottom_up) for bottom_up in self.prepared.directions), key=lambda side: side.least
        )
        best = sides[0].smallest
        for side in sides[1:]:
            if side.least < best.plan.arena:
                best = min(best, side.smallest, key=lambda d: d.plan.ram)
        for side in sides:
            if NEAR * side.least < best.plan.arena:
                best = side.narrower(best.plan.ram - 1) or best
        return with_room(self.prepared.selection(LEAN), best)


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


def flash_of(candidate: Plan) -> float:
    """Estimated flash of a plan, in bytes."""
    return flash(steps[0].kernel for _, steps in candidate.works)
