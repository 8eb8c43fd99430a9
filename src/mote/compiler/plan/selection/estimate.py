"""Estimated costs of plans, by the core's cost table."""

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
    """The estimated cost of a training step: the branch that runs only if a label is given."""
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
    """The estimated cost of each of `plan.works`; pushed inputs cost nothing."""
    return [
        0.0
        if isinstance(op, PushedInput)
        else costs.of(plan.graph, op, steps[0].kernel, steps[0].whole)
        * (1.0 if steps[0].whole else more_groups(steps[0].kernel, [s.rows for s in steps]))
        for op, steps in plan.works
    ]


def more_groups(kernel: Packed, groups: Sequence[Rows]) -> float:
    """The slowdown by shifted groups of rows: their number relative to that of groups from row 0 on, for kernels that
    take as long for a partial group as for a whole one."""
    if kernel.entry.group == 1 or not kernel.price.whole_tiles:
        return 1.0
    usual = -(-sum(rows.hi - rows.lo for rows in groups) // kernel.entry.group)
    return max(len(groups) / usual, 1.0)
