"""Estimated costs of plans, from the kernels' cost tables."""

from __future__ import annotations

from mote.graph import Graph
from mote.kernels.cost import Costs
from mote.plan.plan import Plan
from mote.plan.scheduling.rows import Arrival, Work


def extra_by_rows(costs: Costs, graph: Graph, work: Work) -> float:
    """The extra cost of running an operator by rows instead of as a whole."""
    if isinstance(work.op, Arrival):
        return 0.0
    by_rows = costs.of(graph, work.op, work.kernel, whole=False)
    more = by_rows - costs.of(graph, work.op, work.kernel, whole=True)
    return max(more, costs.row * len(work.by_rows))


def estimate(costs: Costs, plan: Plan) -> float:
    """The estimated cost of a plan, in the unit of the costs."""
    return sum(
        costs.of(plan.graph, op, steps[0].kernel, steps[0].whole)
        for op, steps in plan.works
        if not isinstance(op, Arrival)
    )
