"""The knee of the Pareto front: the plan of the balanced policy."""

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
"""Maximum slowdown of a plan that also saves flash, against the fastest plan."""
WORTH = 1.05
"""Maximum increase of the weighted sum of latency and flash, against the best plan."""
DEAR = 4
"""RAM-for-time exchange rate: a plan with less flash that is 1% slower must save 4% RAM."""
KNEE_TRIES = 8
"""Number of candidates for the knee that are placed in the arena, to compare their RAM with fragmentation."""


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
    """Plans with decreasing peak memory, until the weighted sum of latency and flash is too far from the best: it
    only grows from there. If flash is over budget at the policy's rate, that sum does not count."""
    for limit in front.limits(planner.rate, UNLIMITED):
        unplaced = front.within(limit, planner.rate)
        if unplaced is None or (planner.rate == planner.rates[0] and not _is_worth(planner, unplaced)):
            return
        yield unplaced


def _dear(planner: Planner, placed: PlacedPlan) -> float:
    """RAM in bytes, with a penalty if the plan is slower than one with more flash (see DEAR)."""
    fastest = planner.fastest[0][0]
    if not fastest:  # a branch or a loop whose body does nothing
        return placed.plan.ram
    longer = estimate(planner.goal.costs, placed.plan) / (KNEE * fastest)
    return placed.plan.ram * max(longer, 1.0) ** DEAR


def _placed(planner: Planner, front: PlanFront, unplaced: UnplacedPlan) -> Iterator[PlacedPlan]:
    """The plan of a unplaced; if its arena is fragmented, also alternatives of about the same cost."""
    placed = planner.placements.placed(front, unplaced)
    yield placed
    for limit in front.looser(unplaced) if placed.plan.arena > NEAR * unplaced.peak else ():
        other = front.within(limit, planner.rate)
        if placed.plan.arena > NEAR * unplaced.peak and other is not None and _hardly_costs(planner, other):
            placed = planner.placements.placed(front, other)
            yield placed


def _hardly_costs(planner: Planner, unplaced: UnplacedPlan) -> bool:
    """Whether latency is close to the fastest plan of equal flash, and the weighted sum of latency and flash close
    to the best."""
    (cost, _), *_ = planner.fastest
    same_flash = [cost for cost, nbytes in planner.fastest if nbytes <= unplaced.constants]
    hardly_slower = unplaced.cost <= min(KNEE * min(same_flash, default=planner.usual), SLOWER * cost)
    return hardly_slower and _is_worth(planner, unplaced)


def _is_worth(planner: Planner, unplaced: UnplacedPlan) -> bool:
    """Whether the weighted sum of latency and flash is close to the best."""
    (cost, constants), *_ = planner.fastest
    worth, most = (c + planner.rate * n for c, n in ((unplaced.cost, unplaced.constants), (cost, constants)))
    return worth <= WORTH * most
