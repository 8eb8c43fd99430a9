"""The knee of the Pareto front: the plan of the balanced policy, where more RAM hardly buys speed any more.

Example: CONV, POOL, FULLY_CONNECTED with plans of 840 bytes and 190,000 cycles, 1,300 bytes and 101,000 cycles, 2,900
bytes and 100,000 cycles. The second is the knee: 1% slower than the fastest (less than `KNEE`) with half of its RAM.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mote.compiler.plan.budgets import Planner
from mote.compiler.plan.memory.layout import PlacedPlan
from mote.compiler.plan.scheduling.directed_plans import NEAR
from mote.compiler.plan.scheduling.frontier import UNLIMITED, PlanFront, UnplacedPlan
from mote.compiler.plan.selection.estimate import estimate

KNEE = 1.03
"""Maximum slowdown of the knee against the fastest plan of equal flash."""
SLOWER = 1.10
"""Maximum slowdown of the knee against the fastest plan of all, which may have more flash."""
WORTH = 1.05
"""Maximum ratio of the weighted sum of latency and flash to that of the fastest plan."""
DEAR = 4
"""Exponent of the slowdown beyond `KNEE` in the objective: 1% slower must save 4% of RAM."""
KNEE_TRIES = 8
"""Number of unplaced plans that are placed, to compare their RAM with fragmentation."""


def knee(planner: Planner) -> PlacedPlan:
    """The knee of the Pareto front: least RAM among plans whose latency is close to the fastest of equal flash, and
    whose weighted sum of latency and flash is close to the best."""
    fronts = [planner.prepared.front(bottom_up, searched=False) for bottom_up in planner.prepared.fronts]
    candidates = [
        (front, unplaced)
        for front in fronts
        for unplaced in _valuable(planner, front)
        if _hardly_costs(planner, unplaced)
    ]
    if not candidates:
        return planner.within(None)
    candidates.sort(key=lambda candidate: (candidate[1].peak, candidate[1].cost))
    placed_plans = [planner.placements.placed(*candidates[0])]
    for front, unplaced in candidates[:KNEE_TRIES]:
        if unplaced.peak < min(d.plan.arena for d in placed_plans):
            placed_plans += _placed(planner, front, unplaced)
    return min(placed_plans, key=partial(_dear, planner))


def _valuable(planner: Planner, front: PlanFront) -> Iterator[UnplacedPlan]:
    """Plans of one front by decreasing peak, until their weighted sum of latency and flash is too far from the best, as
    it only grows from there. The sum does not count if flash is over budget at the policy's exchange rate."""
    for limit in front.limits(planner.rate, UNLIMITED):
        unplaced = front.within(limit, planner.rate)
        if unplaced is None or (planner.rate == planner.rates[0] and not _is_worth(planner, unplaced)):
            return
        yield unplaced


def _dear(planner: Planner, placed: PlacedPlan) -> float:
    """The objective: RAM in bytes, times a penalty for plans slower than the fastest of all (see DEAR)."""
    fastest = planner.fastest[0][0]
    if not fastest:  # a branch or a loop whose body does nothing
        return placed.plan.ram
    longer = estimate(planner.goal.costs, placed.plan) / (KNEE * fastest)
    return placed.plan.ram * max(longer, 1.0) ** DEAR


def _placed(planner: Planner, front: PlanFront, unplaced: UnplacedPlan) -> Iterator[PlacedPlan]:
    """The placed plan; if its arena is fragmented, also alternatives of about equal cost."""
    placed = planner.placements.placed(front, unplaced)
    yield placed
    for limit in front.looser(unplaced) if placed.plan.arena > NEAR * unplaced.peak else ():
        other = front.within(limit, planner.rate)
        if placed.plan.arena > NEAR * unplaced.peak and other is not None and _hardly_costs(planner, other):
            placed = planner.placements.placed(front, other)
            yield placed


def _hardly_costs(planner: Planner, unplaced: UnplacedPlan) -> bool:
    """Whether the latency of a plan is close to the fastest of equal flash, and its weighted sum of latency and flash
    close to the best."""
    (cost, _), *_ = planner.fastest
    same_flash = [cost for cost, nbytes in planner.fastest if nbytes <= unplaced.constants]
    hardly_slower = unplaced.cost <= min(KNEE * min(same_flash, default=planner.usual), SLOWER * cost)
    return hardly_slower and _is_worth(planner, unplaced)


def _is_worth(planner: Planner, unplaced: UnplacedPlan) -> bool:
    """Whether the weighted sum of latency and flash is close to the best."""
    (cost, constants), *_ = planner.fastest
    worth, most = (c + planner.rate * n for c, n in ((unplaced.cost, unplaced.constants), (cost, constants)))
    return worth <= WORTH * most
