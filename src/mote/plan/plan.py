"""The Plan: what is computed when, by which kernel, where every byte lies. All back ends print this."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from mote.graph import Graph, Op, Rows
from mote.ops.state import Window
from mote.plan.kernel import Kernel, Layout
from mote.plan.rows import ALIGNMENT, Arrival, RowGraph, aligned
from mote.targets import Memory

if TYPE_CHECKING:
    from mote.plan.choice import Option
    from mote.plan.schedule import Schedule

__all__ = ["ALIGNMENT", "KEPT", "Buffer", "Cell", "Plan", "Step"]

KEPT = -1
"""The memory of what is kept from one inference to the next, which is no arena."""


@dataclass(frozen=True)
class Buffer:
    """Where the rows of a tensor and its views lie; of running sums where there are no tensors."""

    tensors: tuple[int, ...]
    row_bytes: int
    offsets: tuple[int | None, ...]
    """Of each row; None for rows that nobody needs."""
    layout: Layout = Layout.NHWC
    memory: int = 0
    """Which of the plan's memories it is in, or KEPT."""
    ring: int | None = None
    """The number of the ring buffer that the rows are, if they are one: row 0 is the oldest, wherever that lies."""

    @cached_property
    def base(self) -> int | None:
        """The offset of row 0, if all rows lie one after another from there."""
        found = {o - i * self.row_bytes for i, o in enumerate(self.offsets) if o is not None}
        return found.pop() if len(found) == 1 and min(found) >= 0 else None

    @property
    def offset(self) -> int:
        """Where the whole tensor begins; of a tensor of which nobody needs a row, anywhere."""
        if all(o is None for o in self.offsets):
            return 0
        assert self.base is not None
        return self.base

    @property
    def end(self) -> int:
        return max((o + self.row_bytes for o in self.offsets if o is not None), default=0)


@dataclass(frozen=True)
class Step:
    """One kernel call: `rows` of the output of `op`, or one more row added to its sums."""

    op: Op
    kernel: Kernel
    rows: Rows
    whole: bool = True
    """The step computes all of its operator."""
    tap: int | None = None
    """ADDS kernels: which row of the window is added."""
    sums: int | None = None
    """The offset of the running sums."""
    scratch: int | None = None
    """The offset of the working memory."""
    sums_memory: int = 0
    scratch_memory: int = 0


@dataclass(frozen=True)
class Cell:
    """A row (or sums, or working memory) in the arena: from the step that writes it (-1: the caller) to the last one
    that reads it (the number of steps: the caller)."""

    tensors: tuple[int, ...]
    row: int
    nbytes: int
    offset: int
    first: int
    last: int
    role: str = "row"
    """row, sums or scratch."""
    memory: int = 0

    @property
    def end(self) -> int:
        return self.offset + self.nbytes


@dataclass(frozen=True)
class Plan:
    """The whole decision."""

    graph: Graph
    rows: RowGraph
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    cells: tuple[Cell, ...]
    schedule: Schedule
    bottom_up: bool = False
    zone: int = 0
    """Bytes around every buffer that nobody else has: debug builds see whether a kernel writes there."""
    memories: tuple[Memory, ...] = ()
    """Those that the arena is spread over, fastest first; none where there is no choice."""

    choices: Mapping[int, tuple[Option, ...]] = field(default_factory=dict, compare=False, repr=False)
    """The kernels that each operator (by its id()) could have had, the one that it has first."""
    prove: Callable[[], int] = field(default=lambda: 0, compare=False, repr=False)
    """Finds `bound`, which takes as long as planning."""

    @cached_property
    def bound(self) -> int:
        """Bytes of arena that no plan takes less than that computes the same rows as often."""
        return self.prove()

    @cached_property
    def place(self) -> dict[int, Buffer]:
        """The buffer of each tensor that has one."""
        return {t: b for b in self.buffers for t in b.tensors}

    @property
    def peak(self) -> int:
        """The most bytes that are live at one step: no placement of this schedule needs less. (A row counts with the
        bytes that align it, which a tensor in one piece does not have.)"""
        return min(self.schedule.peak, self.arena)

    @cached_property
    def arenas(self) -> tuple[int, ...]:
        """Bytes in each of the memories, of which there is always one."""
        ends = [0] * max(len(self.memories), 1)
        for cell in self.cells:
            ends[cell.memory] = max(ends[cell.memory], cell.end + self.zone)
        return tuple(ends)

    @cached_property
    def arena(self) -> int:
        return sum(self.arenas)

    @cached_property
    def works(self) -> tuple[tuple[Op, tuple[Step, ...]], ...]:
        """The operators in order, with their steps."""
        found: dict[int, tuple[Op, list[Step]]] = {id(w.op): (w.op, []) for w in self.rows.works}
        for step in self.steps:
            found[id(step.op)][1].append(step)
        return tuple((op, tuple(steps)) for op, steps in found.values() if steps)

    @property
    def layered(self) -> bool:
        """Every operator runs whole."""
        return all(step.whole for step in self.steps)

    @property
    def straight(self) -> bool:
        """One operator after another, each in one step."""
        return [id(step.op) for step in self.steps] == [id(op) for op, _ in self.works]

    @property
    def pushed(self) -> bool:
        """The input is handed over row by row."""
        return any(isinstance(w.op, Arrival) for w in self.rows.works)

    @property
    def static(self) -> int:
        """Bytes of RAM besides the arena: where the run has got to, and what is kept for the next one."""
        return self.position_bytes + self.counter_bytes * self.counters + self.kept_bytes

    @cached_property
    def state_bytes(self) -> int:
        """Bytes of the states."""
        return sum(aligned(s.initial.nbytes) for s in self.graph.states)

    @property
    def kept_bytes(self) -> int:
        """Bytes that live from one inference to the next: states, the oldest row of each ring buffer, and how many
        inferences there still are before the outputs mean something."""
        return aligned(self.state_bytes + 2 * self.rings + 2 * (self.graph.warm_up > 0))

    @property
    def kept(self) -> list[tuple[Buffer, bool]]:
        """Where the states lie, and whether each is a window over a stream."""
        windows = {op.outputs[0] for op in self.graph.ops if isinstance(op, Window)}
        return [(self.place[s.after], s.after in windows) for s in self.graph.states]

    @cached_property
    def rings(self) -> int:
        return len({b.ring for b in self.buffers if b.ring is not None})

    @property
    def counters(self) -> int:
        """How many operators take more than one step: each counts them."""
        return sum(len(steps) > 1 for _, steps in self.works)

    @property
    def position_bytes(self) -> int:
        """Bytes of the place in the schedule."""
        return 2 if len(self.steps) < 1 << 16 else 4

    @property
    def counter_bytes(self) -> int:
        """Bytes of the counter of each operator that runs by rows."""
        return 1 if all(len(steps) < 1 << 8 for _, steps in self.works) else 2

    @property
    def ram(self) -> int:
        return self.arena + self.static

    @property
    def taps(self) -> int:
        """The most row pointers that a kernel is given."""
        return max((s.kernel.taps for s in self.steps), default=0)

    def labels(self) -> Iterator[str]:
        for step in self.steps:
            span = "" if step.whole else f" row {step.rows.lo if step.tap is None else step.tap}"
            yield f"{step.op.kind} {step.op.name}{span}"
