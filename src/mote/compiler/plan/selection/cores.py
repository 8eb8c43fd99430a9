"""Layers on two cores: which kernels can be split, where, and what that saves.

Between two barriers both cores call the same kernel, each for a range of output rows, or of channels where the kernel
computes whole images. For a fully connected layer, or a convolution with one output pixel, each core has its own kernel
with the weights of its channels. A split kernel is one more candidate of its operator, with scratch for both cores and
the cost of the slower one, so that the planner chooses it where it pays and fits.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import ALIGNMENT, NHWC, Call, Packed, Refusal, View, aligned
from mote.compiler.offload.contract import Offloaded
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.plan import ControlFlowKernel, Plan, Runs, SplitKernel, Step
from mote.compiler.plan.scheduling.rows import PushedInput, further_outputs, takes_rows
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.rows import row_count
from mote.ir.ops.control.custom import Custom
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D

BARRIERS = 2
"""Barriers of a split layer: one before and one after it. The estimate ignores that consecutive layers share one."""

BY_CHANNELS = (FullyConnected, Conv2D)
"""Operators whose weights have the output channels on their first axis."""
GROUP = 8
"""The number of channels of the first core is a multiple of this, for whole tiles and alignment of any type."""


def split(graph: Graph, op: Op, kernel: Packed, cost: float, how: Lowering, goal: Goal) -> SplitKernel | Refusal:
    """A kernel split over two cores, or the reason against it. `cost`: of the operator on one core."""
    kernel = kernel.for_channels()
    why = _whole_only(op, kernel)
    if why:
        return Refusal(why)
    rows = row_count(op.output(graph).shape)
    made: SplitKernel | Refusal
    if kernel.entry.call is Call.CHANNELS:
        made = _run_of_channels(graph, op, kernel, cost, goal)
    elif rows == 1:
        made = _by_channels(graph, op, kernel, how, goal)
    else:
        made = _by_rows(graph, op, kernel, rows, cost, goal)
    if isinstance(made, SplitKernel) and (made.price.cost or 0) >= cost:
        unit, barriers = goal.costs.unit, BARRIERS * goal.barrier
        waits = goal.costs.waiting(graph, op, kernel)
        held = f", {waits:,.0f} of them waiting for flash" if waits else ""
        return Refusal(f"nothing to gain: {cost:,.0f} {unit}{held}, two barriers take {barriers:,.0f}")
    return made


def _by_rows(graph: Graph, op: Op, kernel: Packed, rows: int, cost: float, goal: Goal) -> SplitKernel | Refusal:
    at = _middle(graph, op, kernel, rows)
    return _cut(graph, op, kernel, at, rows, cost, goal) if at else Refusal("its operands cannot be cut at a row")


def _cut(graph: Graph, op: Op, kernel: Packed, at: int, count: int, cost: float, goal: Goal) -> SplitKernel:
    """A split kernel: the first core computes rows (or channels) 0..at-1 of `count`."""
    longer = cost * max(at, count - at) / count
    return SplitKernel.of(kernel, at, _taken(graph, op, kernel, longer, goal))


def _taken(graph: Graph, op: Op, kernel: Packed, longer: float, goal: Goal) -> float:
    """The cost of a layer on two cores, `longer` being that of the slower one: at least all wait states of flash, which
    serves one core at a time, plus barriers."""
    return max(longer, goal.costs.waiting(graph, op, kernel)) + BARRIERS * goal.barrier


def _run_of_channels(graph: Graph, op: Op, kernel: Packed, cost: float, goal: Goal) -> SplitKernel | Refusal:
    """A kernel that computes any range of channels, split in the middle."""
    channels = op.output(graph).channels
    if channels < 2:
        return Refusal("its output has one channel")
    return _cut(graph, op, kernel, _half(channels, 1), channels, cost, goal)


def _by_channels(graph: Graph, op: Op, kernel: Packed, how: Lowering, goal: Goal) -> SplitKernel | Refusal:
    """A split by channels of a layer with a single output pixel, each core with a kernel of its own."""
    out, plain = op.output(graph), (kernel.needs.reads, kernel.needs.writes) == (NHWC, NHWC)
    if type(op) not in BY_CHANNELS or op.input(graph, 1).data is None or out.size != out.channels or not plain:
        return Refusal("its output has one row")
    at = aligned(-(-out.channels // 2), GROUP)
    if at >= out.channels:
        return Refusal(f"its output has {out.channels} channels")
    views = [_part(graph, op, lo, hi, how) for lo, hi in ((0, at), (at, out.channels))]
    parts = [_like(kernel, view, how) for view in views]
    if None in parts:
        return Refusal("its kernel does not fit half of the channels")
    known = tuple(part for part in parts if part is not None)
    costs = [goal.costs.of(v.graph, v.op, part, whole=True) for v, part in zip(views, known, strict=True)]
    return SplitKernel.of(kernel, at, _taken(graph, op, kernel, max(costs), goal), known)


@lru_cache(maxsize=128)
def _part(graph: Graph, op: Op, lo: int, hi: int, how: Lowering) -> View:
    """A layer with output channels lo..hi-1 only, in a graph of its own."""
    tensors = {i: t for i in op.inputs if (t := graph.tensors.get(i)) is not None}
    tensors |= {i: _channels(tensors[i], lo, hi) for i in op.inputs[1:] if i in tensors}
    out = op.output(graph)
    tensors[out.id] = replace(out, shape=(*out.shape[:-1], hi - lo))
    alone = Graph(graph.name, tensors, (op,), op.inputs[:1], op.outputs)
    return View(alone, (op,), small=how.optimize is Policy.SIZE, fast=how.optimize is Policy.SPEED)


def _channels(t: Tensor, lo: int, hi: int) -> Tensor:
    """Rows lo..hi-1 of weights or of a bias, with their scales."""
    assert t.data is not None
    data, quant = np.ascontiguousarray(t.data[lo:hi]), t.quant
    if quant is not None and quant.per_channel:
        zeros = np.broadcast_to(quant.zero_point, quant.scale.shape)
        quant = replace(quant, scale=quant.scale[lo:hi], zero_point=zeros[lo:hi])
    return replace(t, shape=data.shape, data=data, quant=quant)


def _like(kernel: Packed, view: View, how: Lowering) -> Packed | None:
    """The kernel of the same family (and knobs) for a part of a layer, if there is one."""
    if kernel.knobs:
        bound = [packed for _, packed in catalogue.with_knobs(view, how.features, kernel.knobs, fixed=how.fixed)]
        offered = [packed for packed in bound if isinstance(packed, Packed)]
    else:
        offered = catalogue.candidates(view, how.features, fixed=how.fixed)
    return next((packed for packed in offered if packed.family == kernel.family), None)


def _whole_only(op: Op, kernel: Packed) -> str:
    """The reason why an operator or kernel cannot be split, whatever the shape; empty if it can."""
    if isinstance(kernel, ControlFlowKernel):
        return "control flow"
    if isinstance(kernel, Offloaded):
        return "an external generator computes it"
    if isinstance(op, Custom):
        return "a custom operator, which need not be reentrant"
    if op.updates or kernel.entry.call is Call.RING:
        return "it updates a state"
    if kernel.entry.call is Call.ADDS:
        return "it adds up rows"
    if kernel.entry.call not in (Call.FLAT, Call.ROWS, Call.CHANNELS) or further_outputs(op):
        return "its kernel computes all of it in one call"
    return "its weights are decoded in one piece" if kernel.price.coding is not None else ""


def _middle(graph: Graph, op: Op, kernel: Packed, rows: int) -> int | None:
    """The first row of the second core: as near to the middle as tiles and alignment allow; None if there is none."""
    if kernel.entry.call is Call.ROWS:
        at = _half(rows, kernel.price.tile[0])
        return at if at < rows else None
    if not takes_rows(graph, op, kernel) or (kernel.needs.reads, kernel.needs.writes) != (NHWC, NHWC):
        return None
    advanced = [advances(graph, op, position) for position in kernel.entry.operands]
    if None in advanced:
        return None
    tensors = [op.input(graph, p) for p, moves in zip(kernel.entry.operands, advanced, strict=True) if moves]
    sizes = [t.nbytes // rows for t in (*tensors, op.output(graph))]
    candidates = (at for at in range(1, rows) if all(at * size % ALIGNMENT == 0 for size in sizes))
    return min(candidates, key=lambda at: abs(2 * at - rows), default=None)


def _half(rows: int, tile: int) -> int:
    """Half of some rows, rounded up to whole tiles."""
    return -(-rows // (2 * tile)) * tile


def advances(graph: Graph, op: Op, position: int) -> bool | None:
    """How an operand moves with the output row, for kernels that compute a range of rows: True if output row y reads
    input row y, False if every row reads from row 0 on (broadcast); None if neither."""
    rows = range(row_count(op.output(graph).shape))
    firsts = [(op.reads(graph, position, y) or (0,))[0] for y in rows]
    if firsts == list(rows) and row_count(op.input(graph, position).shape) == len(rows):
        return True
    return None if any(firsts) else False


def centred(plan: Plan) -> Plan:
    """The plan with split layers re-split in the middle of the rows that are computed, where dead rows are left out; a
    single row is computed by one core."""
    return replace(plan, steps=tuple(replace(step, kernel=_centred(step)) for step in plan.steps))


def _centred(step: Step) -> Packed:
    kernel, (lo, hi) = step.kernel, (step.rows.lo, step.rows.hi)
    if not isinstance(kernel, SplitKernel) or kernel.of_channels or lo < kernel.at < hi:
        return kernel
    at = lo + _half(hi - lo, kernel.price.tile[0])
    return replace(kernel, at=at) if at < hi else kernel.alone


def divided(plan: Plan, op: Op, steps: tuple[Step, ...]) -> str:
    """How the cores share an operator, or why one computes it alone, for reports; empty in a plan for one core."""
    kernel, goal = steps[0].kernel, plan.goal
    if goal.cores == 1 or isinstance(op, PushedInput):
        return ""
    if isinstance(kernel, SplitKernel):
        rows = steps[0].rows
        lo, hi = (0, op.output(plan.graph).channels) if kernel.of_channels else (rows.lo, rows.hi)
        what = "channels" if kernel.of_channels else "rows"
        return f"split: {what} {lo}-{kernel.at - 1} and {kernel.at}-{hi - 1}"
    if plan.runs(steps) is Runs.ROWS:
        return "one core: it runs by rows"
    made = split(plan.graph, op, kernel, goal.costs.of(plan.graph, op, kernel, whole=True), plan.how, goal)
    why = made.why if isinstance(made, Refusal) else f"no room for {made.needs.scratch or 0:,} bytes of working memory"
    return f"one core: {why}"


def alone(plan: Plan) -> float:
    """The estimated cost of a two-core plan on one core."""
    kernels = ((op, steps[0], _single(steps[0].kernel)) for op, steps in plan.works if not isinstance(op, PushedInput))
    return sum(plan.goal.costs.of(plan.graph, op, kernel, step.whole) for op, step, kernel in kernels)


def _single(kernel: Packed) -> Packed:
    return kernel.alone if isinstance(kernel, SplitKernel) else kernel
