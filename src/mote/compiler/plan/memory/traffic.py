"""Traffic: the bytes that the steps of a plan read and write in each memory, and the wait states that they cost.

A step counts each row that it reads once, however often its inner loop reads it: the rest hits the cache of a slow
memory, or registers. Scratch is written and read once in every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mote.compiler.plan.plan import Plan, Step
from mote.compiler.plan.scheduling.rows import PushedInput, further_outputs
from mote.hardware.targets import Memory
from mote.ir.graph.rows import OUTSIDE, row_count


@dataclass(frozen=True)
class Traffic:
    """The accesses of one inference to one memory."""

    memory: Memory
    arena: int
    """Bytes of the arena in this memory."""
    accessed: int
    """Bytes that are read and written."""

    @property
    def waits(self) -> int:
        """Estimated cycles of wait states, each cache line being fetched once by every step that accesses it."""
        return self.memory.data_reads.stream(self.accessed)


def traffic(plan: Plan) -> tuple[Traffic, ...]:
    """The traffic of each of `plan.memories`."""
    accessed = [0] * len(plan.memories)
    for memory, nbytes in _accesses(plan) if plan.memories else ():
        if memory >= 0:
            accessed[memory] += nbytes
    return tuple(map(Traffic, plan.memories, plan.arenas, accessed))


def waits(plan: Plan) -> int:
    """Estimated cycles of wait states over all of `plan.memories`."""
    return sum(t.waits for t in traffic(plan)) if any(m.data_reads.waits for m in plan.memories) else 0


def in_one(parts: tuple[Traffic, ...], memory: Memory) -> Traffic:
    """The total traffic if the whole arena were in `memory`."""
    return Traffic(memory, sum(t.arena for t in parts), sum(t.accessed for t in parts))


def activations(plan: Plan) -> list[int]:
    """By index in `plan.works`: the bytes of activations that the operator reads and writes."""
    return [sum(nbytes for step in steps for _, nbytes in _rows(plan, step)) for _, steps in plan.works]


def _accesses(plan: Plan) -> Iterator[tuple[int, int]]:
    """Memory number and bytes of each access of the steps: rows, scratch, accumulators."""
    for step in plan.steps:
        yield from ((plan.place[tensor].memory, nbytes) for tensor, nbytes in _rows(plan, step))
        yield step.scratch_memory, 2 * (step.kernel.needs.scratch or 0) if step.scratch is not None else 0
        yield step.sums_memory, 2 * step.kernel.needs.sums if step.sums is not None else 0


def _rows(plan: Plan, step: Step) -> Iterator[tuple[int, int]]:
    """The tensors that a step reads and writes, each with the bytes of the accessed rows."""
    graph, op = plan.graph, plan.op(step)
    for position, t in () if isinstance(op, PushedInput) else op.computed(graph):
        count = row_count(graph.tensors[t].shape)
        if step.tap is not None:
            rows = 1
        elif op.reads(graph, position, 0) is None:
            rows = count
        else:
            read = (r for y in range(step.rows.lo, step.rows.hi) for r in op.reads(graph, position, y) or ())
            rows = len({r for r in read if r != OUTSIDE})
        yield t, rows * graph.tensors[t].nbytes // count
    made = graph.tensors[op.outputs[0]]
    yield made.id, (step.rows.hi - step.rows.lo) * made.nbytes // row_count(made.shape)
    yield from ((t, graph.tensors[t].nbytes) for t in further_outputs(op))
