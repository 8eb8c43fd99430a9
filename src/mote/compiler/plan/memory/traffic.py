"""Traffic: the bytes that the steps of a plan read and write in each memory, and the core's waits for them.

A step that reads a row counts its bytes once, however often its inner loop does: what it reads again is in the cache of
a slow memory, or in registers. Working memory is written and read once in every step.
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
    """The accesses of one inference to a memory."""

    memory: Memory
    arena: int
    """Bytes of the arena there."""
    accessed: int
    """Bytes that are read and written."""

    @property
    def waits(self) -> int:
        """Estimated cycles that the core waits: each line of the cache is fetched once for every time that a step
        reads or writes its bytes."""
        return self.memory.data_reads.stream(self.accessed)


def traffic(plan: Plan) -> tuple[Traffic, ...]:
    """The traffic of each memory that the arena is spread over."""
    accessed = [0] * len(plan.memories)
    for memory, nbytes in _accesses(plan) if plan.memories else ():
        if memory >= 0:
            accessed[memory] += nbytes
    return tuple(map(Traffic, plan.memories, plan.arenas, accessed))


def waits(plan: Plan) -> int:
    """Estimated cycles that the core waits for the memories that the arena is spread over."""
    return sum(t.waits for t in traffic(plan)) if any(m.data_reads.waits for m in plan.memories) else 0


def in_one(parts: tuple[Traffic, ...], memory: Memory) -> Traffic:
    """The traffic of the plan if one memory held all of the arena."""
    return Traffic(memory, sum(t.arena for t in parts), sum(t.accessed for t in parts))


def activations(plan: Plan) -> list[int]:
    """Bytes of activations that each of `plan.works` reads and writes."""
    return [sum(nbytes for step in steps for _, nbytes in _rows(plan, step)) for _, steps in plan.works]


def _accesses(plan: Plan) -> Iterator[tuple[int, int]]:
    """Memory and bytes of everything that steps read and write."""
    for step in plan.steps:
        yield from ((plan.place[tensor].memory, nbytes) for tensor, nbytes in _rows(plan, step))
        yield step.scratch_memory, 2 * (step.kernel.needs.scratch or 0) if step.scratch is not None else 0
        yield step.sums_memory, 2 * step.kernel.needs.sums if step.sums is not None else 0


def _rows(plan: Plan, step: Step) -> Iterator[tuple[int, int]]:
    """Tensors of which a step reads or writes rows, and the bytes of these."""
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
