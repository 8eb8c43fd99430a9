"""Flattens control flow for images: branches and loops become jumps in one schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mote.compiler.lower.program import (
    IMAGE,
    STATES,
    Body,
    Branches,
    Constant,
    Form,
    Instruction,
    Kind,
    Loop,
    Operand,
    Place,
    Program,
    Scratch,
    Transfer,
)
from mote.compiler.plan.plan import LENT


def flattened(program: Program) -> Program:
    """The program with the instructions of bodies, jumps and copies appended, at addresses in the memories of the whole
    program."""
    return _Flattener(program).program()


def with_image_calls(program: Program) -> Program:
    """The program with calls of external generators replaced by kernels of the runtime, where there are any."""
    return replace(program, instructions=tuple(map(_with_image_call, program.instructions)))


def _with_image_call(i: Instruction) -> Instruction:
    if i.external is None or (called := i.external.artifact.image) is None:
        return i
    operands = tuple(Operand(i.external.places[tensor]) for tensor in called.inputs)
    return replace(i, kernel=called.kernel, operands=operands, external=None)


@dataclass(frozen=True)
class _Base:
    """Where a memory of a body begins in the memories of the whole program."""

    memory: int
    at: int = 0
    constant: Constant | None = None


@dataclass(frozen=True)
class _Scope:
    """A program or body, with the bases of its memories, and the offsets of its instruction numbers and counters."""

    program: Program
    bases: Mapping[int, _Base]
    number: int
    counter: int


@dataclass
class _Flattener:
    whole: Program
    instructions: list[Instruction] = field(default_factory=list)
    schedule: list[int] = field(default_factory=list)
    counters: int = 0

    def program(self) -> Program:
        bases = {memory: _Base(memory) for memory in (*range(len(self.whole.arenas)), STATES)}
        self._run(self._scope(self.whole, bases))
        return replace(
            self.whole,
            instructions=tuple(self.instructions),
            schedule=tuple(self.schedule),
            arenas=self._arenas(),
            counters=self.counters,
        )

    def _arenas(self) -> tuple[int, ...]:
        """Bytes of the arenas: those of the plan, extended to contiguous tensors whose last rows are unused, as kernels
        are called for all rows."""
        ends = list(self.whole.arenas)
        places = (p for i in self.instructions for p in (i.out, *(o.place for o in i.operands)) if p is not None)
        for place in places:
            if place.memory < len(ends):
                ends[place.memory] = max(ends[place.memory], place.end)
        return tuple(ends)

    def _scope(self, program: Program, bases: Mapping[int, _Base]) -> _Scope:
        """A program or body, for which instruction numbers and counters are reserved after the existing ones."""
        scope = _Scope(program, bases, len(self.instructions), self.counters)
        self.counters += program.counters
        self.instructions += [Instruction("", Form.COPY)] * len(program.instructions)
        return scope

    def _run(self, scope: _Scope) -> None:
        """Adds the instructions of a program or body, and its schedule after the existing one."""
        own = scope.program.instructions
        for number, instruction in enumerate(own, scope.number):
            self.instructions[number] = self._moved(scope, instruction)
        for number in scope.program.schedule:
            if own[number].control is not None:
                self._control(scope, own[number])
            self.schedule.append(scope.number + number)

    def _moved(self, scope: _Scope, i: Instruction) -> Instruction:
        """An instruction with addresses of the whole program; a control flow instruction becomes an empty copy at its
        end."""
        out = None if i.out is None else self._place(scope, i.out, i.form in (Form.WHOLE, Form.COPY))
        if i.control is not None:
            assert out is not None
            return Instruction(i.name, i.form, operands=(Operand(out),), out=out)
        return replace(
            i,
            operands=tuple(replace(o, place=self._place(scope, o.place, o.taps == 0)) for o in i.operands),
            out=out,
            others=tuple(self._place(scope, place) for place in i.others),
            scratch=_room(scope, i.scratch),
            sums=_room(scope, i.sums),
            counter=None if i.counter is None else scope.counter + i.counter,
        )

    def _place(self, scope: _Scope, place: Place, contiguous: bool = True) -> Place:
        """A place with addresses of the whole program. A contiguous tensor also has memory for unused rows; others are
        cut off at the end of the memory."""
        if place.memory == IMAGE:
            return place
        base = scope.bases[place.memory]
        moved = replace(place, memory=base.memory, at=base.at + place.at, constant=base.constant)
        if any(offset is not None for offset in place.offsets):
            return replace(moved, at=0, offsets=tuple(base.at + (offset or 0) for offset in place.offsets))
        if place.kind is Kind.TABLE:
            moved = replace(moved, kind=Kind.STRIP, offsets=())
        sizes = {**dict(enumerate(self.whole.arenas)), STATES: self.whole.state_bytes}
        if contiguous or place.kind is Kind.RING or base.memory not in sizes:
            return moved
        return replace(moved, rows=min(place.rows, max(1, (sizes[base.memory] - moved.at) // place.row_bytes)))

    def _control(self, scope: _Scope, i: Instruction) -> None:
        """Adds the bodies of a control flow instruction to the schedule, with jumps."""
        bodies = [self._body(scope, i, body) for body in i.bodies]
        if isinstance(i.control, Branches):
            self._branches(scope, i, bodies)
        elif isinstance(i.control, Loop):
            self._loop(scope, i, i.control, bodies)

    def _body(self, scope: _Scope, i: Instruction, body: Body) -> _Scope:
        """The scope of a body: its arena is the instruction's working memory, and shared tensors are outside of it."""
        room = i.scratch or Scratch(0, 0, 0)
        around = scope.bases[room.memory]
        bases = {0: _Base(around.memory, around.at + room.at)}
        for k, lent in enumerate(body.lent):
            place = self._place(scope, lent.place)
            bases[LENT - k] = _Base(place.memory, place.at, place.constant)
        return self._scope(body.program, bases)

    def _branches(self, scope: _Scope, i: Instruction, bodies: Sequence[_Scope]) -> None:
        branch = self._branch(scope, i, i.operands[0].place)
        ends = []
        for number, (inner, body) in enumerate(zip(bodies, i.bodies, strict=True)):
            if number:
                ends.append(self._add(Instruction(i.name, Form.JUMP)))
                self._aim(branch)
            self._run(inner)
            self._copies(i, inner, body.copies)
        for jump in ends:
            self._aim(jump)

    def _loop(self, scope: _Scope, i: Instruction, loop: Loop, bodies: Sequence[_Scope]) -> None:
        self._copies(i, scope, loop.begin)
        if loop.trips == 0:
            return
        begin, leave = len(self.schedule), None
        if loop.trips is None:
            self._run(bodies[0])
            asked = bodies[0].program.outputs[0].place
            assert asked is not None
            leave = self._branch(bodies[0], i, asked)
        self._run(bodies[-1])
        self._copies(i, bodies[-1], i.bodies[-1].copies)
        if leave is None:
            self._add(Instruction(i.name, Form.REPEAT, counter=self.counters, times=loop.trips or 0, lo=begin))
            self.counters += 1
        else:
            self._add(Instruction(i.name, Form.JUMP, lo=begin))
            self._aim(leave)

    def _branch(self, scope: _Scope, i: Instruction, condition: Place) -> int:
        return self._add(Instruction(i.name, Form.BRANCH, operands=(Operand(self._place(scope, condition)),)))

    def _copies(self, i: Instruction, scope: _Scope, copies: Sequence[Transfer]) -> None:
        """Adds copies of tensors to their targets; sources that overlap other targets are copied aside first."""
        for c in copies:
            if c.staging is not None:
                self._copy(i, scope, c.source, c.staging)
        for c in copies:
            self._copy(i, scope, c.staging or c.source, c.target)

    def _copy(self, i: Instruction, scope: _Scope, source: Place, target: Place) -> None:
        """Adds a copy of a tensor, unless source and target are the same place."""
        source, target = self._place(scope, source), self._place(scope, target)
        if not source.begins_with(target):
            self._add(Instruction(i.name, Form.COPY, operands=(Operand(source),), out=target, hi=target.nbytes))

    def _add(self, instruction: Instruction) -> int:
        """Appends an instruction to the program and the schedule; returns its number."""
        self.instructions.append(instruction)
        self.schedule.append(len(self.instructions) - 1)
        return len(self.instructions) - 1

    def _aim(self, jump: int) -> None:
        """Sets the target of a jump to the end of the current schedule."""
        self.instructions[jump] = replace(self.instructions[jump], lo=len(self.schedule))


def _room(scope: _Scope, room: Scratch | None) -> Scratch | None:
    if room is None:
        return None
    base = scope.bases[room.memory]
    return Scratch(base.memory, base.at + room.at, room.nbytes)
