"""What plans cost, as far as the costs of kernels tell."""

from __future__ import annotations

from mote.graph import Graph
from mote.kernels.cost import Costs
from mote.plan.plan import Plan
from mote.plan.rows import Arrival, Work


def extra_by_rows(costs: Costs, graph: Graph, work: Work) -> float:
    """What an operator takes more by rows than as a whole."""
    if isinstance(work.op, Arrival):
        return 0.0
    by_rows = costs.of(graph, work.op, work.kernel, whole=False)
    more = by_rows - costs.of(graph, work.op, work.kernel, whole=True)
    return max(more, costs.row * len(work.by_rows))


def estimate(costs: Costs, plan: Plan) -> float:
    """About what a plan takes, in the unit of the costs."""
    return sum(
        costs.of(plan.graph, op, steps[0].kernel, steps[0].whole)
        for op, steps in plan.works
        if not isinstance(op, Arrival)
    )
