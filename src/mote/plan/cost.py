"""What running by rows costs in instructions, as an estimate: enough to choose between plans, not to report.

`mote run` and `mote explore` measure; where that is not possible `explore` shows this, as the estimate that it is.
"""

from __future__ import annotations

from mote.graph import Graph, Op
from mote.plan.plan import Plan
from mote.plan.rows import Arrival, Work

CALL = 120.0
"""Finding a row's pointers and calling a kernel for it."""
PAIRED = ("pointwise", "conv2d")
"""Kernels that take pixels two at a time; a single one costs this share of a pair:"""
SINGLE = 0.55
PER_MAC = 1.4
PER_MAC_FOUR = 0.95
"""Kernels that take four."""


def extra_by_rows(graph: Graph, work: Work) -> float:
    """Instructions that an operator takes more by rows than as a whole."""
    if isinstance(work.op, Arrival):
        return 0.0
    extra = CALL * len(work.by_rows)
    shape = work.op.output(graph).shape
    if work.kernel.name.startswith(PAIRED) and len(shape) == 4 and shape[2] % 2:
        rows = len(work.by_rows)
        per_pixel = work.op.macs(graph) / (shape[1] * shape[2]) * PER_MAC
        extra += (rows - 1) * (2 * SINGLE - 1) * per_pixel
    return extra


def worth_room(graph: Graph, op: Op, whole: bool) -> bool:
    """Whether a kernel that takes four pixels at a time is faster: short rows leave it half empty."""
    shape = op.output(graph).shape
    if whole or len(shape) != 4:
        return True
    width = shape[2]
    four = -(-width // 4) * 4 * PER_MAC_FOUR
    two = (width // 2 * 2 + width % 2 * 2 * SINGLE) * PER_MAC
    return four < two


def estimate(plan: Plan) -> float:
    """Instructions that a plan takes more than one with all operators whole and all fast kernels."""
    rows = {id(w.op): w for w in plan.rows.works}
    total = 0.0
    for op, steps in plan.works:
        if not steps[0].whole:
            total += extra_by_rows(plan.graph, rows[id(op)])
        if steps[0].kernel.name.startswith(("pointwise_s8", "conv2d_s8")):
            total += op.macs(plan.graph) * (PER_MAC - PER_MAC_FOUR)
    return total
