"""The `Plan`: the order of kernel calls and the address of every row of every tensor. `compiler/lower` turns it into
instructions, which back ends print.

Example: CONV with 12 output rows, MAX_POOL 2x2 and FULLY_CONNECTED, within 900 bytes of RAM. A *step* is a kernel call:
CONV row 0, CONV row 1, POOL row 0, CONV row 2, ... A *work* is an operator (or a fused region) with its steps; here
there are three, with 12, 6 and 1 steps. A *buffer* has the addresses of a tensor's rows: those of CONV's are 576, 744,
576, ..., as row 2 overwrites row 0 once POOL has read it. A *cell* is one row with its live range: CONV row 0 is 96
bytes at 576, live from step 0 to step 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property

from mote.compiler.kernels.contract import ALIGNMENT, NHWC, Call, Layout, Packed, aligned
from mote.compiler.offload.contract import Artifact, Offloaded
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.json_codec import dump, load, same
from mote.compiler.plan.scheduling.rows import (
    KEPT,
    LENT,
    PushedInput,
    alignment_of,
    further_outputs,
    operator,
    outside_places,
)
from mote.compiler.plan.selection.request import Lowering
from mote.hardware.targets import Memory
from mote.ir.graph import Graph, Op, Rows
from mote.ir.graph.region import Numbers, in_order
from mote.ir.ops.control.state import SlidingWindow

__all__ = [
    "KEPT",
    "LENT",
    "Buffer",
    "Cell",
    "ControlFlowKernel",
    "Copy",
    "Option",
    "Plan",
    "Role",
    "Runs",
    "SplitKernel",
    "Step",
]

ARENA_ALIGNMENT = 8
"""Minimum alignment of an arena, in bytes."""
STATUS_BYTES = 4
"""Bytes of the status that an accelerator call returns, kept until the accelerator is done."""


@dataclass(frozen=True)
class Buffer:
    """The addresses of the rows of a tensor and its views, or of an accumulator (then `tensors` is empty)."""

    tensors: tuple[int, ...]
    row_bytes: int
    offsets: tuple[int | None, ...]
    """Offset of each row in its memory, in bytes; None for rows that nothing reads."""
    layout: Layout = NHWC
    memory: int = 0
    """Index in `Plan.memories`; or KEPT (states), or LENT and below (memory of the caller)."""
    ring: int | None = None
    """The number of the ring buffer that holds the rows, if any: row 0 is the oldest row, whose address then moves."""

    @cached_property
    def base(self) -> int | None:
        """The offset of row 0 if the rows are contiguous, else None."""
        bases = {o - i * self.row_bytes for i, o in enumerate(self.offsets) if o is not None}
        return bases.pop() if len(bases) == 1 and min(bases) >= 0 else None

    @property
    def offset(self) -> int:
        """The offset of a contiguous tensor; 0 if nothing reads any of its rows."""
        if all(o is None for o in self.offsets):
            return 0
        assert self.base is not None
        return self.base

    @property
    def end(self) -> int:
        return max((o + self.row_bytes for o in self.offsets if o is not None), default=0)


@dataclass(frozen=True)
class Step:
    """One kernel call: computes `rows` of the output of its operators, or accumulates one input row."""

    ops: Numbers
    """The numbers of the operators that the kernel computes (see `Plan`): one, or several fused ones, whose
    intermediate tensors have no buffer."""
    kernel: Packed
    rows: Rows
    whole: bool = True
    """Whether this step alone computes the whole output."""
    tap: int | None = None
    """For accumulating kernels (`Call.ADDS`): the row of the window that the step accumulates."""
    sums: int | None = None
    """The offset of the accumulators; None for kernels without."""
    scratch: int | None = None
    """The offset of the scratch buffer; None for kernels without."""
    sums_memory: int = 0
    scratch_memory: int = 0


class Role(StrEnum):
    """The contents of a `Cell`."""

    ROW = "row"
    SUMS = "sums"
    SCRATCH = "scratch"


class Runs(StrEnum):
    """How an operator is cut into steps, as reports print it."""

    WHOLE = "whole"
    ROWS = "rows"
    SUMS = "sums"
    """One step for each input row, which is accumulated."""
    INPUT = "input"
    """A pushed input: one step for each row that the caller passes."""


@dataclass(frozen=True)
class Cell:
    """A row, an accumulator or a scratch buffer in the arena, with its live range: from step `first`, which writes it
    (-1: the caller, before the run), to step `last`, the last reader (the number of steps: the caller, after it)."""

    tensors: tuple[int, ...]
    row: int
    nbytes: int
    offset: int
    first: int
    last: int
    role: Role = Role.ROW
    memory: int = 0

    @property
    def end(self) -> int:
        return self.offset + self.nbytes


@dataclass(frozen=True)
class Option:
    """A candidate kernel of an operator; `why`: the reason for or against it."""

    kernel: str
    family: str
    cost: int
    """Estimated cost, in the unit of the core's cost table."""
    constants: int
    """Bytes of constants in flash."""
    scratch: int
    chosen: bool
    why: str


