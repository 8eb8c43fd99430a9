"""A plan as instructions for one small machine, in which there are no operators any more: what an image holds.

Every address is known: bodies of control flow lie where the step has its working memory, what they are lent lies where
it lies outside of them, and branches and loops are jumps in one schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from mote.graph import Op, Tensor
from mote.graph.rows import OUTSIDE, row_count
from mote.graph.tensor import Array
from mote.kernels.contract import Call, Packed
from mote.lower.row_access import Reading, RowsOf, added, affine, aligned_row, counter_of, view, window, windows
from mote.ops.control.control_flow import Control, If, While
from mote.plan.control import outside
from mote.plan.plan import KEPT, LENT, Bodied, Buffer, Copy, Plan, Step
from mote.plan.rows import Arrival

STATES = 0x10
"""The memory of what is kept from one inference to the next."""
IMAGE = 0x11
"""The memory of constants."""


class Form(IntEnum):
    """How an instruction calls its kernel, or what it does without one."""

    WHOLE = 0
    """The kernel's own function over tensors in one piece."""
    ROW = 1
    """Its row function, from pointers to rows."""
    EACH = 2
    """Its own function over a row of each tensor."""
    ROWS = 3
    """Its function for several rows, from pointers to the rows under all of them."""
    SUMS = 4
    """One row into running sums."""
    RING = 5
    """New rows into a ring buffer."""
    ARRIVAL = 6
    """A row that the caller hands over is copied."""
    COPY = 7
    """`hi` bytes are copied from operand 0 to `out`; none where an operator with bodies has come to its end."""
    JUMP = 8
    """On to position `lo` of the schedule."""
    BRANCH = 9
    """On to position `lo` where the byte at operand 0 is zero."""
    REPEAT = 10
    """On to position `lo`, but for every `times`-th time."""


class Kind(IntEnum):
    """How the rows of a place are found."""

    STRIP = 0
    """One after another."""
    TABLE = 1
    """Each where a table says."""
    RING = 2
    """One after another, from the oldest on."""


@dataclass(frozen=True, eq=False)
class Constant:
    """An array in the image."""

    data: Array


@dataclass(frozen=True)
class Place:
    """Where the rows of a tensor lie."""

    row_bytes: int
    rows: int
    memory: int
    at: int = 0
    """Where row 0 is, in bytes; of a constant, from where that begins."""
    kind: Kind = Kind.STRIP
    ring: int = 0
    offsets: tuple[int, ...] = ()
    """Of a table: of each row, in bytes."""
    constant: Constant | None = None

    @property
    def end(self) -> int:
        """Behind its last byte."""
        last = max(self.offsets) if self.kind is Kind.TABLE else self.at + (self.rows - 1) * self.row_bytes
        return last + self.row_bytes


@dataclass(frozen=True)
class Operand:
    """What an instruction reads: the rows start + y * step + k * spread of a place for `taps` values of k, or those
    that are listed."""

    place: Place
    taps: int = 0
    start: int = 0
    step: int = 0
    spread: int = 0
    listed: tuple[int, ...] = ()
    """`taps` for each turn of the instruction, or, where it computes several rows in a turn, for each row from 0 on."""


@dataclass(frozen=True)
class Room:
    """Working memory, or that of running sums."""

    memory: int
    at: int
    nbytes: int


@dataclass(frozen=True)
class Instruction:
    """One kernel call of each turn, or what jumps and copies."""

    name: str
    form: Form
    kernel: Packed | None = None
    operands: tuple[Operand, ...] = ()
    out: Place | None = None
    scratch: Room | None = None
    sums: Room | None = None
    counter: int | None = None
    """Which counter says how many turns it has had; None where there is one turn only."""
    times: int = 1
    """How many turns there are."""
    lo: int = 0
    hi: int = 0
    first: int = 0
    step: int = 0
    """Turn n is for row (or tap) first + n * step."""
    listed: tuple[int, ...] = ()
    """Or for the n-th of these."""
    group: int = 1
    """How many rows are computed in a turn."""
    last: int = 0
    """Behind the last row that there is to compute."""


