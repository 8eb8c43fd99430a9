"""The Plan: what is computed when, by which kernel, where every byte lies. Back ends print what it is lowered to."""

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
"""Bytes of what a call to an accelerator returned."""


@dataclass(frozen=True)
class Buffer:
    """Where the rows of a tensor and its views lie; of running sums where there are no tensors."""

    tensors: tuple[int, ...]
    row_bytes: int
    offsets: tuple[int | None, ...]
    """Of each row; None for rows that nobody needs."""
    layout: Layout = NHWC
    memory: int = 0
    """Which of the plan's memories it is in, or KEPT, or LENT and below."""
    ring: int | None = None
    """The number of the ring buffer that the rows are, if they are one: row 0 is the oldest, wherever that lies."""

    @cached_property
    def base(self) -> int | None:
        """The offset of row 0, if all rows lie one after another from there."""
        bases = {o - i * self.row_bytes for i, o in enumerate(self.offsets) if o is not None}
        return bases.pop() if len(bases) == 1 and min(bases) >= 0 else None

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
    """One kernel call: `rows` of the output of its operators, or one more row added to their sums."""

    ops: Numbers
    """The operators that the kernel computes (see `Plan.op`): one, or several whose intermediate tensors have no
    buffer."""
    kernel: Packed
    rows: Rows
    whole: bool = True
    """The step computes all of its operators."""
    tap: int | None = None
    """ADDS kernels: which row of the window is added."""
    sums: int | None = None
    """The offset of the running sums."""
    scratch: int | None = None
    """The offset of the working memory."""
    sums_memory: int = 0
    scratch_memory: int = 0


class Role(StrEnum):
    """The purpose of a cell in the arena."""

    ROW = "row"
    SUMS = "sums"
    SCRATCH = "scratch"


class Runs(StrEnum):
    """How the steps of an operator compute it."""

    WHOLE = "whole"
    ROWS = "rows"
    SUMS = "sums"
    """From rows of the input that are added up."""
    INPUT = "input"
    """From rows that the caller hands over."""


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
    role: Role = Role.ROW
    memory: int = 0

    @property
    def end(self) -> int:
        return self.offset + self.nbytes


@dataclass(frozen=True)
class Option:
    """A kernel that could compute an operator; `why` it does, or does not."""

    kernel: str
    family: str
    cost: int
    """About what it takes, in the unit of the core's table."""
    constants: int
    """Bytes of flash."""
    scratch: int
    chosen: bool
    why: str