@dataclass(frozen=True, eq=False)
class Plan:
    """Order, kernels and addresses of a compiled graph, as data that can be written and read back. Operators are
    identified by their indices in `graph.ops`; negative numbers are pushed inputs (see `rows.operator`)."""

    graph: Graph
    """The graph, its operators in execution order."""
    how: Lowering
    goal: Goal
    """The budgets and constraints that the plan meets."""
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    cells: tuple[Cell, ...]
    scheduled: int
    """Peak of live bytes, with every row padded to its alignment; contiguous tensors need no such padding, so that the
    arena may be smaller."""
    bottom_up: bool = False
    memories: tuple[Memory, ...] = ()
    """The memories that the arena is spread over, fastest first; empty on targets with one."""

    choices: Mapping[Numbers, tuple[Option, ...]] = field(default_factory=dict)
    """The candidate kernels of each step's operators, the chosen one first."""

    def __repr__(self) -> str:
        return f"<Plan of {self.graph.name!r}: {len(self.steps)} steps, arena {self.arena:,} bytes>"

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    def to_json(self) -> str:
        """The plan as text, weights included: `from_json` reads an equal one."""
        return dump(self)

    @staticmethod
    def from_json(text: str) -> Plan:
        decoded = load(text)
        assert isinstance(decoded, Plan), "this is no plan"
        return decoded

    @property
    def zone(self) -> int:
        """Bytes of red zone around every buffer: debug builds check that no kernel writes there."""
        return self.goal.zone

    @cached_property
    def place(self) -> dict[int, Buffer]:
        """The buffer of each tensor that has one."""
        return {t: b for b in self.buffers for t in b.tensors}

    @property
    def alignment(self) -> int:
        """Alignment that the arenas need, in bytes."""
        kernels = [step.kernel for step in self.steps]
        return max([ARENA_ALIGNMENT, *(max(k.needs.alignment, k.needs.tensor_alignment) for k in kernels)])

    @property
    def peak(self) -> int:
        """Peak of live bytes: a lower bound of the arena for this schedule."""
        return min(self.scheduled, self.arena)

    @cached_property
    def arenas(self) -> tuple[int, ...]:
        """Bytes of the arena in each memory (one where `memories` is empty)."""
        ends = [0] * max(len(self.memories), 1)
        for cell in self.cells:
            ends[cell.memory] = max(ends[cell.memory], cell.end + self.zone)
        return tuple(ends)

    @cached_property
    def arena(self) -> int:
        return sum(self.arenas)

    @cached_property
    def works(self) -> tuple[tuple[Op, tuple[Step, ...]], ...]:
        """The operators in execution order, fused ones joined into one operator, each with its steps."""
        steps: dict[Numbers, list[Step]] = {}
        for step in self.steps:
            steps.setdefault(step.ops, []).append(step)
        order = in_order(self.graph, steps)
        assert order is not None, "steps that need one another"
        return tuple((operator(self.graph, ops), tuple(steps[ops])) for ops in order)

    @cached_property
    def numbers(self) -> dict[Numbers, int]:
        """Index in `works` by `Step.ops`."""
        return {steps[0].ops: i for i, (_, steps) in enumerate(self.works)}

    def number(self, step: Step) -> str:
        """The label of a step's operators in reports: the number of the layer in the model, `3+4` for two fused layers;
        empty for a pushed input."""
        return "+".join(self.graph.numbers[i] for i in step.ops) if step.ops[0] >= 0 else ""

    def op(self, step: Step) -> Op:
        """The operator that a step computes; fused operators joined into one."""
        return self.works[self.numbers[step.ops]][0]

    def shown(self, op: Op) -> list[int]:
        """The outputs of an operator that traces record: of several, all of the element type with the most bytes."""
        tensors = [self.graph.tensors[t] for t in (op.outputs[0], *further_outputs(op))]
        sizes = {x.dtype: sum(t.nbytes for t in tensors if t.dtype == x.dtype) for x in tensors}
        return [t.id for t in tensors if t.dtype == max(sizes, key=lambda dtype: sizes[dtype])]

    @staticmethod
    def traced(steps: tuple[Step, ...]) -> list[int]:
        """Output rows of an operator in the order in which its steps complete them; accumulators are complete last."""
        return [y for s in steps if s.tap is None or s is steps[-1] for y in range(s.rows.lo, s.rows.hi)]

    def runs(self, steps: tuple[Step, ...]) -> Runs:
        """How an operator is cut into `steps`."""
        first = steps[0]
        if isinstance(self.op(first), PushedInput):
            return Runs.INPUT
        if first.kernel.entry.call is Call.ADDS:
            return Runs.SUMS
        return Runs.WHOLE if first.whole or len(steps) == 1 else Runs.ROWS

    @property
    def layered(self) -> bool:
        """Whether every operator runs whole."""
        return all(step.whole for step in self.steps)

    @property
    def straight(self) -> bool:
        """Whether operators run one after another, each in a single step."""
        return [step.ops for step in self.steps] == list(self.numbers)

    @property
    def pushed(self) -> bool:
        """Whether the caller pushes the input row by row."""
        return any(isinstance(op, PushedInput) for op, _ in self.works)

    @property
    def static(self) -> int:
        """Bytes of RAM besides the arena: progress counters, states, output copies, pending accelerator calls."""
        position = self.position_bytes + self.counter_bytes * self.counters
        pending = STATUS_BYTES + self.external_state if self.polls else 0
        return position + self.kept_bytes + self.how.sealed + self.outputs_kept + pending

    @property
    def polls(self) -> bool:
        """Whether a step may return while an accelerator still works on it, to be called again."""
        return any(call.returns_status for artifact in self._artifacts for call in artifact.calls)

    @property
    def external_state(self) -> int:
        """Bytes that an unfinished accelerator call keeps between polls."""
        return max((artifact.state for artifact in self._artifacts), default=0)

    @property
    def _artifacts(self) -> list[Artifact]:
        return [step.kernel.artifact for step in self.steps if isinstance(step.kernel, Offloaded)]

    @property
    def outputs_kept(self) -> int:
        """Bytes of output copies outside of the arena, and of their counter of samples; 0 without copies."""
        if not self.goal.outputs_kept:
            return 0
        return 2 + sum(aligned(self.graph.tensors[t].nbytes, ARENA_ALIGNMENT) for t in self.graph.outputs)

    @cached_property
    def state_bytes(self) -> int:
        """Bytes of the states (values kept between inferences) that are not in the caller's memory."""
        places = outside_places(self.graph, self.goal.lent)
        ends = (places[s.before][1] + s.initial.nbytes for s in self.graph.states if places[s.before][0] == KEPT)
        return aligned(max(ends, default=0), self.state_alignment)

    @property
    def state_alignment(self) -> int:
        """Alignment of the states' memory, in bytes."""
        return alignment_of(self.graph.tensors[s.before] for s in self.graph.states)

    @property
    def kept_bytes(self) -> int:
        """Bytes that persist between inferences: states, the head of each ring buffer, and the number of warm-up
        inferences left before outputs are valid."""
        counts = 2 * self.rings + 2 * (self.graph.warm_up > 0)
        return aligned(self.state_bytes + counts, self.state_alignment)

    @property
    def kept(self) -> list[tuple[Buffer, bool]]:
        """The buffer of each state, and whether it is a sliding window over a stream."""
        windows = {op.outputs[0] for op in self.graph.ops if isinstance(op, SlidingWindow)}
        return [(self.place[s.after], s.after in windows) for s in self.graph.states]

    @cached_property
    def rings(self) -> int:
        return len({b.ring for b in self.buffers if b.ring is not None})

    @property
    def counters(self) -> int:
        """Number of operators with more than one step: each has a step counter."""
        return sum(len(steps) > 1 for _, steps in self.works)

    @property
    def position_bytes(self) -> int:
        """Bytes of the index of the next step."""
        return 2 if len(self.steps) + 1 < 1 << 16 else 4

    @property
    def counter_bytes(self) -> int:
        """Bytes of an operator's step counter."""
        return 1 if all(len(steps) < 1 << 8 for _, steps in self.works) else 2

    @property
    def ram(self) -> int:
        return self.arena + self.static

    @cached_property
    def opened(self) -> frozenset[int]:
        """Indices of steps that decrypt (or copy) constants to scratch: the first of consecutive steps of an
        operator."""
        steps = self.steps
        return frozenset(i for i, s in enumerate(steps) if s.kernel.sealed and (i == 0 or steps[i - 1].ops != s.ops))

    @property
    def decrypted(self) -> int:
        """Bytes of constants that an inference decrypts or copies; each control flow body counts once."""
        sealed = (p.steps[i].kernel.sealed for p in self.all for i in p.opened)
        return sum(s.nbytes for s in sealed if s is not None)

    @property
    def taps(self) -> int:
        """Maximum number of row pointers that a kernel takes."""
        return max((s.kernel.entry.taps for plan in self.all for s in plan.steps), default=0)

    @property
    def all(self) -> list[Plan]:
        """This plan, and the plans of all control flow bodies in it."""
        kernels = (steps[0].kernel for _, steps in self.works)
        bodies = (body for k in kernels if isinstance(k, ControlFlowKernel) for body in k.plans)
        return [self, *(plan for body in bodies for plan in body.all)]

    @property
    def lent(self) -> dict[int, int]:
        """Size in bytes of each memory of the caller, by its number (LENT and below)."""
        return {LENT - k: self.graph.tensors[t].nbytes for k, t in enumerate(self.goal.lent)}

    def labels(self) -> Iterator[str]:
        """The label of each step in reports, such as `#0 CONV_2D conv row 3`."""
        for step in self.steps:
            span = "" if step.whole else f" row {step.rows.lo if step.tap is None else step.tap}"
            op = self.op(step)
            yield f"#{self.number(step)} {op.kind} {self.graph.short_name(op)}{span}"


