"""Lower bound of a plan's arena, proven on request, since it takes as long as planning."""

from __future__ import annotations

from mote.compiler.plan.control import with_bodies
from mote.compiler.plan.memory.bound import lower_bound
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.planner import plan as plan_of
from mote.compiler.plan.prepared import PreparedPlans
from mote.compiler.plan.selection.external import PlannedOffers
from mote.compiler.plan.selection.offers import offers
from mote.compiler.plan.selection.way import LEAN


def bound(plan: Plan) -> int:
    """A lower bound for the arena of any plan of the same work: without recomputation, with each operator's rows in one
    direction, and the least scratch of the kernels."""
    known = PlannedOffers(offers(plan.graph), plan.steps)
    prepared = PreparedPlans(with_bodies(known, plan.goal, plan_of), plan.how, plan.goal)
    bounds = []
    for side in (prepared.side(LEAN, bottom_up) for bottom_up in prepared.directions):
        schedule = side.scheduler.cheapest(side.least)
        assert schedule is not None
        bounds.append(lower_bound(side.rows.unaligned(), schedule.nodes(side.rows)))
    return min(bounds)