@dataclass(frozen=True, eq=False)
class Plan:
    """The whole decision, as data that can be written and read back. Operators are known by their numbers, which are
    their places in `graph.ops`; negative ones are inputs that are handed over row by row (see `rows.operator`)."""

    graph: Graph
    """The operators in the order in which they run."""
    how: Lowering
    goal: Goal
    """The goal that the plan was made for."""
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    cells: tuple[Cell, ...]
    scheduled: int
    """The most bytes that are live at one step of the schedule; a row counts with the bytes that align it, which a
    tensor in one piece does not have."""
    bottom_up: bool = False
    memories: tuple[Memory, ...] = ()
    """Those that the arena is spread over, fastest first; none where there is no choice."""

    choices: Mapping[Numbers, tuple[Option, ...]] = field(default_factory=dict)
    """The kernels that each step's operators could have had, the one that they have first."""

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
        """Bytes around every buffer that nobody else has: debug builds see whether a kernel writes there."""
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
        """The most bytes that are live at one step: no placement of this schedule needs less."""
        return min(self.scheduled, self.arena)

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
        """The operators in order, those that a kernel computes together as one, with their steps."""
        steps: dict[Numbers, list[Step]] = {}
        for step in self.steps:
            steps.setdefault(step.ops, []).append(step)
        order = in_order(self.graph, steps)
        assert order is not None, "steps that need one another"
        return tuple((operator(self.graph, ops), tuple(steps[ops])) for ops in order)

    @cached_property
    def numbers(self) -> dict[Numbers, int]:
        """The place in `works` of what steps compute."""
        return {steps[0].ops: i for i, (_, steps) in enumerate(self.works)}

    def number(self, step: Step) -> str:
        """The number of what a step computes, as all reports show it: that of its layer in the model, or 3+4 of two
        layers; nothing for an input that is handed over."""
        return "+".join(self.graph.numbers[i] for i in step.ops) if step.ops[0] >= 0 else ""

    def op(self, step: Step) -> Op:
        """The operators of a step, as one operator."""
        return self.works[self.numbers[step.ops]][0]

    def shown(self, op: Op) -> list[int]:
        """The outputs of an operator that traces show: of several, those of the type that has the most bytes."""
        made = [op.outputs[0], *further_outputs(op)]
        tensors = [self.graph.tensors[t] for t in made]
        sizes = {x.dtype: sum(t.nbytes for t in tensors if t.dtype == x.dtype) for x in tensors}
        return [t.id for t in tensors if t.dtype == max(sizes, key=lambda dtype: sizes[dtype])]

    @staticmethod
    def traced(steps: tuple[Step, ...]) -> list[int]:
        """The rows of an operator's output in the order in which its steps finish them; sums end in the last step."""
        return [y for s in steps if s.tap is None or s is steps[-1] for y in range(s.rows.lo, s.rows.hi)]

    def runs(self, steps: tuple[Step, ...]) -> Runs:
        """How an operator runs that has these steps."""
        first = steps[0]
        if isinstance(self.op(first), PushedInput):
            return Runs.INPUT
        if first.kernel.entry.call is Call.ADDS:
            return Runs.SUMS
        return Runs.WHOLE if first.whole or len(steps) == 1 else Runs.ROWS

    @property
    def layered(self) -> bool:
        """Every operator runs whole."""
        return all(step.whole for step in self.steps)

    @property
    def straight(self) -> bool:
        """One operator after another, each in one step."""
        return [step.ops for step in self.steps] == list(self.numbers)

    @property
    def pushed(self) -> bool:
        """The input is handed over row by row."""
        return any(isinstance(op, PushedInput) for op, _ in self.works)

    @property
    def static(self) -> int:
        """Bytes of RAM besides the arena: where the run has got to, and what is kept for the next one."""
        position = self.position_bytes + self.counter_bytes * self.counters
        pending = STATUS_BYTES + self.external_state if self.polls else 0
        return position + self.kept_bytes + self.how.sealed + self.outputs_kept + pending

    @property
    def polls(self) -> bool:
        """Whether a step may be left before it is done: an accelerator works on it."""
        return any(call.returns_status for artifact in self._artifacts for call in artifact.calls)

    @property
    def external_state(self) -> int:
        """Bytes that are kept meanwhile."""
        return max((artifact.state for artifact in self._artifacts), default=0)

    @property
    def _artifacts(self) -> list[Artifact]:
        return [step.kernel.artifact for step in self.steps if isinstance(step.kernel, Offloaded)]

    @property
    def outputs_kept(self) -> int:
        """Bytes of outputs outside of the arena, and of the counter of samples that goes with them."""
        if not self.goal.outputs_kept:
            return 0
        return 2 + sum(aligned(self.graph.tensors[t].nbytes, ARENA_ALIGNMENT) for t in self.graph.outputs)

    @cached_property
    def state_bytes(self) -> int:
        """Bytes of the states that are its own."""
        places = outside_places(self.graph, self.goal.lent)
        ends = (places[s.before][1] + s.initial.nbytes for s in self.graph.states if places[s.before][0] == KEPT)
        return aligned(max(ends, default=0), self.state_alignment)

    @property
    def state_alignment(self) -> int:
        """Alignment of the states' memory, in bytes."""
        return alignment_of(self.graph.tensors[s.before] for s in self.graph.states)

    @property
    def kept_bytes(self) -> int:
        """Bytes that live from one inference to the next: states, the oldest row of each ring buffer, and how many
        inferences there still are before the outputs mean something."""
        counts = 2 * self.rings + 2 * (self.graph.warm_up > 0)
        return aligned(self.state_bytes + counts, self.state_alignment)

    @property
    def kept(self) -> list[tuple[Buffer, bool]]:
        """Where the states lie, and whether each is a window over a stream."""
        windows = {op.outputs[0] for op in self.graph.ops if isinstance(op, SlidingWindow)}
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
        return 2 if len(self.steps) + 1 < 1 << 16 else 4

    @property
    def counter_bytes(self) -> int:
        """Bytes of the counter of each operator that runs by rows."""
        return 1 if all(len(steps) < 1 << 8 for _, steps in self.works) else 2

    @property
    def ram(self) -> int:
        return self.arena + self.static

    @cached_property
    def opened(self) -> frozenset[int]:
        """The steps that decrypt the constants of their operator: not those right behind another one of it."""
        steps = self.steps
        return frozenset(i for i, s in enumerate(steps) if s.kernel.sealed and (i == 0 or steps[i - 1].ops != s.ops))

    @property
    def decrypted(self) -> int:
        """Bytes of constants that an inference decrypts; each body of control flow counts once."""
        sealed = (p.steps[i].kernel.sealed for p in self.all for i in p.opened)
        return sum(s.nbytes for s in sealed if s is not None)

    @property
    def taps(self) -> int:
        """The most row pointers that a kernel is given."""
        return max((s.kernel.entry.taps for plan in self.all for s in plan.steps), default=0)

    @property
    def all(self) -> list[Plan]:
        """This plan, and those of the bodies of control flow in it."""
        kernels = (steps[0].kernel for _, steps in self.works)
        bodies = (body for k in kernels if isinstance(k, ControlFlowKernel) for body in k.plans)
        return [self, *(plan for body in bodies for plan in body.all)]

    @property
    def lent(self) -> dict[int, int]:
        """Bytes of the memories that the caller lends."""
        return {LENT - k: self.graph.tensors[t].nbytes for k, t in enumerate(self.goal.lent)}

    def labels(self) -> Iterator[str]:
        for step in self.steps:
            span = "" if step.whole else f" row {step.rows.lo if step.tap is None else step.tap}"
            op = self.op(step)
            yield f"#{self.number(step)} {op.kind} {self.graph.short_name(op)}{span}"