@dataclass(frozen=True)
class Copy:
    """Copies an output of a control flow body to the operator's output (or loop variable) after the body has run."""

    output: int
    """Index of the output."""
    tensor: int
    """The source, a tensor of the body."""
    staging: int | None = None
    """Offset in scratch of a staging copy of the source, made before the other copies, if one of these would overwrite
    it; else None."""


@dataclass(frozen=True, eq=False)
class ControlFlowKernel(Packed):
    """The kernel of an IF or WHILE: the plans of its bodies, whose arenas start at the step's scratch buffer."""

    plans: tuple[Plan, ...] = ()
    copies: tuple[tuple[Copy, ...], ...] = ()
    """The copies after each body."""

    @cached_property
    def constants(self) -> int:
        return sum(steps[0].kernel.constants for plan in self.plans for _, steps in plan.works)


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitKernel(Packed):
    """The kernel of an operator that two cores compute in parallel, each a range of output rows or channels. Its
    scratch buffer holds the scratch of both cores."""

    alone: Packed
    """The kernel of the whole operator, which each core calls for its range (unless `parts`)."""
    at: int
    """The first row (or channel) of the second core."""
    second: int
    """The offset of the second core's scratch in the scratch buffer."""
    parts: tuple[Packed, ...] = ()
    """For an output of one pixel: a kernel for each core, with the weights of its channels; else empty."""

    @staticmethod
    def of(kernel: Packed, at: int, cost: float, parts: tuple[Packed, ...] = ()) -> SplitKernel:
        """A kernel split at a row or channel; `cost`: of the slower core, with barriers."""
        needs, second = kernel.needs, 0
        first, last = (part.needs for part in parts or (kernel, kernel))
        if first.scratch or last.scratch:
            second = aligned(first.scratch or 0, max(ALIGNMENT, first.alignment, last.alignment))
            alignment = max(first.alignment, last.alignment)
            needs = replace(needs, scratch=second + (last.scratch or 0), alignment=alignment)
        known = {f.name: getattr(kernel, f.name) for f in fields(Packed)}
        known |= {"needs": needs, "price": replace(kernel.price, cost=cost)}
        return SplitKernel(**known, alone=kernel, at=at, second=second, parts=parts)

    @property
    def of_channels(self) -> bool:
        """Whether the operator is split by channels; else by rows."""
        return bool(self.parts) or self.entry.call is Call.CHANNELS

    @property
    def calls(self) -> tuple[Packed, ...]:
        """The kernel that each core calls."""
        return self.parts or (self.alone, self.alone)
