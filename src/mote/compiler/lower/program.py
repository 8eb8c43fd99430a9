"""`Program`: a plan lowered to instructions of a small virtual machine, without operators; what back ends print.

Every instruction is a kernel call with static addresses, and runs once or several times (*turns*); the schedule is the
order of turns. A control flow body is a program of its own: its arena is the scratch buffer of the instruction that
runs it, and its inputs are in memory of the outer program (lent).

Example: CONV with 12 rows, MAX_POOL 2x2, FULLY_CONNECTED, by rows. There are three instructions with 12, 6 and 1 turns,
and the schedule is 0, 0, 1, 0, 0, 1, ..., 2. Turn n of CONV computes row n and reads the rows n - 1, n and n + 1 of its
input: an `Operand` with 3 taps, start -1, step 1, spread 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from mote.compiler.kernels.contract import Call, Packed
from mote.compiler.lower.affine import affine
from mote.compiler.lower.values import ValueRange, value_range
from mote.compiler.offload.contract import Artifact, Offloaded, Pointer
from mote.compiler.plan.control import outside
from mote.compiler.plan.memory.several_memories import constant_reads
from mote.compiler.plan.plan import KEPT, LENT, Buffer, ControlFlowKernel, Copy, Plan, SplitKernel, Step
from mote.compiler.plan.scheduling.rows import PushedInput, further_outputs, tap_rows
from mote.ir.graph import Op, Rows, State, Tensor
from mote.ir.graph.rows import OUTSIDE, row_count
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.control.control_flow import Control, If, While

STATES = 0x10
"""Memory number of the states, which persist between inferences."""
IMAGE = 0x11
"""Memory number of constants in flash."""
NO_ROWS = Rows(0, 0)


class Form(IntEnum):
    """The calling convention of an instruction's kernel, or its operation if it has none."""

    WHOLE = 0
    """Calls the kernel once for contiguous tensors."""
    ROW = 1
    """Calls the kernel's row function for one output row, with an array of pointers to input rows."""
    EACH = 2
    """Calls an element-wise kernel for one row of each tensor."""
    ROWS = 3
    """Calls the kernel's function for a group of output rows, with pointers to the input rows of the whole group."""
    SUMS = 4
    """Calls the kernel to accumulate one input row."""
    RING = 5
    """Calls the kernel to write new rows into a ring buffer."""
    ARRIVAL = 6
    """Copies an input row that the caller pushes."""
    COPY = 7
    """Copies `hi` bytes from operand 0 to `out`; none (`hi` = 0) at the end of a control flow operator."""
    JUMP = 8
    """Jumps to position `lo` of the schedule."""
    BRANCH = 9
    """Jumps to position `lo` of the schedule if the byte at operand 0 is zero."""
    REPEAT = 10
    """Jumps to position `lo` of the schedule, except every `times`-th time that it is reached (the end of a loop)."""


class Kind(IntEnum):
    """How the addresses of a tensor's rows are computed."""

    STRIP = 0
    """Contiguous rows."""
    TABLE = 1
    """Each at an offset from a table."""
    RING = 2
    """A ring buffer: contiguous modulo its size, from the oldest row on."""


@dataclass(frozen=True, eq=False)
class Constant:
    """An array of constants in flash; compared by identity."""

    data: Array


@dataclass(frozen=True)
class Place:
    """The addresses of the rows of a tensor."""

    row_bytes: int
    rows: int
    memory: int
    """The number of an arena; or STATES, IMAGE (constants), or LENT and below (memory of the outer program)."""
    at: int = 0
    """Offset of row 0 in the memory, in bytes; of a constant, in its array."""
    kind: Kind = Kind.STRIP
    ring: int = 0
    """The number of the ring buffer, for RING."""
    offsets: tuple[int | None, ...] = ()
    """For TABLE: offset of each row, in bytes; None for rows that nothing reads."""
    constant: Constant | None = None
    dtype: DType = field(default=DType.INT8, compare=False)
    tensors: tuple[int, ...] = field(default=(), compare=False)
    """The tensors of the plan at these addresses, which are views of one another."""

    @property
    def nbytes(self) -> int:
        return self.rows * self.row_bytes

    @property
    def end(self) -> int:
        """The offset after its last byte."""
        if self.kind is Kind.TABLE:
            return max((o for o in self.offsets if o is not None), default=0) + self.row_bytes
        return self.at + self.nbytes

    def begins_with(self, other: Place) -> bool:
        """Whether both begin at the same address."""
        return (self.memory, self.at, self.constant) == (other.memory, other.at, other.constant)