@dataclass(frozen=True)
class Initial:
    """What a state is before the first inference."""

    at: int
    data: Array


@dataclass(frozen=True)
class Port:
    """An input or output; an input that is handed over row by row has no place."""

    tensor: Tensor
    place: Place | None


@dataclass(frozen=True)
class Program:
    """What a plan does. The instructions of its own operators come first and have their numbers in `Plan.works`; those
    of bodies, jumps and copies follow."""

    instructions: tuple[Instruction, ...]
    schedule: tuple[int, ...]
    arenas: tuple[int, ...]
    """Bytes in each memory."""
    state_bytes: int
    states: tuple[Initial, ...]
    rings: int
    counters: int
    warm_up: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @property
    def pushed(self) -> bool:
        return any(port.place is None for port in self.inputs)

    @property
    def jumps(self) -> bool:
        """Whether there is control flow."""
        return any(i.form >= Form.COPY for i in self.instructions)

    @property
    def kernels(self) -> list[Packed]:
        """Those that are called, in order."""
        return [i.kernel for i in self.instructions if i.kernel is not None]


def program(plan: Plan) -> Program:
    """What a plan does, as instructions."""
    return _Machine(plan).program()


@dataclass(frozen=True)
class _Base:
    """Where a memory of a plan begins: that of a body is somewhere in the memories of the plan around it."""

    memory: int
    at: int = 0
    constant: Constant | None = None


@dataclass(frozen=True)
class _Scope:
    """A plan, or that of a body, with where its memories are and what its operators' numbers and counters begin
    with."""

    plan: Plan
    bases: Mapping[int, _Base]
    number: int
    counter: int
    sizes: Mapping[int, int] = field(default_factory=dict)
    """Bytes of the memories that places may not go beyond."""


