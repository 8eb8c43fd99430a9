"""Layers on two cores: which kernels can be split, at which row, and what that saves.

Both cores call the same kernel, each for rows of its own, between two barriers. A kernel that is split is one more
candidate of its operator, with scratch for either core and the cost of the longer half, so that the planner chooses it
where it pays and fits.
"""

from __future__ import annotations

from mote.graph import Graph, Op
from mote.graph.rows import row_count
from mote.kernels.contract import ALIGNMENT, NHWC, Call, Packed, Refusal
from mote.offload.contract import Offloaded
from mote.ops.control.custom import Custom
from mote.plan.goal import Goal
from mote.plan.plan import Bodied, Halved, Plan, Runs, Step
from mote.plan.scheduling.rows import Arrival, further_outputs, takes_rows

BARRIERS = 2
"""Barriers of a split layer: one before it, one after it. Layers that follow each other share one, which the estimate
does not count."""


def split(graph: Graph, op: Op, kernel: Packed, cost: float, goal: Goal) -> Halved | Refusal:
    """The kernel of an operator for two cores, where one core takes `cost` for all of it; or why one core computes it
    alone."""
    why = _whole_only(op, kernel)
    if why:
        return Refusal(why)
    rows = row_count(op.output(graph).shape)
    if rows == 1:
        return Refusal("its output has one row")
    at = _middle(graph, op, kernel, rows)
    if at is None:
        return Refusal("its operands cannot be cut at a row")
    taken = cost * max(at, rows - at) / rows + BARRIERS * goal.barrier
    if taken >= cost:
        return Refusal(f"too small: {cost:,.0f} {goal.costs.unit}, two barriers take {BARRIERS * goal.barrier:,.0f}")
    return Halved.of(kernel, at, taken)


def _whole_only(op: Op, kernel: Packed) -> str:
    """Why an operator cannot be split whatever its shape is; empty where it can."""
    if isinstance(kernel, Bodied):
        return "control flow"
    if isinstance(kernel, Offloaded):
        return "an external generator computes it"
    if isinstance(op, Custom):
        return "a custom operator, which need not be reentrant"
    if op.updates or kernel.entry.call is Call.RING:
        return "it updates a state"
    if kernel.entry.call is Call.ADDS:
        return "it adds up rows"
    if kernel.entry.call not in (Call.FLAT, Call.ROWS) or further_outputs(op):
        return "its kernel computes all of it in one call"
    return "its weights are decoded in one piece" if kernel.price.coding is not None else ""


def _middle(graph: Graph, op: Op, kernel: Packed, rows: int) -> int | None:
    """The first row of the second core: as near to the middle as whole tiles and the alignment of tensors allow."""
    if kernel.entry.call is Call.ROWS:
        high = kernel.price.tile[0]
        at = -(-rows // (2 * high)) * high
        return at if 0 < at < rows else None
    if not takes_rows(graph, op, kernel) or (kernel.needs.reads, kernel.needs.writes) != (NHWC, NHWC):
        return None
    advanced = [advances(graph, op, position) for position in kernel.entry.operands]
    if None in advanced:
        return None
    tensors = [op.input(graph, p) for p, moves in zip(kernel.entry.operands, advanced, strict=True) if moves]
    sizes = [t.nbytes // rows for t in (*tensors, op.output(graph))]
    aligned = (at for at in range(1, rows) if all(at * size % ALIGNMENT == 0 for size in sizes))
    return min(aligned, key=lambda at: abs(2 * at - rows), default=None)


def advances(graph: Graph, op: Op, position: int) -> bool | None:
    """Whether an operand of a kernel for any run of rows begins at the row of the output, or at its own first row for
    every row; None where it is neither."""
    rows = range(row_count(op.output(graph).shape))
    firsts = [(op.reads(graph, position, y) or (0,))[0] for y in rows]
    if firsts == list(rows) and row_count(op.input(graph, position).shape) == len(rows):
        return True
    return None if any(firsts) else False


def divided(plan: Plan, op: Op, steps: tuple[Step, ...]) -> str:
    """How the cores share an operator of a plan, or why one computes it alone; empty for a plan for one core."""
    kernel, goal = steps[0].kernel, plan.goal
    if goal.cores == 1 or isinstance(op, Arrival):
        return ""
    if isinstance(kernel, Halved):
        rows = steps[0].rows
        return f"split: rows {rows.lo}-{kernel.at - 1} and {kernel.at}-{rows.hi - 1}"
    if plan.runs(steps) is Runs.ROWS:
        return "one core: it runs by rows"
    made = split(plan.graph, op, kernel, goal.costs.of(plan.graph, op, kernel, whole=True), goal)
    why = made.why if isinstance(made, Refusal) else f"no room for {made.needs.scratch or 0:,} bytes of working memory"
    return f"one core: {why}"


def alone(plan: Plan) -> float:
    """The estimated cost of a plan if one core computed all of it."""
    kernels = ((op, steps[0], _single(steps[0].kernel)) for op, steps in plan.works if not isinstance(op, Arrival))
    return sum(plan.goal.costs.of(plan.graph, op, kernel, step.whole) for op, step, kernel in kernels)


def _single(kernel: Packed) -> Packed:
    return kernel.alone if isinstance(kernel, Halved) else kernel