@dataclass(frozen=True)
class Operand:
    """An input of an instruction. For output row y it reads the `taps` rows start + y * step + k * spread (k =
    0..taps-1) of `place`, or the `listed` ones; with 0 taps, all rows from `start` on."""

    place: Place
    taps: int = 0
    start: int = 0
    step: int = 0
    spread: int = 0
    listed: tuple[int, ...] = ()
    """If no formula fits: the rows of all taps, for each turn in order; for instructions with groups of rows, for each
    output row from 0 on."""

    def row(self, y: int, tap: int = 0) -> int:
        """The row that a tap reads by the formula; it may be outside of the tensor (padding)."""
        return self.start + y * self.step + tap * self.spread


@dataclass(frozen=True)
class Scratch:
    """A scratch buffer or accumulators."""

    memory: int
    at: int
    nbytes: int


@dataclass(frozen=True)
class Instruction:
    """A kernel call that is executed once in each of its turns; or a jump or copy."""

    name: str
    form: Form
    kernel: Packed | None = None
    operands: tuple[Operand, ...] = ()
    out: Place | None = None
    others: tuple[Place, ...] = ()
    """For WHOLE: outputs after the first, in the operator's order, contiguous."""
    scratch: Scratch | None = None
    sums: Scratch | None = None
    counter: int | None = None
    """The number of the counter of its turns; None if it has a single turn."""
    times: int = 1
    """Number of its turns in an inference; for REPEAT, see there."""
    lo: int = 0
    hi: int = 0
    first: int = 0
    step: int = 0
    """Turn n computes row (or accumulates tap) first + n * step; with groups, the first row of a group, which may be
    negative (only rows from 0 on exist)."""
    listed: tuple[int, ...] = ()
    """If no formula fits: the row (or tap) of each turn."""
    group: int = 1
    """Number of output rows per turn."""
    last: int = 0
    """The end of the rows to compute: groups are cut off there."""
    rows: Rows = NO_ROWS
    """For WHOLE: the output rows to compute."""
    kind: str = ""
    shape: Shape = ()
    """The operator's kind and output shape, for comments."""
    reads: int = 0
    """Estimated bytes of its constants that an inference reads."""
    control: Branches | Loop | None = None
    external: ExternalCalls | None = None
    second: Instruction | None = None
    """For WHOLE on two cores: the second core's call; this instruction is the first core's."""

    @property
    def called(self) -> Packed:
        """The kernel, for instructions that have one."""
        assert self.kernel is not None
        return self.kernel

    @property
    def target(self) -> Place:
        """The output, for instructions that are no jumps."""
        assert self.out is not None
        return self.out

    @property
    def shares(self) -> tuple[Instruction, ...]:
        """The call of each core; one if it is not split."""
        return (self,) if self.second is None else (self, self.second)

    @property
    def begins(self) -> list[int]:
        """The row (or tap, or first row of the group) of each turn."""
        return list(self.listed) or [self.first + n * self.step for n in range(self.times)]

    @property
    def computed(self) -> list[int]:
        """The output rows (or taps) of all turns, in order."""
        if self.group == 1:
            return self.begins
        return [y for begin in self.begins for y in range(max(begin, 0), min(begin + self.group, self.last))]

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.control.bodies if self.control else ()

    @property
    def memory(self) -> list[Place | Scratch]:
        """All memory that it reads and writes, including what its bodies access outside of their arenas."""
        lent = (lent.place for body in self.bodies for lent in body.lent)
        parts = (*(o.place for o in self.operands), self.out, *self.others, self.scratch, self.sums, *lent)
        second = self.second.memory if self.second else []
        return [*(part for part in parts if part is not None), *second]