@dataclass
class _Machine:
    """What is made of a plan so far."""

    plan: Plan
    instructions: list[Instruction] = field(default_factory=list)
    schedule: list[int] = field(default_factory=list)
    counters: int = 0
    constants: dict[int, Constant] = field(default_factory=dict)
    """By the identity of the array, which the plan keeps alive."""

    def program(self) -> Program:
        plan, arenas = self.plan, dict(enumerate(self.plan.arenas))
        bases = {m: _Base(m) for m in arenas} | {KEPT: _Base(STATES)}
        scope = self._scope(plan, bases, arenas | {STATES: plan.state_bytes})
        self._run(scope)
        states = tuple(Initial(plan.place[s.before].offset, s.initial) for s in plan.graph.states)
        inputs = (Port(t, None if plan.pushed else self._tensor(scope, t)) for t in self._tensors(plan.graph.inputs))
        outputs = (Port(t, self._tensor(scope, t)) for t in self._tensors(plan.graph.outputs))
        return Program(
            tuple(self.instructions),
            tuple(self.schedule),
            self._arenas(),
            plan.state_bytes,
            states,
            plan.rings,
            self.counters,
            plan.graph.warm_up,
            tuple(inputs),
            tuple(outputs),
        )

    def _tensors(self, ids: Sequence[int]) -> list[Tensor]:
        return [self.plan.graph.tensors[t] for t in ids]

    def _arenas(self) -> tuple[int, ...]:
        """Bytes of the memories: those of the plan, and of rows of tensors in one piece that nobody needs, whose
        kernels are called for all of it."""
        ends = list(self.plan.arenas)
        places = (p for i in self.instructions for p in (i.out, *(o.place for o in i.operands)) if p is not None)
        for place in places:
            if place.memory < len(ends):
                ends[place.memory] = max(ends[place.memory], place.end)
        return tuple(ends)

    def _scope(self, plan: Plan, bases: Mapping[int, _Base], sizes: Mapping[int, int]) -> _Scope:
        """A plan with places for its instructions and counters behind those that there are."""
        found = _Scope(plan, bases, len(self.instructions), self.counters, sizes)
        self.counters += plan.counters
        self.instructions += [_NOTHING] * len(plan.works)
        return found

    def _run(self, scope: _Scope) -> None:
        """The instructions of a plan, and its schedule behind what there is."""
        for i, (op, steps) in enumerate(scope.plan.works):
            if not isinstance(steps[0].kernel, Bodied):
                self.instructions[scope.number + i] = self._instruction(scope, i, op, steps)
        for step in scope.plan.steps:
            if isinstance(step.kernel, Bodied):
                self._control(scope, step, step.kernel)
            self.schedule.append(scope.number + scope.plan.numbers[step.ops])

    def _instruction(self, scope: _Scope, i: int, op: Op, steps: tuple[Step, ...]) -> Instruction:
        step, kernel = steps[0], steps[0].kernel
        counter = scope.counter + counter_of(scope.plan, i) if len(steps) > 1 else None
        out = scope.plan.place[op.outputs[0]]
        begun = Instruction(
            op.name,
            Form.WHOLE,
            None if isinstance(op, Arrival) else kernel,
            out=self._place(scope, out),
            scratch=_room(scope, step.scratch_memory, step.scratch, kernel.scratch),
            sums=_room(scope, step.sums_memory, step.sums, kernel.sums),
            counter=counter,
            times=len(steps),
        )
        if isinstance(op, Arrival):
            return _turning(replace(begun, form=Form.ARRIVAL), [s.rows.lo for s in steps])
        if kernel.call is Call.ADDS:
            taps, read = added(scope.plan, op, steps)
            operand = self._operand(scope, read, read.flat)
            return _turning(replace(begun, form=Form.SUMS, operands=(operand,)), taps)
        if kernel.call is Call.RING:
            new = Operand(self._tensor(scope, op.input(scope.plan.graph, 1)))
            return replace(begun, form=Form.RING, operands=(new,))
        return self._whole(scope, op, begun, step) if step.whole else self._rows(scope, op, begun, RowsOf(steps))

    def _whole(self, scope: _Scope, op: Op, begun: Instruction, step: Step) -> Instruction:
        graph, kernel = scope.plan.graph, step.kernel
        operands = tuple(Operand(self._tensor(scope, op.input(graph, p))) for p in kernel.operands)
        ranges = {Call.FLAT: (0, kernel.units), Call.ROWS: (step.rows.lo, step.rows.hi)}
        lo, hi = ranges.get(kernel.call, (0, 0))
        out = self._tensor(scope, op.output(graph))
        return replace(begun, operands=operands, out=out, lo=lo, hi=hi)

    def _rows(self, scope: _Scope, op: Op, begun: Instruction, rows: RowsOf) -> Instruction:
        plan, kernel = scope.plan, rows.steps[0].kernel
        begun = _turning(replace(begun, group=rows.group, last=max(rows.ys) + 1), rows.begins)
        if kernel.rows and kernel.group > 1:
            read = windows(plan, op, rows)
            return replace(begun, form=Form.ROWS, operands=(self._operand(scope, read),), hi=kernel.group)
        if kernel.row:
            found = [window(plan, op, position, rows) for position in kernel.operands]
            form, hi = Form.ROW, 0
        else:
            found = [aligned_row(plan, op, position, rows) for position in kernel.operands]
            units = kernel.units // row_count(op.output(plan.graph).shape)
            form, hi = Form.EACH, units if kernel.call is Call.FLAT else 1
        operands = tuple(self._operand(scope, read, _listed(read, rows)) for read in found)
        return replace(begun, form=form, operands=operands, hi=hi)

    def _operand(self, scope: _Scope, read: Reading, listed: Sequence[int] = ()) -> Operand:
        place = self._tensor_rows(scope, read.tensor)
        if read.formula is None:
            return Operand(place, read.count, listed=tuple(listed))
        return Operand(place, read.count, read.formula.start, read.formula.step, read.formula.spread)

    def _tensor_rows(self, scope: _Scope, tensor: Tensor) -> Place:
        """The rows of a tensor, one by one."""
        if tensor.data is not None:
            return self._constant(tensor)
        return self._place(scope, view(scope.plan, tensor))

    def _tensor(self, scope: _Scope, tensor: Tensor) -> Place:
        """A tensor in one piece, all of it: also of rows that nobody needs its memory must be there."""
        if tensor.data is not None:
            return self._constant(tensor)
        buffer = scope.plan.place[tensor.id]
        return replace(self._place(scope, buffer), rows=len(buffer.offsets))

    def _constant(self, tensor: Tensor) -> Place:
        assert tensor.data is not None
        constant = self.constants.setdefault(id(tensor.data), Constant(tensor.data))
        rows = row_count(tensor.shape)
        return Place(tensor.nbytes // rows, rows, IMAGE, constant=constant)

    def _place(self, scope: _Scope, buffer: Buffer) -> Place:
        """Where the rows of a buffer lie. Behind those that are needed there may be no memory."""
        base, count = scope.bases[buffer.memory], len(buffer.offsets)
        if buffer.base is None and buffer.ring is None and any(o is not None for o in buffer.offsets):
            offsets = tuple(base.at + (o or 0) for o in buffer.offsets)
            return Place(buffer.row_bytes, count, base.memory, 0, Kind.TABLE, offsets=offsets, constant=base.constant)
        at = base.at + buffer.offset
        if buffer.ring is not None:
            return Place(buffer.row_bytes, count, base.memory, at, Kind.RING, buffer.ring)
        needed = max((y + 1 for y, o in enumerate(buffer.offsets) if o is not None), default=1)
        room = (scope.sizes[base.memory] - at) // buffer.row_bytes if base.memory in scope.sizes else count
        return Place(buffer.row_bytes, min(count, max(needed, room)), base.memory, at, constant=base.constant)

    def _control(self, scope: _Scope, step: Step, kernel: Bodied) -> None:
        """An operator with bodies: their instructions in the schedule, with jumps, and at last one that does nothing,
        which stands for the operator."""
        op = scope.plan.op(step)
        assert isinstance(op, Control)
        bodies = [self._body(scope, op, step, plan, n) for n, plan in enumerate(kernel.plans)]
        if isinstance(op, If):
            self._branches(scope, op, bodies, kernel)
        else:
            assert isinstance(op, While)
            self._loop(scope, op, bodies, kernel)
        out = self._tensor(scope, op.output(scope.plan.graph))
        end = Instruction(op.name, Form.COPY, operands=(Operand(out),), out=out)
        self.instructions[scope.number + scope.plan.numbers[step.ops]] = end

    def _body(self, scope: _Scope, op: Control, step: Step, plan: Plan, number: int) -> _Scope:
        """A body with its memories: its arena is the step's working memory, and what it is lent lies outside."""
        around = scope.bases[step.scratch_memory]
        bases = {0: _Base(around.memory, around.at + (step.scratch or 0))}
        known = outside(op, plan, number)
        for k, t in enumerate(plan.goal.lent):
            place = self._tensor(scope, scope.plan.graph.tensors[known[t]])
            bases[LENT - k] = _Base(place.memory, place.at, place.constant)
        return self._scope(plan, bases, scope.sizes)

    def _branches(self, scope: _Scope, op: If, bodies: Sequence[_Scope], kernel: Bodied) -> None:
        condition = self._tensor(scope, op.input(scope.plan.graph))
        branch = self._add(Instruction(op.name, Form.BRANCH, operands=(Operand(condition),)))
        ends = []
        for number, (body, copies) in enumerate(zip(bodies, kernel.copies, strict=True)):
            if number:
                ends.append(self._add(Instruction(op.name, Form.JUMP)))
                self._aim(branch)
            self._run(body)
            outputs = [self._tensor(scope, scope.plan.graph.tensors[op.made[c.output]]) for c in copies]
            self._copy_out(op, body, copies, outputs)
        for jump in ends:
            self._aim(jump)

    def _loop(self, scope: _Scope, op: While, bodies: Sequence[_Scope], kernel: Bodied) -> None:
        graph, body = scope.plan.graph, bodies[-1]
        for given, made in zip(op.given, op.made, strict=False):
            self._copy(op, self._tensor(scope, graph.tensors[given]), self._tensor(scope, graph.tensors[made]))
        if op.trips == 0:
            return
        begin, leave = len(self.schedule), None
        if op.trips is None:
            asked = bodies[0].plan.graph
            self._run(bodies[0])
            condition = self._tensor(bodies[0], asked.tensors[asked.outputs[0]])
            leave = self._add(Instruction(op.name, Form.BRANCH, operands=(Operand(condition),)))
        self._run(body)
        copies = kernel.copies[-1]
        inner = body.plan.graph
        self._copy_out(op, body, copies, [self._tensor(body, inner.tensors[inner.inputs[c.output]]) for c in copies])
        if op.trips is None:
            self._add(Instruction(op.name, Form.JUMP, lo=begin))
        else:
            self._add(Instruction(op.name, Form.REPEAT, counter=self.counters, times=op.trips, lo=begin))
            self.counters += 1
        if leave is not None:
            self._aim(leave)

    def _copy_out(self, op: Control, body: _Scope, copies: Sequence[Copy], targets: Sequence[Place]) -> None:
        """Outputs of a body to where they belong, those first out of the way that lie where others are copied to."""
        sources = [self._tensor(body, body.plan.graph.tensors[c.tensor]) for c in copies]
        for k, copy in enumerate(copies):
            if copy.by_way is not None:
                base = body.bases[0]
                aside = replace(sources[k], memory=base.memory, at=base.at + copy.by_way, constant=None)
                self._copy(op, sources[k], aside)
                sources[k] = aside
        for source, target in zip(sources, targets, strict=True):
            self._copy(op, source, target)

    def _copy(self, op: Control, source: Place, target: Place) -> None:
        """All of a tensor to another place, if it is another one."""
        if (source.memory, source.at, source.constant) != (target.memory, target.at, target.constant):
            nbytes = target.rows * target.row_bytes
            self._add(Instruction(op.name, Form.COPY, operands=(Operand(source),), out=target, hi=nbytes))

    def _add(self, instruction: Instruction) -> int:
        """One more instruction, which is next in the schedule; its number."""
        self.instructions.append(instruction)
        self.schedule.append(len(self.instructions) - 1)
        return len(self.instructions) - 1

    def _aim(self, jump: int) -> None:
        """A jump to what comes next."""
        self.instructions[jump] = replace(self.instructions[jump], lo=len(self.schedule))


_NOTHING = Instruction("", Form.COPY)
"""What stands where an instruction is still to come."""


def _room(scope: _Scope, memory: int, at: int | None, nbytes: int | None) -> Room | None:
    if at is None:
        return None
    base = scope.bases[memory]
    return Room(base.memory, base.at + at, nbytes or 0)


def _turning(begun: Instruction, values: Sequence[int]) -> Instruction:
    """An instruction with a turn for each of these values."""
    if len(values) == 1:
        return replace(begun, first=values[0])
    found = affine([(n, 0, v) for n, v in enumerate(values)])
    return replace(begun, listed=tuple(values)) if found is None else replace(begun, first=found.start, step=found.step)


def _listed(read: Reading, rows: RowsOf) -> list[int]:
    """The rows that are read in each turn, or for each row where a turn computes several."""
    if rows.group == 1:
        return read.flat
    found = [OUTSIDE] * (read.count * (max(rows.ys) + 1))
    for y, taken in zip(rows.ys, read.listed, strict=True):
        found[y * read.count : y * read.count + len(taken)] = taken
    return found
