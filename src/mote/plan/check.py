"""A checker of plans that knows nothing of how they were made.

It walks the steps over an arena in which every byte remembers which tensor wrote it. A step may only read
bytes that still hold the tensor it wants, and may only write where nothing that is needed later lies.
"""

from __future__ import annotations

import numpy as np

from mote.graph import Graph, Op
from mote.graph.op import ABSENT
from mote.plan.kernel import Layout
from mote.plan.plan import ALIGNMENT, Buffer, Plan

FREE, SCRATCH = -1, -2


class PlanError(Exception):
    """The plan would compute a wrong result: always a bug of the planner."""


def check(plan: Plan) -> None:
    """Prove that every tensor is intact whenever it is read, or raise PlanError."""
    graph = plan.graph
    meaning = _meanings(graph)
    owner = np.full(plan.arena, FREE, np.int64)
    for b in plan.buffers:
        if b.offset % ALIGNMENT or b.offset < 0:
            raise PlanError(f"buffer of {b.tensors} starts at {b.offset}")
    for t in graph.inputs:
        _write(owner, plan.place[t], graph.tensors[t].nbytes, meaning[t])
    for i, step in enumerate(plan.steps):
        _check_layouts(plan, i)
        _check_overlap(plan, i)
        if step.scratch is not None:
            work = plan.buffers[step.scratch]
            _write(owner, work, work.nbytes, SCRATCH)
        for t in _activations(graph, step.op):
            _read(owner, plan, t, meaning[t], f"step {i} {step.op.kind}")
        out = step.op.outputs[0]
        _write(owner, plan.place[out], graph.tensors[out].nbytes, meaning[out])
    for t in graph.outputs:
        _read(owner, plan, t, meaning[t], "the caller")


def _meanings(graph: Graph) -> dict[int, int]:
    """Tensors that hold the same bytes (reshapes of one another) have one meaning."""
    meaning = {t: t for t in graph.tensors}
    for op in graph.ops:
        if op.is_view and graph.tensors[op.inputs[0]].data is None:
            meaning[op.outputs[0]] = meaning[op.inputs[0]]
    return meaning


def _activations(graph: Graph, op: Op) -> list[int]:
    return [t for t in op.inputs if t != ABSENT and graph.tensors[t].data is None]


def _check_layouts(plan: Plan, i: int) -> None:
    """A kernel finds its inputs and leaves its output in the layout of their buffers."""
    step = plan.steps[i]
    wrong = plan.place[step.op.outputs[0]].layout is not step.kernel.writes
    for position, t in enumerate(step.op.inputs):
        if t in plan.place:
            expected = step.kernel.reads if position == 0 else Layout.NHWC
            wrong = wrong or plan.place[t].layout is not expected
    if wrong:
        raise PlanError(f"step {i} {step.op.kind}: the kernel wants another layout than its buffers have")


def _check_overlap(plan: Plan, i: int) -> None:
    """A step's output may lie over an input only as a whole and only if the kernel allows it."""
    step = plan.steps[i]
    out = plan.place[step.op.outputs[0]]
    for t in _activations(plan.graph, step.op):
        source = plan.place[t]
        apart = source.end <= out.offset or out.end <= source.offset
        same = source.offset == out.offset and source.nbytes == out.nbytes and step.kernel.in_place
        if not apart and not same:
            raise PlanError(f"step {i} {step.op.kind} writes over tensor {t} while it reads it")
    if step.scratch is not None:
        work = plan.buffers[step.scratch]
        if not (work.end <= out.offset or out.end <= work.offset):
            raise PlanError(f"step {i} {step.op.kind}: scratch and output overlap")


def _read(owner: np.ndarray, plan: Plan, t: int, meaning: int, who: str) -> None:
    b = plan.place[t]
    if np.any(owner[b.offset : b.offset + plan.graph.tensors[t].nbytes] != meaning):
        raise PlanError(f"{who} reads tensor {t}, which was overwritten")


def _write(owner: np.ndarray, b: Buffer, nbytes: int, meaning: int) -> None:
    owner[b.offset : b.offset + nbytes] = meaning