@dataclass(frozen=True)
class ExternalCalls:
    """The C calls of an external generator, instead of a kernel call."""

    artifact: Artifact
    places: Mapping[int, Place]
    """By id: the tensors whose addresses are passed."""
    shown: tuple[Place, ...]
    """The outputs that traces show."""


@dataclass(frozen=True)
class Transfer:
    """A copy of a whole tensor."""

    source: Place
    target: Place
    staging: Place | None = None
    """Where the source is staged before any other copy, if one of these would overwrite it; else None."""


@dataclass(frozen=True)
class Lent:
    """Memory of the outer program that a body reads or writes."""

    place: Place
    written: bool
    output: int | None = None
    """The index of the operator's output that is copied there after the body; None if the body accesses it directly."""


@dataclass(frozen=True)
class Body:
    """A control flow body. Its memory 0 is the scratch buffer of the instruction, its memory LENT - k is `lent[k]`."""

    program: Program
    lent: tuple[Lent, ...]
    copies: tuple[Transfer, ...]
    """Copies after the body, between its memories."""


@dataclass(frozen=True)
class Branches:
    """An IF: runs the first body if the byte at operand 0 is not zero, else the second one."""

    bodies: tuple[Body, ...]
    shown: tuple[Place, ...]
    """The outputs that traces show."""


@dataclass(frozen=True)
class Loop:
    """A WHILE: runs the last body `trips` times; or, if that is None, as long as the first body (the condition) outputs
    a value other than zero."""

    bodies: tuple[Body, ...]
    shown: tuple[Place, ...]
    """The outputs that traces show."""
    begin: tuple[Transfer, ...]
    """Copies of the operator's inputs to the loop variables, before the first iteration."""
    trips: int | None


@dataclass(frozen=True)
class Initial:
    """The initial value of a state at offset `at` of the memory STATES."""

    at: int
    data: Array
    role: StateRole = StateRole.NONE
    values: ValueRange = field(default_factory=ValueRange)
    """The valid values of a learned state; for labels, the range of classes."""


@dataclass(frozen=True)
class Port:
    """An input or output of the model; a pushed input has no place."""

    tensor: Tensor
    place: Place | None


@dataclass(frozen=True)
class Program:
    """A plan lowered to instructions, one for each of `Plan.works`. `schedule`: the instruction of each turn, in
    order."""

    instructions: tuple[Instruction, ...]
    schedule: tuple[int, ...]
    arenas: tuple[int, ...]
    """Size of the arena in each memory, in bytes."""
    state_bytes: int
    states: tuple[Initial, ...]
    rings: int
    counters: int
    warm_up: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    zone: int = 0
    """Bytes of red zone around every buffer."""
    mixed: bool = False
    """Whether memory holds elements of several types wider than a byte, so that C's strict aliasing rule matters."""
    cores: int = 1
    """Number of cores that run it."""

    @property
    def pushed(self) -> bool:
        return any(port.place is None for port in self.inputs)

    @property
    def straight(self) -> bool:
        """Whether instructions run one after another, each with a single turn."""
        return self.schedule == tuple(range(len(self.instructions)))

    @property
    def split(self) -> bool:
        """Whether a second core computes some instructions in part."""
        return any(i.second is not None for i in self.instructions)

    @property
    def counter_bytes(self) -> int:
        """Bytes of a turn counter."""
        return 1 if all(i.times < 1 << 8 for i in self.instructions) else 2

    @property
    def learns(self) -> bool:
        """Whether some of its states are learned parameters."""
        return any(state.role is StateRole.LEARNED for state in self.states)

    @property
    def trains(self) -> bool:
        """Whether it has states of training on the device: learned parameters, labels and the like."""
        return any(state.role is not StateRole.NONE for state in self.states)

    @property
    def jumps(self) -> bool:
        """Whether it has jumps or copies: control flow, flattened for an image."""
        return any(i.form >= Form.COPY for i in self.instructions)

    @property
    def all(self) -> list[Program]:
        """This program, and those of all control flow bodies in it."""
        return [self, *(p for i in self.instructions for body in i.bodies for p in body.program.all)]

    @property
    def turns(self) -> list[Instruction]:
        """The instruction of each turn, in execution order."""
        return [self.instructions[number] for number in self.schedule]

    @property
    def artifacts(self) -> list[Artifact]:
        """The artifacts of external generators that it calls, in order."""
        return [i.external.artifact for i in self.instructions if i.external is not None]

    @property
    def polls(self) -> bool:
        """Whether a call may return while an accelerator still works on it, to be polled."""
        return any(call.returns_status for artifact in self.artifacts for call in artifact.calls)

    @property
    def kernels(self) -> list[Packed]:
        """The kernels that are called, in order, those of bodies and of both cores included."""
        shares = (share for program in self.all for i in program.instructions for share in i.shares)
        return [i.kernel for i in shares if i.kernel is not None]


