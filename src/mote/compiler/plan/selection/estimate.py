"""Estimated costs of plans, from the kernels' cost tables."""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.kernels.contract import Packed
from mote.compiler.kernels.cost import Costs
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.scheduling.rows import PushedInput, Work
from mote.ir.graph import Graph, Rows
from mote.ir.graph.types import StateRole
from mote.ir.ops.control.control_flow import If


def training_cost(costs: Costs, plan: Plan) -> float:
    """The part of a plan's cost that only inferences with a label have: the branch that learns."""
    learned = {s.after for s in plan.graph.states if s.role is StateRole.LEARNED}
    return sum(
        cost
        for (op, _), cost in zip(plan.works, layer_costs(costs, plan), strict=True)
        if isinstance(op, If) and not learned.isdisjoint(op.outputs)
    )


def extra_by_rows(costs: Costs, graph: Graph, work: Work) -> float:
    """The extra cost of running an operator by rows instead of as a whole."""
    if isinstance(work.op, PushedInput):
        return 0.0
    by_rows = costs.of(graph, work.op, work.kernel, whole=False)
    more = by_rows - costs.of(graph, work.op, work.kernel, whole=True)
    return max(more, costs.row * len(work.by_rows))


def estimate(costs: Costs, plan: Plan) -> float:
    """The estimated cost of a plan, in the unit of the costs."""
    return sum(layer_costs(costs, plan))


def layer_costs(costs: Costs, plan: Plan) -> list[float]:
    """The estimated cost of each of `plan.works`; handing over an input costs nothing."""
    return [
        0.0
        if isinstance(op, PushedInput)
        else costs.of(plan.graph, op, steps[0].kernel, steps[0].whole)
        * (1.0 if steps[0].whole else more_groups(steps[0].kernel, [s.rows for s in steps]))
        for op, steps in plan.works
    ]


def more_groups(kernel: Packed, groups: Sequence[Rows]) -> float:
    """How many times as many groups of rows there are as the kernel would have from row 0 on, if it takes as long for
    groups of fewer rows."""
    if kernel.entry.group == 1 or not kernel.price.whole_tiles:
        return 1.0
    usual = -(-sum(rows.hi - rows.lo for rows in groups) // kernel.entry.group)
    return max(len(groups) / usual, 1.0)
