"""The lower bound of a plan's arena, computed on request, since it takes as long as planning."""

from __future__ import annotations

from mote.compiler.plan.control import with_bodies
from mote.compiler.plan.memory.bound import lower_bound
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.planner import plan as plan_of
from mote.compiler.plan.prepared import PreparedPlans
from mote.compiler.plan.selection.candidates import candidates_of
from mote.compiler.plan.selection.config import LEAN
from mote.compiler.plan.selection.external import PlannedCandidates


def bound(plan: Plan) -> int:
    """A lower bound of the arena for any plan of the same graph, in bytes: without recomputation, with each operator's
    rows in one direction, and the kernels with the least scratch."""
    known = PlannedCandidates(candidates_of(plan.graph), plan.steps)
    prepared = PreparedPlans(with_bodies(known, plan.goal, plan_of), plan.how, plan.goal)
    bounds = []
    for directed in (prepared.directed(LEAN, bottom_up) for bottom_up in prepared.directions):
        schedule = directed.scheduler.cheapest(directed.least)
        assert schedule is not None
        bounds.append(lower_bound(directed.rows.unaligned(), schedule.nodes(directed.rows)))
    return min(bounds)
