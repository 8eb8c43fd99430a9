"""Searches the Pareto fronts of a graph for plans within budgets of RAM, flash and time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import count

from mote.compiler.plan.goal import DoesNotFitError, Goal, TooSlowError
from mote.compiler.plan.memory.layout import PlacedPlan
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.prepared import PreparedPlans
from mote.compiler.plan.scheduling.directed_plans import NEAR, with_room
from mote.compiler.plan.scheduling.frontier import (
    UNLIMITED,
    Limit,
    PlacementCache,
    PlanFront,
    ScheduleSpace,
    UnplacedPlan,
    grid_limit_above,
    grid_limit_below,
)
from mote.compiler.plan.selection.code_size_model import flash
from mote.compiler.plan.selection.config import LEAN, RATES
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.request import Policy
from mote.compiler.plan.selection.select import MOST_RATE

FLASH_STEP, FLASH_STEPS = 1.1, 16
"""Ratio of successive exchange rates of flash in `Planner.fastest`, and their number."""
RATE_STEP = 2.0
"""Ratio of successive exchange rates of flash that are tried for a flash budget."""


@dataclass(eq=False)
class Planner:
    """Searches the plans of a graph for one goal."""

    prepared: PreparedPlans
    goal: Goal
    placements: PlacementCache = field(init=False, default_factory=PlacementCache)

    @property
    def _policies(self) -> int:
        """Number of `rates` up to that of the balanced policy: plans at all of these are searched, so that no policy
        finds a faster plan within the budgets."""
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
        """Latency, and bytes of constants, of running each operator whole with its best kernel, at increasing exchange
        rates of flash: the fastest plan first, then those with less flash."""
        space = self.prepared.front(searched=False).spaces[0]
        return [space.fastest(self.rate * FLASH_STEP**k) for k in range(FLASH_STEPS)]

    @cached_property
    def usual(self) -> float:
        """Latency of the plan without a RAM budget: the reference for plans with less flash than any of `fastest`."""
        unplaced = self.prepared.front(searched=False).within(Limit(UNLIMITED), self.rate)
        return max([self.fastest[0][0], *([unplaced.cost] if unplaced is not None else [])])

    @cached_property
    def rate(self) -> float:
        """The lowest of `rates` at which the plan without a RAM budget meets the flash budget; else the highest."""
        front = self.prepared.front(searched=False)
        return next((r for r in self.rates if self.meets_flash(front.within(Limit(UNLIMITED), r))), self.rates[-1])

    def meets_flash(self, unplaced: UnplacedPlan | None) -> bool:
        """Whether a plan meets the flash budget."""
        return unplaced is not None and (self.goal.flash is None or unplaced.flash <= self.goal.flash)

    def within_latency(self, cost: float) -> PlacedPlan:
        """The plan with least RAM, then least flash, within a latency budget."""
        ram = UNLIMITED if self.goal.ram is None else self.goal.ram
        if self.lean.plan.ram <= ram and estimate(self.goal.costs, self.smallest.plan) <= cost:
            return self.smallest
        candidates = [
            (front, unplaced, limit)
            for front in (self.prepared.front(bottom_up) for bottom_up in self.prepared.fronts)
            for limit in (*front.limits(self.rates[0], ram), *front.least_peak_limits())
            if (unplaced := self._fastest_within_flash(front, limit)) is not None and unplaced.cost <= cost
        ]
        best: tuple[int, PlanFront, Limit] | None = None
        for front, unplaced, limit in sorted(candidates, key=lambda candidate: candidate[1].peak):
            if self._may_fit(limit, unplaced, ram if best is None else best[0] - 1):
                taken = self.placements.ram(front, unplaced)
                if taken <= ram and (best is None or taken < best[0]):
                    best = taken, front, limit
        if best is None:
            raise TooSlowError(estimate(self.goal.costs, self.within(self.goal.ram).plan))
        return self._leaner(cost, *best)

    def _fastest_within_flash(self, front: PlanFront, limit: Limit) -> UnplacedPlan | None:
        """The fastest plan within a limit that meets the flash budget."""
        candidates = (front.within(limit, rate) for rate in self.rates)
        return next((unplaced for unplaced in candidates if self.meets_flash(unplaced)), None)

    def _leaner(self, cost: float, ram: int, front: PlanFront, limit: Limit) -> PlacedPlan:
        """The plan with least flash within this RAM and latency."""
        for rate in reversed(self.rates):
            unplaced = front.within(limit, rate)
            if (
                unplaced is not None
                and unplaced.cost <= cost
                and self.meets_flash(unplaced)
                and self.placements.ram(front, unplaced) <= ram
            ):
                return self.placements.placed(front, unplaced)
        raise AssertionError("one of them has been found")

    def within(self, ram: int | None) -> PlacedPlan:
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

    def _least_flash(self) -> PlacedPlan:
        """The plan with the least flash, without a RAM budget: the answer if none meets the flash budget."""
        front = self.prepared.front(searched=False)
        unplaced = front.within(Limit(UNLIMITED), self.rates[-1])
        assert unplaced is not None
        return self.placements.placed(front, unplaced)

    def _least_lean_cost(self, ram: int) -> float:
        """A lower bound for the cost of plans of the leanest kernels within `ram` bytes."""
        spaces = []
        for bottom_up in self.prepared.directions:
            directed = self.prepared.directed(LEAN, bottom_up)
            scheduler = directed.scheduler if bottom_up in self.prepared.fronts else directed.unsearched
            spaces.append(ScheduleSpace(self.prepared.selection(LEAN), scheduler))
        candidates = [PlanFront([space], False, 0).within(Limit(grid_limit_above(ram)), 0.0) for space in spaces]
        return min((unplaced.cost for unplaced in candidates if unplaced is not None), default=0.0)

    def _cheapest(self, ram: int | None) -> tuple[float, PlacedPlan] | None:
        """The cheapest plan on the Pareto fronts that fits the budgets when placed, and its cost, by best-first search;
        None if none fits."""
        queue: list[tuple[float, int, QueueEntry]] = []
        known: set[tuple[object, ...]] = set()

        def push(front: PlanFront, limits: Iterable[Limit], rate: int) -> None:
            for limit in limits:
                unplaced = front.within(limit, self.rates[rate])
                if unplaced is not None:
                    heappush(queue, (unplaced.cost, next(count_), QueueEntry(front, unplaced, limit, rate)))

        count_ = count()
        most = UNLIMITED if ram is None else ram
        for bottom_up in self.prepared.fronts if ram is not None else (False,):
            front = self.prepared.front(bottom_up, searched=ram is not None)
            push(front, front.limits(self.rates[0], most), 0)
            push(front, front.least_peak_limits() if ram is not None else (), 0)
        while queue:
            cost, _, entry = heappop(queue)
            front, unplaced = entry.front, entry.unplaced
            if (
                self.meets_flash(unplaced)
                and self._may_fit(entry.limit, unplaced, most)
                and unplaced.memory not in known
            ):
                if self.placements.ram(front, unplaced) <= most:
                    return cost, self.placements.placed(front, unplaced)
                known.add(unplaced.memory)
            others = self._policies if self.meets_flash(unplaced) else len(self.rates)
            if entry.rate + 1 < others:
                rate, limit = entry.rate + 1, entry.limit
                below = grid_limit_below(unplaced.peak)
                limits = (
                    [limit]
                    if limit.few or limit.whole < UNLIMITED
                    else front.limits(self.rates[rate], limit.nbytes, below)
                )
                push(front, limits, rate)
        return None

    @staticmethod
    def _may_fit(limit: Limit, unplaced: UnplacedPlan, ram: int) -> bool:
        """Whether a plan may fit when placed. Without a limit, contiguous tensors may take less than its peak."""
        return unplaced.peak <= ram or limit.nbytes == UNLIMITED

    @cached_property
    def smallest(self) -> PlacedPlan:
        """The plan with the least RAM that was found; of equal ones the fastest."""
        least, costs = self.lean, self.goal.costs
        ranked = [(least.plan.ram, estimate(costs, least.plan), least)]
        for front in (self.prepared.front(bottom_up) for bottom_up in self.prepared.fronts):
            for limit in (*front.least_peak_limits(), *front.limits(self.rate, least.plan.ram)):
                unplaced = front.within(limit, self.rate)
                if unplaced is not None and self._may_fit(limit, unplaced, min(ranked, key=_ram_first)[0] - 1):
                    placed = self.placements.placed(front, unplaced)
                    ranked.append((self.placements.ram(front, unplaced), unplaced.cost, placed))
        return min(ranked, key=_ram_first)[2]

    @cached_property
    def lean(self) -> PlacedPlan:
        """The plan with the least RAM among those of the leanest kernels, top-down or bottom-up; where that takes no
        more RAM, with whole operators and faster kernels."""
        directions = [self.prepared.directed(LEAN, bottom_up) for bottom_up in self.prepared.directions]
        directions.sort(key=lambda directed: directed.least)
        best = directions[0].smallest
        for directed in directions[1:]:
            if directed.least < best.plan.arena:
                best = min(best, directed.smallest, key=lambda placed: placed.plan.ram)
        for directed in directions:
            if NEAR * directed.least < best.plan.arena:
                best = directed.narrower(best.plan.ram - 1) or best
        return with_room(self.prepared.selection(LEAN), best)


@dataclass(frozen=True)
class QueueEntry:
    """An unplaced plan in the queue of the best-first search."""

    front: PlanFront
    unplaced: UnplacedPlan
    limit: Limit
    rate: int
    """Index in `Planner.rates`."""


def _ram_first(ranked: tuple[int, float, PlacedPlan]) -> tuple[int, float]:
    return ranked[:2]


def flash_of(candidate: Plan) -> float:
    """Estimated flash of a plan, in bytes."""
    return flash(steps[0].kernel for _, steps in candidate.works)