@dataclass(frozen=True)
class Copy:
    """An output of a body that is copied to where it belongs when the body has run."""

    output: int
    """Its position."""
    tensor: int
    """The source, a tensor of the body."""
    by_way: int | None = None
    """The offset in the working memory to which it is moved before anything is copied: where it lies, something else
    is copied to."""


@dataclass(frozen=True, eq=False)
class ControlFlowKernel(Packed):
    """The kernel of an operator with bodies: their plans, whose arenas start at the step's scratch buffer."""

    plans: tuple[Plan, ...] = ()
    copies: tuple[tuple[Copy, ...], ...] = ()
    """Of each body."""

    @cached_property
    def constants(self) -> int:
        return sum(steps[0].kernel.constants for plan in self.plans for _, steps in plan.works)


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitKernel(Packed):
    """The kernel of an operator that two cores compute at the same time: output rows of it each, or output channels.
    Its scratch buffer holds that of either core."""

    alone: Packed
    """The kernel that one core could call for all of it, and each core calls for its rows or channels."""
    at: int
    """The first row of the second core, or its first channel."""
    second: int
    """Where the scratch of the second core begins, in that of both."""
    parts: tuple[Packed, ...] = ()
    """The kernels of either core, each with the weights of its channels of the only pixel; none elsewhere."""

    @staticmethod
    def of(kernel: Packed, at: int, cost: float, parts: tuple[Packed, ...] = ()) -> SplitKernel:
        """A kernel split at a row or channel, with the cost of the longer half and its barriers."""
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
        """Whether each core has channels of its own; else it has rows."""
        return bool(self.parts) or self.entry.call is Call.CHANNELS

    @property
    def calls(self) -> tuple[Packed, ...]:
        """The kernel that each core calls."""
        return self.parts or (self.alone, self.alone)
