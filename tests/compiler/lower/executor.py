"""Runs a program in NumPy, in memories of exactly its bytes, and trusts nothing: independent of the C, of the runtime
and of the plan's checker.

Addresses, rows and turns are the program's alone; what an instruction computes is what its operator means. It gets the
rows that its pointers point to and nothing else: whatever it may not read is noise. What kernels may write early
(working memory, sums, an output that is not allowed over an input) is noise before the inputs are read. Every row of
the outermost program that is read or computed is compared with what the graph computes as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import ALIGNMENT, NHWC, Layout
from mote.compiler.kernels.contract import Call as ContractCall
from mote.compiler.lower.program import (
    STATES,
    Branches,
    Form,
    Instruction,
    Kind,
    Loop,
    Operand,
    Place,
    Program,
    Scratch,
    Transfer,
    program,
)
from mote.compiler.plan.plan import LENT, Plan, SplitKernel
from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.rows import OUTSIDE, row_count
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import Magnitudes, compare
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis, WindowOp

Bytes = NDArray[np.uint8]


class CorruptError(Exception):
    """The program computes something else than the graph."""


@dataclass(frozen=True)
class Span:
    """Bytes lo..hi-1 of a memory."""

    memory: int
    lo: int
    hi: int

    def meets(self, other: Span) -> bool:
        return self.memory == other.memory and self.lo < other.hi and other.lo < self.hi


@dataclass(frozen=True)
class Read:
    """A row of an input of an operator, and where an instruction finds it."""

    position: int
    row: int
    span: Span


@dataclass
class Frame:
    """A program that runs, or the body of one, with its memories."""

    program: Program
    memories: Mapping[int, Bytes]
    counters: list[int]
    taps: dict[int, dict[int, Bytes]] = field(default_factory=dict)
    """Of instructions that keep sums: the rows that were added."""

    def at(self, span: Span) -> Bytes:
        memory = self.memories[span.memory]
        if not 0 <= span.lo <= span.hi <= memory.size:
            raise CorruptError(f"{span} lies outside of its memory")
        return memory[span.lo : span.hi]

    def whole(self, place: Place) -> Bytes:
        """The bytes of a contiguous tensor."""
        if place.constant is not None:
            data = np.frombuffer(place.constant.data.tobytes(), np.uint8)
            return data[place.at : place.at + place.nbytes]
        if place.at % ALIGNMENT:
            raise CorruptError(f"{place} is not aligned")
        return self.at(Span(place.memory, place.at, place.at + place.nbytes))


@dataclass(frozen=True)
class Call:
    """An instruction that calls a kernel, and what that means."""

    frame: Frame
    i: Instruction
    graph: Graph
    op: Op

    def layout(self, position: int) -> Layout:
        """How an input lies."""
        return self.i.called.needs.reads if position == 0 else NHWC


def execute(plan: Plan, inputs: Mapping[int, Array], *, seed: int = 0, missing: int = 0) -> dict[int, Array]:
    """The outputs of a plan's program, or CorruptError. `missing`: run it in an arena that is so many bytes smaller."""
    try:
        made = program(plan)
    except AssertionError as error:
        raise CorruptError("the plan has no program") from error
    return Machine(plan, made, seed, missing).run(inputs)