def program(plan: Plan) -> Program:
    """Lowers a plan to a program."""
    return _Lowered(plan, {}).program()


@dataclass
class _Lowered:
    """Lowers a plan, or the plan of a control flow body."""

    plan: Plan
    constants: dict[int, Constant]
    """Constants by the `id()` of their array, which the plan keeps alive; shared with the programs of bodies."""

    def program(self) -> Program:
        plan, graph, counters = self.plan, self.plan.graph, 0
        instructions = []
        for op, steps in plan.works:
            instructions.append(self._instruction(op, steps, counters))
            counters += len(steps) > 1
        tensors = [[graph.tensors[t] for t in ids] for ids in (graph.inputs, graph.outputs)]
        return Program(
            tuple(instructions),
            tuple(plan.numbers[step.ops] for step in plan.steps),
            plan.arenas,
            plan.state_bytes,
            tuple(map(self._initial, graph.states)),
            plan.rings,
            counters,
            graph.warm_up,
            tuple(Port(t, None if plan.pushed else self._tensor(t)) for t in tensors[0]),
            tuple(Port(t, self._tensor(t)) for t in tensors[1]),
            plan.zone,
            _mixed(plan),
            plan.goal.cores,
        )

    def _initial(self, state: State) -> Initial:
        graph = self.plan.graph
        return Initial(self.plan.place[state.before].offset, state.initial, state.role, value_range(graph, state))

    def _instruction(self, op: Op, steps: tuple[Step, ...], counter: int) -> Instruction:
        step, kernel, graph = steps[0], steps[0].kernel, self.plan.graph
        output = op.output(graph)
        base = Instruction(
            op.name,
            Form.WHOLE,
            None if isinstance(op, PushedInput) else kernel,
            out=self._place(self.plan.place[output.id], output.dtype),
            scratch=_room(step.scratch_memory, step.scratch, kernel.needs.scratch),
            sums=_room(step.sums_memory, step.sums, kernel.needs.sums),
            counter=counter if len(steps) > 1 else None,
            times=len(steps),
            kind=op.kind,
            shape=output.shape,
            reads=constant_reads(graph, op),
        )
        if isinstance(op, PushedInput):
            return _turning(replace(base, form=Form.ARRIVAL), [s.rows.lo for s in steps])
        if isinstance(kernel, ControlFlowKernel):
            assert isinstance(op, Control)
            return self._control(op, base, kernel)
        if isinstance(kernel, Offloaded):
            external = self._external(op, kernel.artifact)
            if kernel.entry.call is Call.ADDS:
                return replace(self._sums(op, base, steps), external=external)
            return replace(self._whole(op, base, step), external=external)
        if kernel.entry.call is Call.ADDS:
            return self._sums(op, base, steps)
        if kernel.entry.call is Call.RING:
            return replace(base, form=Form.RING, operands=(Operand(self._tensor(op.input(graph, 1))),))
        return self._whole(op, base, step) if step.whole else self._rows(op, base, steps)

    def _sums(self, op: Op, base: Instruction, steps: tuple[Step, ...]) -> Instruction:
        tensor, taps = op.input(self.plan.graph), [s.tap for s in steps if s.tap is not None]
        rows = tap_rows(self.plan.graph, op, steps[0].kernel)
        operand = self._operand(tensor, taps, [(rows[tap],) for tap in taps])
        return _turning(replace(base, form=Form.SUMS, operands=(operand,)), taps)

    def _external(self, op: Op, artifact: Artifact) -> ExternalCalls:
        tensors = self.plan.graph.tensors
        pointers = (p.to for call in artifact.calls for p in call.arguments if isinstance(p, Pointer))
        places = {t: self._tensor(tensors[t]) for t in pointers if isinstance(t, int)}
        return ExternalCalls(artifact, places, tuple(places[t] for t in self.plan.shown(op)))

    def _whole(self, op: Op, base: Instruction, step: Step) -> Instruction:
        graph, kernel = self.plan.graph, step.kernel
        operands = tuple(Operand(self._tensor(op.input(graph, p))) for p in kernel.entry.operands)
        ranges = {
            Call.FLAT: (0, kernel.entry.units),
            Call.ROWS: (step.rows.lo, step.rows.hi),
            Call.CHANNELS: (0, op.output(graph).channels),
        }
        lo, hi = ranges.get(kernel.entry.call, (0, 0))
        out, *others = (self._tensor(graph.tensors[t]) for t in (op.outputs[0], *further_outputs(op)))
        whole = replace(base, operands=operands, out=out, others=tuple(others), lo=lo, hi=hi, rows=step.rows)
        return self._halves(op, whole, kernel) if isinstance(kernel, SplitKernel) else whole

    def _halves(self, op: Op, whole: Instruction, kernel: SplitKernel) -> Instruction:
        """Splits an instruction into those of the two cores: the first core's, with the other one as `second`."""
        room, rows = whole.scratch, whole.rows
        halves = []
        for packed, start in zip(kernel.calls, (0, kernel.second), strict=True):
            size = packed.needs.scratch or 0
            assert room is None or start + size <= room.nbytes, "a core has too little scratch"
            own = None if room is None or not size else replace(room, at=room.at + start, nbytes=size)
            halves.append(replace(whole, kernel=packed, scratch=own))
        first, second = halves
        if kernel.parts:
            out = whole.target
            assert 0 < kernel.at * out.dtype.itemsize < out.row_bytes, "a core has no channels"
            behind = replace(out, at=out.at + kernel.at * out.dtype.itemsize)
            return replace(first, second=replace(second, out=behind))
        if kernel.entry.call is Call.CHANNELS:
            assert whole.lo < kernel.at < whole.hi, "a core has no channels"
            return replace(first, hi=kernel.at, second=replace(second, lo=kernel.at))
        assert rows.lo < kernel.at < rows.hi, "a core has no rows"
        first = replace(first, rows=Rows(rows.lo, kernel.at), lo=rows.lo, hi=kernel.at)
        second = replace(second, rows=Rows(kernel.at, rows.hi), lo=kernel.at, hi=rows.hi)
        if kernel.entry.call is Call.FLAT:
            units = kernel.entry.units // row_count(whole.shape)
            inputs = zip(kernel.entry.operands, whole.operands, strict=True)
            operands = (self._behind(op, kernel.at, position, operand) for position, operand in inputs)
            first = replace(first, lo=0, hi=kernel.at * units)
            second = replace(second, lo=0, hi=(rows.hi - kernel.at) * units, operands=tuple(operands))
        return replace(first, second=second)

    def _behind(self, op: Op, at: int, position: int, operand: Operand) -> Operand:
        """The operand of the second core: from the input row on that output row `at` needs."""
        first = (op.reads(self.plan.graph, position, at) or (0,))[0]
        rows = row_count(op.input(self.plan.graph, position).shape)
        place = replace(operand.place, rows=rows, row_bytes=operand.place.nbytes // rows)
        return Operand(place, start=first)

    def _rows(self, op: Op, base: Instruction, steps: tuple[Step, ...]) -> Instruction:
        graph, kernel, group = self.plan.graph, steps[0].kernel, max(s.rows.hi - s.rows.lo for s in steps)
        ys = [y for s in steps for y in range(s.rows.lo, s.rows.hi)]
        ys = ys if group == 1 else sorted(ys)
        last = max(ys) + 1
        begins = [s.rows.lo if s.rows.hi == min(s.rows.lo + group, last) else s.rows.hi - group for s in steps]
        base = _turning(replace(base, group=group, last=last), begins)
        inputs = [op.input(graph, p) for p in kernel.entry.operands]
        reads = [[op.reads(graph, p, y) or () for y in ys] for p in kernel.entry.operands]
        if kernel.entry.rows and kernel.entry.group > 1:
            under = self._operand(inputs[0], ys, reads[0], windows=True)
            assert not under.listed and under.spread == 1, "kernels for several rows take plain windows only"
            under = replace(under, taps=(kernel.entry.group - 1) * under.step + under.taps)
            others = (_as_one_row(self._operand(t, ys, own)) for t, own in zip(inputs[1:], reads[1:], strict=True))
            return replace(base, form=Form.ROWS, operands=(under, *others), hi=kernel.entry.group)
        form, hi = Form.ROW, 0
        if not kernel.entry.row:
            reads = [[(rows or (0,))[:1] for rows in own] for own in reads]
            units = kernel.entry.units // row_count(op.output(graph).shape)
            form, hi = Form.EACH, units if kernel.entry.call is Call.FLAT else 1
        operands = [
            self._operand(t, ys, own, bool(kernel.entry.row), group > 1) for t, own in zip(inputs, reads, strict=True)
        ]
        if kernel.entry.row:
            operands[1:] = map(_as_one_row, operands[1:])
        return replace(base, form=form, operands=tuple(operands), hi=hi)

    def _operand(
        self,
        tensor: Tensor,
        ys: Sequence[int],
        reads: Sequence[Sequence[int]],
        windows: bool = False,
        from_0: bool = False,
    ) -> Operand:
        """The operand that reads rows `reads[i]` of a tensor for output row `ys[i]`: by a formula if one fits, else
        listed, in the order of `ys` or (`from_0`) for all output rows from 0 on. `windows`: may read OUTSIDE
        (padding)."""
        taps, have = max(map(len, reads)), row_count(tensor.shape)
        samples = [(y, k, row) for y, rows in zip(ys, reads, strict=True) for k, row in enumerate(rows)]
        formula = affine(samples, have if windows else None) if len(samples) == taps * len(ys) else None
        place = self._constant(tensor) if tensor.data is not None else self._place(self._view(tensor), tensor.dtype)
        if formula is not None:
            return Operand(place, taps, formula.start, formula.step, formula.spread)
        known = dict(zip(ys, reads, strict=True))
        every = ((*known.get(y, ()), *[OUTSIDE] * taps)[:taps] for y in (range(max(ys) + 1) if from_0 else ys))
        return Operand(place, taps, listed=tuple(row for rows in every for row in rows))

    def _view(self, tensor: Tensor) -> Buffer:
        """The buffer of a tensor; of a view of another shape, with that shape's rows over the same memory."""
        buffer, count = self.plan.place[tensor.id], row_count(tensor.shape)
        if count == len(buffer.offsets):
            return buffer
        row = tensor.nbytes // count
        offsets = tuple(buffer.offset + y * row for y in range(count))
        return Buffer(buffer.tensors, row, offsets, buffer.layout, buffer.memory)

    def _tensor(self, tensor: Tensor) -> Place:
        """The place of a contiguous tensor, or of a constant."""
        if tensor.data is not None:
            return self._constant(tensor)
        buffer = self.plan.place[tensor.id]
        place = self._place(buffer, tensor.dtype)
        return replace(place, kind=Kind.STRIP, at=buffer.offset, offsets=()) if place.kind is Kind.TABLE else place

    def _constant(self, tensor: Tensor) -> Place:
        assert tensor.data is not None
        constant = self.constants.setdefault(id(tensor.data), Constant(tensor.data))
        rows = row_count(tensor.shape)
        return Place(tensor.nbytes // rows, rows, IMAGE, constant=constant, dtype=tensor.dtype)

    def _place(self, buffer: Buffer, dtype: DType) -> Place:
        """The place of a buffer."""
        memory = STATES if buffer.memory == KEPT else buffer.memory
        place = Place(buffer.row_bytes, len(buffer.offsets), memory, dtype=dtype, tensors=buffer.tensors)
        if buffer.ring is not None:
            return replace(place, at=buffer.offset, kind=Kind.RING, ring=buffer.ring)
        if buffer.base is None:
            return replace(place, kind=Kind.TABLE, offsets=buffer.offsets)
        return replace(place, at=buffer.base)

    def _control(self, op: Control, base: Instruction, kernel: ControlFlowKernel) -> Instruction:
        """The instruction of an IF or WHILE."""
        tensors = self.plan.graph.tensors
        parts = zip(kernel.plans, kernel.copies, strict=True)
        bodies = tuple(self._body(op, n, plan, copies) for n, (plan, copies) in enumerate(parts))
        shown = tuple(self._tensor(tensors[t]) for t in self.plan.shown(op))
        control: Branches | Loop = Branches(bodies, shown)
        if isinstance(op, While):
            pairs = zip(op.given, op.made, strict=False)
            begin = tuple(Transfer(self._tensor(tensors[a]), self._tensor(tensors[b])) for a, b in pairs)
            control = Loop(bodies, shown, begin, op.trips)
        operands = tuple(Operand(self._tensor(tensors[t])) for t in op.inputs)
        out = self._tensor(op.output(self.plan.graph))
        return replace(base, form=Form.COPY, kernel=None, operands=operands, out=out, control=control)

    def _body(self, op: Control, number: int, plan: Plan, copies: Sequence[Copy]) -> Body:
        """A control flow body with the memory that it accesses in the outer program: what it is lent, and targets of
        copies."""
        inner, graph, tensors = _Lowered(plan, self.constants), plan.graph, self.plan.graph.tensors
        known, written = outside(op, plan, number), _written(op, number, plan)
        lent = [Lent(self._tensor(tensors[known[t]]), t in written) for t in plan.goal.lent]
        done = []
        for copy in copies:
            source = inner._tensor(graph.tensors[copy.tensor])
            if isinstance(op, If):
                made = self._tensor(tensors[op.made[copy.output]])
                target = replace(made, memory=LENT - len(lent), at=0)
                lent.append(Lent(made, True, copy.output))
            else:
                target = inner._tensor(graph.tensors[graph.inputs[copy.output]])
            aside = None if copy.staging is None else replace(source, memory=0, at=copy.staging, constant=None)
            done.append(Transfer(source, target, aside))
        return Body(inner.program(), tuple(lent), tuple(done))


def _written(op: Control, number: int, plan: Plan) -> tuple[int, ...]:
    """The lent tensors that a body writes: states, outputs of a branch, loop variables."""
    graph = plan.graph
    kept = tuple(s.before for s in graph.states)
    if isinstance(op, If):
        return (*kept, *(t for t in plan.goal.lent if t not in graph.inputs))
    return (*kept, *graph.inputs[: len(op.made)]) if number == len(op.bodies) - 1 else kept


def _mixed(plan: Plan) -> bool:
    """See `Program.mixed`."""
    used = {t.dtype for p in plan.all for t in p.graph.tensors.values() if t.data is None}
    wide = {dtype for dtype in used if dtype.itemsize > 1}
    works = any(step.scratch is not None or step.sums is not None for p in plan.all for step in p.steps)
    if plan.how.sealed or plan.how.copied or any(step.kernel.loaded for p in plan.all for step in p.steps):
        return True
    return len(wide) > 1 or bool(wide and works and used - wide) or (works and bool(wide - {DType.FLOAT32}))


def _as_one_row(operand: Operand) -> Operand:
    """An operand that every output row reads whole (such as learned weights): as a single row."""
    place = operand.place
    if (operand.taps, operand.start, operand.step) != (1, 0, 0) or operand.listed or place.kind is not Kind.STRIP:
        return operand
    return replace(operand, place=replace(place, rows=1, row_bytes=place.nbytes))


def _room(memory: int, at: int | None, nbytes: int | None) -> Scratch | None:
    return None if at is None else Scratch(memory, at, nbytes or 0)


def _turning(base: Instruction, values: Sequence[int]) -> Instruction:
    """The instruction with a turn for each value: by a formula if one fits, else listed."""
    if len(values) == 1:
        return replace(base, first=values[0])
    formula = affine([(n, 0, v) for n, v in enumerate(values)])
    if formula is None:
        return replace(base, listed=tuple(values))
    return replace(base, first=formula.start, step=formula.step)