class Machine:
    """The memories of a program, which runs inference by inference."""

    def __init__(self, plan: Plan, made: Program, seed: int = 0, missing: int = 0) -> None:
        self.graph, self.program = plan.graph, made
        self.rng = np.random.default_rng(seed)
        *others, last = made.arenas
        self.memories = dict(enumerate(map(self._noise, (*others, last - missing))))
        self.memories[STATES] = self._noise(made.state_bytes)
        for state in made.states:
            raw = np.frombuffer(state.data.tobytes(), np.uint8)
            self.memories[STATES][state.at : state.at + raw.size] = raw
        self.oldest = [0] * made.rings
        works = [(p.graph, op, steps[0].kernel) for p in plan.all for op, steps in p.works]
        calls = [(graph, op, k.calls if isinstance(k, SplitKernel) else (k,)) for graph, op, k in works]
        self.meaning = {id(k): (graph, op) for graph, op, kernels in calls for k in kernels}
        """What a kernel computes."""
        self.arrivals = {n: op.outputs[0] for n, (op, _) in enumerate(plan.works)}
        self.carried: dict[int, Array] = {}
        """What the graph says the states are."""
        self.values: dict[int, Array] = {}
        self.magnitudes: Mapping[int, float] = {}
        self.wanted: dict[tuple[int, Layout], Bytes] = {}
        self.arrived: dict[int, int] = {}
        """How many rows of an input have been handed over."""

    def run(self, inputs: Mapping[int, Array]) -> dict[int, Array]:
        """The outputs of an inference."""
        made = self.program
        self.values = self.graph.evaluate({**self.carried, **inputs})
        self.magnitudes, self.wanted, self.arrived = Magnitudes(self.graph).step(self.values), {}, {}
        frame = Frame(made, self.memories, [0] * made.counters)
        for port in made.inputs:
            if port.place is not None:
                frame.whole(port.place)[:] = self._want(port.tensor.id)
        self._run(frame)
        if made.pushed and self.arrived != {p.tensor.id: row_count(p.tensor.shape) for p in made.inputs}:
            raise CorruptError("rows of the input are left over")
        self.carried = self.graph.carried(self.values)
        found = {}
        for port in made.outputs:
            assert port.place is not None
            data, tensor = frame.whole(port.place), port.tensor
            if not np.array_equal(data, self._want(tensor.id)):
                raise CorruptError(f"output '{tensor.name}' is wrong")
            found[tensor.id] = data.view(tensor.dtype.numpy).reshape(tensor.shape)
        return found

    def _run(self, frame: Frame) -> None:
        position, schedule = 0, frame.program.schedule
        while position < len(schedule):
            i = frame.program.instructions[schedule[position]]
            try:
                position = self._turn(frame, schedule[position], i, position + 1)
            except CorruptError as error:
                raise CorruptError(f"step {position} {i.kind} '{i.name}': {error}") from None

    def _turn(self, frame: Frame, number: int, i: Instruction, after: int) -> int:
        """Run an instruction; the position in the schedule that comes then."""
        n = 0
        if i.counter is not None:
            n = frame.counters[i.counter]
            frame.counters[i.counter] = (n + 1) % i.times
        if i.control is not None:
            self._control(frame, i)
        elif i.form is Form.COPY:
            if i.hi:
                self._copy(frame, i.operands[0].place, i.target)
        elif i.form is Form.JUMP:
            return i.lo
        elif i.form is Form.BRANCH:
            return after if frame.whole(i.operands[0].place)[0] else i.lo
        elif i.form is Form.REPEAT:
            return after if n + 1 == i.times else i.lo
        elif i.form is Form.ARRIVAL:
            self._arrive(frame, i, self.arrivals[number], i.begins[n])
        elif i.form is Form.RING:
            self._ring(frame, i)
        elif i.form is Form.SUMS:
            self._add(frame, number, i, n)
        else:
            self._kernel(frame, i, n)
        return after

    def _control(self, frame: Frame, i: Instruction) -> None:
        if isinstance(i.control, Branches):
            self._body(frame, i, 0 if frame.whole(i.operands[0].place)[0] else 1)
        elif isinstance(i.control, Loop):
            self._copies(frame, i.control.begin)
            turns = 0
            while turns != i.control.trips and (i.control.trips is not None or self._asked(frame, i)):
                self._body(frame, i, -1)
                turns += 1
        for place in i.control.shown if i.control else ():
            for t in place.tensors if frame.program is self.program else ():
                if not np.array_equal(frame.whole(place), self._want(t)):
                    raise CorruptError(f"tensor {t} is wrong")

    def _asked(self, frame: Frame, i: Instruction) -> bool:
        """Whether a loop goes on."""
        inner = self._body(frame, i, 0)
        place = inner.program.outputs[0].place
        assert place is not None
        return bool(inner.whole(place)[0])

    def _body(self, frame: Frame, i: Instruction, number: int) -> Frame:
        """Run a body in the working memory of its instruction, and in what it is lent."""
        body, room = i.bodies[number], i.scratch
        nothing = np.zeros(0, np.uint8)
        memories = {0: nothing if room is None else frame.at(Span(room.memory, room.at, room.at + room.nbytes))}
        memories[0][:] = self._noise(memories[0].size)
        for k, lent in enumerate(body.lent):
            memories[LENT - k] = frame.whole(lent.place)
            if not lent.written:
                memories[LENT - k] = memories[LENT - k].copy()
        inner = Frame(body.program, memories, [0] * body.program.counters)
        self._run(inner)
        self._copies(inner, body.copies)
        return inner

    def _copies(self, frame: Frame, copies: Sequence[Transfer]) -> None:
        for c in copies:
            if c.staging is not None:
                self._copy(frame, c.source, c.staging)
        for c in copies:
            self._copy(frame, c.staging or c.source, c.target)

    def _copy(self, frame: Frame, source: Place, target: Place) -> None:
        frame.whole(target)[:] = frame.whole(source).copy()

    def _arrive(self, frame: Frame, i: Instruction, tensor: int, row: int) -> None:
        """The caller hands over the next row of the input, whatever the program takes it for."""
        number = self.arrived.get(tensor, 0)
        if row != number or number >= row_count(self.graph.tensors[tensor].shape):
            raise CorruptError(f"row {number} arrives")
        self.arrived[tensor] = number + 1
        want, nbytes = self._want(tensor), i.target.row_bytes
        frame.at(self._span(i.target, row))[:] = want[row * nbytes : (row + 1) * nbytes]

    def _ring(self, frame: Frame, i: Instruction) -> None:
        """New rows over the oldest ones."""
        call = Call(frame, i, *self.meaning[id(i.kernel)])
        new = frame.whole(i.operands[0].place)
        count = new.size // i.target.row_bytes
        for y in range(count):
            frame.at(self._span(i.target, y))[:] = new[y * i.target.row_bytes : (y + 1) * i.target.row_bytes]
        self.oldest[i.target.ring] = (self.oldest[i.target.ring] + count) % i.target.rows
        for y in range(i.target.rows):
            self._check(call, call.op.outputs[0], y, NHWC, frame.at(self._span(i.target, y)))

    def _add(self, frame: Frame, number: int, i: Instruction, n: int) -> None:
        """One more row into running sums; a token stands for them."""
        call = Call(frame, i, *self.meaning[id(i.kernel)])
        tap, (operand,) = i.begins[n], i.operands
        scratch, sums = _room(i.scratch, i.called.needs.scratch), _room(i.sums, i.called.needs.sums)
        if sums is None or (scratch and sums.meets(scratch)):
            raise CorruptError("sums lie over the working memory")
        taps = frame.taps.setdefault(number, {})
        if n == 0:
            taps.clear()
        elif not np.array_equal(frame.at(sums), _token(number, taps, sums)):
            raise CorruptError("its sums were overwritten")
        rows = call.op.reads(call.graph, 0, 0) or range(row_count(call.op.input(call.graph).shape))
        row, pointer = rows[tap], self._pointer(operand, tap, 0, n)
        if pointer is None or row in taps:
            raise CorruptError(f"row {row} has no address, or is added twice")
        last = n == i.times - 1
        written = {0: self._span(i.target, 0)} if last else {}
        self._spoil(frame, scratch)
        taps[row] = self._fetch(call, [Read(0, row, pointer)], written, sums)[0, row]
        if last:
            if any(span.meets(sums) and span.lo != sums.lo for span in written.values()):
                raise CorruptError("the output lies over the sums, but not where they begin")
            self._compute(call, {(0, r): data for r, data in taps.items()}, written)
        else:
            frame.at(sums)[:] = _token(number, taps, sums)
        self._finish(call, scratch, written)

    def _kernel(self, frame: Frame, i: Instruction, n: int) -> None:
        """One call of a kernel, or one for each row of a turn."""
        call = Call(frame, i, *self.meaning[id(i.kernel)])
        if i.second is not None and i.second.rows == i.rows:
            self._channels(call, replace(call, i=i.second))
            return
        if i.second is not None:
            shares = [replace(call, i=i.second), call]
            for share, other in (shares, reversed(shares)):
                rows = range(share.i.rows.lo, share.i.rows.hi)
                self._call(share, rows, self._contiguous_reads(share, rows), self._touched(other))
            return
        if i.form is Form.WHOLE:
            rows = range(i.rows.lo, i.rows.hi)
            self._call(call, rows, self._contiguous_reads(call, rows))
            return
        begin = i.begins[n]
        end = begin + 1 if i.group == 1 else min(begin + i.group, i.last)
        begin = max(begin, 0)
        size = i.hi if i.form is Form.ROWS else 1
        for y in range(begin, end, size):
            rows = range(y, min(y + size, end))
            self._call(call, rows, [r for k in range(len(i.operands)) for r in self._row_reads(call, k, rows, n)])

    def _channels(self, call: Call, other: Call) -> None:
        """Two calls for channels, those of the second one behind those of the first one: both read all inputs, and
        either may write before the other reads."""
        first, second = call.i.target, other.i.target
        if call.i.called.entry.call is ContractCall.CHANNELS:
            last = call.op.output(call.graph).channels
            apart = first == second and 0 == call.i.lo < call.i.hi == other.i.lo < other.i.hi == last
        else:
            inside = first.at < second.at < first.at + first.row_bytes
            apart = first.rows == 1 and inside and (second.at - first.at) % ALIGNMENT == 0
        if not apart:
            raise CorruptError("two cores write to one place")
        rooms = [_room(c.i.scratch, c.i.called.needs.scratch) for c in (call, other)]
        rows = range(call.i.rows.lo, call.i.rows.hi)
        elsewhere = [room for room in rooms[1:] if room]
        self._call(call, rows, self._contiguous_reads(call, rows), elsewhere)

    def _touched(self, call: Call) -> list[Span]:
        """What another core writes at the same time."""
        scratch = _room(call.i.scratch, call.i.called.needs.scratch)
        rows = range(call.i.rows.lo, call.i.rows.hi)
        return [*(self._span(call.i.target, y) for y in rows), *([scratch] if scratch else [])]

    def _call(self, call: Call, rows: range, reads: Sequence[Read], elsewhere: Sequence[Span] = ()) -> None:
        """A call of a kernel, while another core writes `elsewhere`."""
        scratch = _room(call.i.scratch, call.i.called.needs.scratch)
        written = {y: self._span(call.i.target, y) for y in rows}
        if any(own.meets(other) for own in (*written.values(), *([scratch] if scratch else [])) for other in elsewhere):
            raise CorruptError("two cores write to one place")
        self._spoil(call.frame, scratch)
        others = [Span(place.memory, place.at, place.at + place.nbytes) for place in call.i.others]
        others += elsewhere
        self._compute(call, self._fetch(call, reads, written, *others), written)
        self._finish(call, scratch, written)

    def _contiguous_reads(self, call: Call, rows: range) -> list[Read]:
        """What a kernel reads that is given where its tensors begin."""
        graph, op, kernel = call.graph, call.op, call.i.called
        reads = []
        for position, t in op.computed(graph):
            count = row_count(graph.tensors[t].shape)
            if position in kernel.entry.operands:
                place = call.i.operands[kernel.entry.operands.index(position)].place
            elif op.updates.get(0) == position:
                place = call.i.target
            else:
                raise CorruptError(f"input {position} is not given")
            taken: Iterable[int] = range(count)
            if op.reads(graph, position, 0) is not None:
                taken = dict.fromkeys(r for y in rows for r in op.reads(graph, position, y) or () if r != OUTSIDE)
            own = replace(place, row_bytes=place.nbytes // count, rows=count)
            self._check_start(call, position, rows)
            reads += [Read(position, r, self._span(own, r)) for r in taken]
        return reads

    def _check_start(self, call: Call, position: int, rows: range) -> None:
        """A kernel for any run of rows is given the first one that it reads; others are given all of the tensor."""
        entry = call.i.called.entry
        first = (call.op.reads(call.graph, position, rows[0]) or (0,))[0] if entry.call is ContractCall.FLAT else 0
        if position not in entry.operands:
            return
        operand, out = call.i.operands[entry.operands.index(position)], call.i.target
        if operand.start != max(first, 0):
            raise CorruptError(f"input {position} is not given from row {first} on")
        begins = operand.start * operand.place.row_bytes, rows[0] * out.row_bytes
        if entry.call is ContractCall.FLAT and any(at % ALIGNMENT for at in begins):
            raise CorruptError("a kernel begins with a row that is not aligned")

    def _row_reads(self, call: Call, k: int, rows: range, n: int) -> list[Read]:
        """What a kernel reads of an operand that is given pointers to rows, or to one of each tensor."""
        i, operand = call.i, call.i.operands[k]
        position = i.called.entry.operands[k]
        reads: list[Read] = []
        for ahead, y in enumerate(rows if operand.place.constant is None else ()):
            wanted = call.op.reads(call.graph, position, y)
            if wanted is None:
                raise CorruptError("an operator that can only run whole runs by rows")
            turn = n if i.group == 1 else y
            if i.form is Form.EACH:
                reads += _behind(operand.place, position, wanted, self._pointer(operand, y, 0, turn))
                continue
            first, begin = (ahead * operand.step, rows[0]) if i.form is Form.ROWS else (0, y)
            if first + len(wanted) > operand.taps:
                raise CorruptError("there are too few pointers")
            for tap, row in enumerate(wanted):
                pointer = self._pointer(operand, begin, first + tap, turn)
                if (pointer is None) != (row == OUTSIDE):
                    raise CorruptError(f"tap {tap} of row {y} reads row {row}, and its pointer is {pointer}")
                if pointer is not None:
                    reads.append(Read(position, row, pointer))
        return reads

    def _pointer(self, operand: Operand, y: int, tap: int, turn: int) -> Span | None:
        """What a row pointer points to."""
        row = operand.listed[turn * operand.taps + tap] if operand.listed else operand.row(y, tap)
        return self._span(operand.place, row) if 0 <= row < operand.place.rows else None

    def _fetch(
        self, call: Call, reads: Sequence[Read], written: Mapping[int, Span], *others: Span
    ) -> dict[tuple[int, int], Bytes]:
        """The bytes of rows as a kernel sees them, when all it writes may have been written before."""
        fetched = {}
        for read in reads:
            span, data = read.span, call.frame.at(read.span).copy()
            early = [w for y, w in written.items() if not self._in_place(call, read, y, written)]
            for other in (*early, *others):
                if span.meets(other):
                    lo, hi = max(span.lo, other.lo), min(span.hi, other.hi)
                    data[lo - span.lo : hi - span.lo] = self._noise(hi - lo)
            if not (call.op.sequential and read.position in call.op.updates.values()):
                self._check(call, call.op.inputs[read.position], read.row, call.layout(read.position), data)
            fetched[read.position, read.row] = data
        return fetched

    def _in_place(self, call: Call, read: Read, y: int, written: Mapping[int, Span]) -> bool:
        """Whether a row may be overwritten by one that is made of it: the same bytes, and no other row needs them."""
        op = call.op
        positions = {p for p, t in enumerate(op.inputs) if t == op.inputs[read.position]}
        if positions <= set(op.updates.values()):
            return True
        if not positions <= set(call.i.called.needs.in_place) or read.span != written[y]:
            return False
        if call.i.called.needs.overlays:
            return read.row == y
        needed = (op.reads(call.graph, p, other) for p in positions for other in written if other != y)
        return not any(rows is None or read.row in rows for rows in needed)

    def _compute(self, call: Call, rows: Mapping[tuple[int, int], Bytes], written: Mapping[int, Span]) -> None:
        """The rows `written` from `rows` alone; of the outermost program they are compared with the reference."""
        graph, op, layout = call.graph, call.op, call.i.called.needs.writes
        values: list[Array | None] = []
        for position, t in enumerate(op.inputs):
            own = {r: data for (p, r), data in rows.items() if op.inputs[p] == t}
            values.append(None if t == ABSENT else self._value(call, position, own))
        ys = list(written)
        results = _evaluate(op, graph, values, min(ys), max(ys) + 1)
        made = self._approved(call, 0, results[0], ys)
        for y, row in zip(ys, made, strict=True):
            data, target = _flat(row, layout), call.frame.at(written[y])
            if data.size != target.size:
                raise CorruptError(f"a row has {data.size} bytes, and its place {target.size}")
            target[:] = data
        further = iter(call.i.others)
        for position in range(1, len(op.outputs)):
            if position in op.updates:
                place = call.i.operands[call.i.called.entry.operands.index(op.updates[position])].place
            else:
                place = next(further)
            last = not op.sequential or max(ys) + 1 == row_count(op.output(graph).shape)
            made = self._approved(call, position, results[position]) if last else results[position]
            call.frame.whole(place)[:] = _flat(made, NHWC)

    def _approved(self, call: Call, position: int, values: Array, ys: Sequence[int] | None = None) -> Array:
        """Rows of an output, which those of the outermost program are compared with the reference for."""
        if call.graph is not self.graph:
            return values
        t = call.op.outputs[position]
        reference = _rows(self.values[t])
        expected = reference if ys is None else reference[ys]
        if compare(values.reshape(expected.shape), expected, self.magnitudes.get(t, 0.0))[1]:
            raise CorruptError(f"output {t} is wrong")
        return expected

    def _value(self, call: Call, position: int, rows: Mapping[int, Bytes]) -> Array:
        """An input of which only `rows` are known; the rest is noise."""
        tensor = call.graph.tensors[call.op.inputs[position]]
        if tensor.data is not None:
            return tensor.data
        values = _rows(_garbage(self.rng, tensor.shape, tensor.dtype))
        for y, data in rows.items():
            values[y] = call.layout(position).load(data.view(tensor.dtype.numpy), values.shape[1:])
        return values.reshape(tensor.shape)

    def _finish(self, call: Call, scratch: Span | None, written: Mapping[int, Span]) -> None:
        self._spoil(call.frame, scratch)
        for y, span in written.items():
            self._check(call, call.op.outputs[0], y, call.i.called.needs.writes, call.frame.at(span))

    def _span(self, place: Place, row: int) -> Span:
        """Where a row lies."""
        if place.kind is Kind.TABLE:
            offset = place.offsets[row]
            if offset is None:
                raise CorruptError(f"row {row} has no place")
            lo = offset
        else:
            at = (row + self.oldest[place.ring]) % place.rows if place.kind is Kind.RING else row
            lo = place.at + at * place.row_bytes
        if lo % ALIGNMENT and (place.kind is Kind.TABLE or place.at % ALIGNMENT):
            raise CorruptError(f"row {row} is not aligned")
        return Span(place.memory, lo, lo + place.row_bytes)

    def _want(self, tensor: int, layout: Layout = NHWC) -> Bytes:
        """The bytes of a tensor of the graph in a layout."""
        if (tensor, layout) not in self.wanted:
            self.wanted[tensor, layout] = _flat(self.values[tensor], layout)
        return self.wanted[tensor, layout]

    def _check(self, call: Call, tensor: int, row: int, layout: Layout, data: Bytes) -> None:
        """A row of the outermost program is what the graph says."""
        if call.graph is not self.graph:
            return
        want, count = self._want(tensor, layout), row_count(self.graph.tensors[tensor].shape)
        nbytes = want.size // count
        if not np.array_equal(data, want[row * nbytes : (row + 1) * nbytes]):
            raise CorruptError(f"row {row} of tensor {tensor} is not intact")

    def _spoil(self, frame: Frame, span: Span | None) -> None:
        if span is not None:
            frame.at(span)[:] = self._noise(span.hi - span.lo)

    def _noise(self, nbytes: int) -> Bytes:
        return self.rng.integers(0, 256, nbytes, np.uint8)


def _behind(place: Place, position: int, rows: Sequence[int], pointer: Span | None) -> list[Read]:
    """Rows of which a kernel is given the first one."""
    if pointer is None or (len(rows) > 1 and place.kind is not Kind.STRIP):
        raise CorruptError(f"rows {rows} do not lie one after another")
    ahead = ((r, (r - rows[0]) * place.row_bytes) for r in rows)
    return [Read(position, r, Span(pointer.memory, pointer.lo + a, pointer.hi + a)) for r, a in ahead]


def _room(room: Scratch | None, nbytes: int | None) -> Span | None:
    if room is None:
        if nbytes:
            raise CorruptError("a kernel lacks its working memory")
        return None
    if room.at % ALIGNMENT:
        raise CorruptError(f"working memory at {room.at} is not aligned")
    return Span(room.memory, room.at, room.at + room.nbytes)


def _token(number: int, taps: Mapping[int, Bytes], sums: Span) -> Bytes:
    """What stands for the sums of an instruction after so many taps."""
    return np.random.default_rng([number, len(taps)]).integers(0, 256, sums.hi - sums.lo, np.uint8)


def _evaluate(op: Op, graph: Graph, values: list[Array | None], lo: int, hi: int) -> list[Array]:
    """Rows lo..hi-1 of what an operator computes, and its further outputs; of a window operator only what one row needs
    is evaluated, and of one that updates its states with each row only these rows."""
    if op.sequential:
        states, tensors = set(op.updates.values()), dict(graph.tensors)
        for position in (p for p, _ in op.computed(graph) if p not in states):
            rows = dict.fromkeys(r for y in range(lo, hi) for r in op.reads(graph, position, y) or ())
            whole = values[position]
            assert whole is not None
            values[position] = whole[:, min(rows) : max(rows) + 1]
            tensors[op.inputs[position]] = replace(op.input(graph, position), shape=values[position].shape)
        results = op.evaluate(replace(graph, tensors=tensors), values)
        return [_rows(results[0]), *results[1:]]
    first = values[0]
    if isinstance(op, WindowOp) and hi == lo + 1 and first is not None:
        v, height, out = op.vertical, first.shape[1], op.output(graph)
        image, row = divmod(lo, out.shape[1])
        top = row * v.stride - v.before
        begin, end = max(top, 0), min(top + v.extent, height)
        if begin < end:
            part = first[image : image + 1, begin:end]
            op = replace(op, vertical=Axis(v.kernel, 1, v.dilation, begin - top, top + v.extent - end))
            smaller = (replace(op.input(graph), shape=part.shape), replace(out, shape=(1, 1, *out.shape[2:])))
            graph = replace(graph, tensors={**graph.tensors, **{t.id: t for t in smaller}})
            return [_rows(op.evaluate(graph, [part, *values[1:]])[0])]
    results = op.evaluate(graph, values)
    return [_rows(results[0].reshape(op.output(graph).shape))[lo:hi], *results[1:]]


def _rows(values: Array) -> Array:
    count = row_count(values.shape)
    return values.reshape(count, *values.shape[-2 if len(values.shape) > 2 else 1 if len(values.shape) > 1 else 0 :])


def _flat(values: Array, layout: Layout) -> Bytes:
    try:
        return np.frombuffer(layout.store(values).tobytes(), np.uint8)
    except (IndexError, ValueError) as error:
        raise CorruptError(f"{values.shape} has no layout {layout}") from error


def _garbage(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    if dtype == DType.FLOAT32:
        return rng.uniform(-100, 100, shape).astype(np.float32)
    kind = dtype.numpy
    low, high = (0, 1) if dtype == DType.BOOL else (np.iinfo(kind).min, np.iinfo(kind).max)
    return rng.integers(low, high, shape, endpoint=True).astype(kind)
