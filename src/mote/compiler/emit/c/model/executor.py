"""The part of `<name>.c` that runs the program: a case for each instruction, and tables where there are rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from mote.compiler.emit.c.c import (
    Case,
    CFunction,
    Comment,
    Compound,
    Definition,
    Expression,
    Name,
    Statement,
    Switch,
    Template,
    assign,
    call,
    index,
    loop,
    plus,
    times,
    uses,
    when,
)
from mote.compiler.emit.c.encryption import plaintext
from mote.compiler.emit.c.model import control
from mote.compiler.emit.c.model.arenas import Arena
from mote.compiler.emit.c.model.control import BodyFunction
from mote.compiler.emit.c.model.handle import HANDLE, variable
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.values import CTYPES, ConstantPool, CType, brief, table
from mote.compiler.kernels.contract import ALIGNMENT, Call, Sealed, Structs, operand_name
from mote.compiler.lower.program import STATES, ExternalCalls, Form, Instruction, Kind, Operand, Place, Program, Scratch
from mote.compiler.offload.contract import ROW as GIVEN
from mote.compiler.offload.contract import SCRATCH, STATE, TAP, Pointer
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

N = Name("n")
"""How many turns the instruction has had in this inference."""
Y = Name("y")
"""The output row, or the tap of the window, that it is at."""
K = Name("k")
OPENED = "opened"
"""The parameters of a kernel whose constants were decrypted."""
ROW = Name("row")
CORES = Name("cores")
"""The cores whose share of a step is computed: a bit for each."""
BOTH = 3
"""One core computes the shares of both."""
SECOND = "_second"
"""Suffix of the parameters of a kernel that only the second core calls."""


@dataclass(frozen=True)
class _Count:
    """The loop counter of an instruction, and the y that follows from it."""

    counter: Expression
    y: Expression

    def before(self, body: Sequence[Statement]) -> list[Statement]:
        """The body, behind assignments to `y`, and to `n` where anything but `y` is made from it."""
        if uses(body, N) or (self.y != N and uses(self.y, N)):
            return [assign(N, self.counter), assign(Y, self.y), *body]
        if self.y == N:
            return [assign(Y, self.counter), *body]
        return [*([] if self.counter == 0 else [self.counter]), assign(Y, self.y), *body]


@dataclass(frozen=True)
class _Pointers:
    """An array of pointers to rows of elements of one type, which many instructions use."""

    element: CType
    output: bool = False

    @property
    def name(self) -> str:
        name = "outs" if self.output else "rows"
        return name if self.element == CTYPES[DType.INT8] else f"{name}_{self.element.suffix}"

    def declaration(self, count: int) -> str:
        return f"{'' if self.output else 'const '}{self.element.name} *{self.name}[{count}]"


@dataclass(frozen=True)
class _Source:
    """An operand of an instruction, and which input of its kernel's operator it is."""

    number: int
    instruction: Instruction
    operand: Operand
    position: int

    @property
    def place(self) -> Place:
        return self.operand.place

    @property
    def row(self) -> Expression:
        """The first row that is read, by its formula."""
        return plus(times(Y, self.operand.step), self.operand.start)

    @property
    def single(self) -> bool:
        """One row that is always there."""
        rows = map(self.operand.row, self.instruction.computed)
        return self.operand.taps == 1 and all(0 <= row < self.place.rows for row in rows)


def _sources(number: int, i: Instruction) -> list[_Source]:
    return [_Source(number, i, o, p) for o, p in zip(i.operands, i.called.entry.operands, strict=True)]


def _nth(i: Instruction) -> Expression:
    """Which of the rows that are computed row y is."""
    return N if i.group == 1 else plus(Y, -min(i.begins))


def _batches(i: Instruction, size: int, *body: Statement) -> list[Statement]:
    """The body for the rows of one turn from row y on, `size` at a time; rows before row 0 are left out."""
    end: Expression = call("mote_min", plus(Y, i.group), i.last)
    after = Template("{}++" if size == 1 else f"{{}} += {size}", (Y,))
    first, before = min(i.begins), list[Statement]()
    if first < 0:
        before = [assign(Y, Template("{} < 0 ? 0 : {}", (Y, Y)))]
        end = Template("{} == 0 ? {} : {}", (Y, first + i.group, end))
    return [*before, Compound(Template("for (int32_t end = {}; {} < end; {})", (end, Y, after)), body)]


@dataclass
class Executor:
    """The C code of the instructions of a program."""

    program: Program
    constants: ConstantPool
    prefix: str
    arenas: Mapping[int, Arena]
    """By the number of their memory."""
    options: ProjectOptions
    caller: Executor | None = None
    """The executor that calls this body of control flow, or None."""
    body: BodyFunction | None = None
    """The body that it runs, then."""
    bodies: list[Executor] = field(default_factory=list)
    """Executors of the bodies of control flow, once the cases are known."""
    row_table: list[int] = field(default_factory=list)
    """Offsets of rows, in units of ALIGNMENT."""
    _slots: dict[tuple[int, ...], int] = field(default_factory=dict)
    """The place in `row_table` of row 0 of each buffer, by the tensors that lie there."""
    lists: dict[str, Sequence[int]] = field(default_factory=dict)
    """Tables for what no formula describes."""
    pointers: dict[_Pointers, int] = field(default_factory=dict)
    """The arrays of row pointers, and how many each needs at most."""
    wider: bool = False
    """Places of rows take four bytes, also where two would do."""

    @property
    def all(self) -> list[Executor]:
        """This one and those of all bodies inside, once the cases are known."""
        return [self, *(inner for body in self.bodies for inner in body.all)]

    @property
    def outermost(self) -> Executor:
        return self if self.caller is None else self.caller.outermost

    @property
    def hint(self) -> str:
        """The prefix of the names of its constants, after the model's own name."""
        return self.prefix[len(self.outermost.prefix) + 1 :] + "_" if self.caller else ""

    @property
    def arrays(self) -> dict[str, Array]:
        """The tables by name, once the cases are known."""
        arrays = {name: np.array(values, _integer(values)) for name, values in self.lists.items()}
        if self.row_table:
            arrays[self._rows_name] = np.array(self.row_table, np.uint32 if self.wide else np.uint16)
        if not self.program.straight:
            arrays[self._order_name] = np.array(self.program.schedule, _integer(self.program.schedule))
        if self.program.split:
            arrays[self._split_name] = np.array([i.second is not None for i in self.program.instructions], np.uint8)
        return arrays

    @property
    def wide(self) -> bool:
        """Whether the places of rows take four bytes each instead of two, in all tables of the model."""
        most = max((place for e in self.outermost.all for place in e.row_table), default=0)
        return self.outermost.wider or most >= 1 << 16

    @property
    def _rows_name(self) -> str:
        return f"{self.prefix}_rows"

    @property
    def _order_name(self) -> str:
        return f"{self.prefix}_schedule"

    @property
    def _split_name(self) -> str:
        return f"{self.prefix}_split"

    @property
    def table_bytes(self) -> int:
        """Flash that the tables take, those of bodies included."""
        return sum(values.nbytes for e in self.all for values in e.arrays.values())

    @cached_property
    def cases(self) -> list[Case]:
        """The C statements of each instruction. The tables and the variables follow from it."""
        return [self._case(number, i) for number, i in enumerate(self.program.instructions)]

    @property
    def variables(self) -> list[Statement]:
        """The declarations that the cases need."""
        used = [name.text for name in (N, Y) if uses(self.cases, name)]
        arrays = [array.declaration(count) for array, count in self.pointers.items()]
        return [*arrays, *([f"int32_t {', '.join(used)}"] if used else [])]

    @property
    def functions(self) -> list[CFunction]:
        """The bodies of control flow, each after those that it calls."""
        made = [(body.function, body) for body in self.bodies]
        return [part for function, body in made for part in (*body.functions, function)]

    @cached_property
    def function(self) -> CFunction:
        """A body of control flow: all of its steps, one after another."""
        program, body = self.program, self.body
        assert body is not None
        cases, steps = self.cases, list[Statement]()
        if program.straight:
            steps = [part for case in cases for part in (Comment(case.comment), *case.body)]
        else:
            steps = [loop("uint32_t", "step", len(program.schedule), Switch(self.scheduled("step"), cases))]
        counters = [f"uint{8 * program.counter_bytes}_t next[{program.counters}] = {{0}}"] if program.counters else []
        said = [*steps, *body.end]
        return CFunction(body.signature, [*self.variables, *counters, *body.unused, *said])

    def _control(self, number: int, i: Instruction) -> list[Statement]:
        """An instruction with bodies, each of which becomes a function."""
        functions = control.functions(
            i, f"{self.prefix}_{number}", self.options if self.program.zone or self.options.cipher else None
        )
        self.bodies += [
            Executor(f.body.program, self.constants, f.name, f.memories, self.options, self, f) for f in functions
        ]
        inputs = [o.place for o in i.operands]

        def address(place: Place) -> Expression:
            if place.constant is None:
                return self._at(place)
            constant = self._constant(_Source(number, i, Operand(place), inputs.index(place)))
            return Template("(const uint8_t *){}", (constant,))

        run = control.statements(i, functions, address, "NULL" if i.scratch is None else self._at(i.scratch))
        shown = i.control.shown if i.control else ()
        return [*run, *(trace for made in shown for trace in self._trace(number, self._at(made), made.nbytes))]

    @property
    def tables(self) -> list[Definition]:
        about = {
            self._rows_name: Comment(f"Where rows lie in the arena, in units of {ALIGNMENT} bytes."),
            self._order_name: Comment("Which operator does its next piece of work."),
            self._split_name: Comment("Which operators two cores share."),
        }
        definitions: list[Definition] = []
        for name, values in self.arrays.items():
            ctype = "mote_place_t" if name == self._rows_name else f"{values.dtype}_t"
            definition = table(ctype, name, map(str, values.tolist()), self.options.flash_mark)
            definitions += [*([about[name]] if name in about else []), definition]
        return definitions

    def _case(self, number: int, i: Instruction) -> Case:
        shape = "x".join(map(str, i.shape)) or "scalar"
        after = [call("MOTE_NEXT")] if self.outermost.program.mixed else []
        body = self._body(number, i)
        if i.kernel is not None and i.kernel.loaded:
            body = [Compound("/* With its constants, copied to RAM. */", [*self._loading(number, i), *body])]
        elif i.kernel is not None and i.kernel.sealed is not None and not self.options.flash_apart:
            body = [
                Compound("/* With its constants, decrypted. */", [*self._opening(number, i, i.kernel.sealed), *body])
            ]
        elif i.kernel is not None and self.options.flash_apart and i.external is None:
            body = [Compound("/* With its parameters, copied. */", [*self._copying(number, i), *body])]
        return Case(number, brief(f"{i.kind} {shape} {i.name}"), [*body, *after])

    def _opening(self, number: int, i: Instruction, sealed: Sealed) -> list[Statement]:
        """The statements that decrypt the constants of an instruction, and make its parameters point there. A turn
        right behind another one finds them there."""
        cipher = self.options.cipher
        assert i.scratch is not None and cipher is not None
        hint = f"{self.hint}{number}_sealed"
        blob = self.constants.sealed(hint, cipher.encrypt(hint, plaintext(sealed)), i.reads)
        handle = [HANDLE] if self.options.instances else []
        to = self._at(i.scratch, sealed.begin)
        opened = call(f"{self.outermost.prefix}_open", *handle, to, blob, sealed.nbytes)
        again = f"step == 0 || {self._order_name}[step - 1] != {number}"
        return [
            f"mote_{i.called.name}_t {OPENED} = {self.prefix}_step_{number}",
            *(assign(f"{OPENED}.{name}", self._opened(i, name)) for name in sealed.paths),
            opened if i.counter is None else when(again, opened),
        ]

    def _loading(self, number: int, i: Instruction) -> list[Statement]:
        """The statements that copy the constants of an instruction to RAM, and make its parameters point there."""
        sealed = i.called.sealed
        assert i.scratch is not None and sealed is not None
        made: list[Statement] = [f"mote_{i.called.name}_t {OPENED} = {self.prefix}_step_{number}"]
        for name, value in sealed.arrays.items():
            array = self._array_of(number, name, value, sealed.nbytes)
            made.append(call("mote_copy_constants", self._opened(i, name), array, f"sizeof {array}"))
        return [*made, *(assign(f"{OPENED}.{name}", self._opened(i, name)) for name in sealed.paths)]

    def _array_of(self, number: int, name: str, value: Array | Structs, reads: int) -> str:
        """The array in flash of a constant that is copied."""
        return self.constants.array(f"{self.hint}{number}_{name.replace('.', '_')}", value, reads)

    def _copying(self, number: int, i: Instruction) -> list[Statement]:
        """The statements that copy the parameters of an instruction from flash, and the constants that its kernel does
        not read from there. A turn right behind another one finds these where they were."""
        params = f"{self.prefix}_step_{number}"
        made: list[Statement] = [
            f"mote_{i.called.name}_t {OPENED}",
            call("mote_flash_copy", f"&{OPENED}", f"&{params}", f"sizeof {OPENED}"),
        ]
        sealed = i.called.sealed
        if sealed is None:
            return made
        assert i.scratch is not None
        arrays = (self._array_of(number, name, value, i.reads) for name, value in sealed.arrays.items())
        copies = [
            call("mote_flash_copy", self._opened(i, name), array, f"sizeof {array}")
            for name, array in zip(sealed.arrays, arrays, strict=True)
        ]
        made += [assign(f"{OPENED}.{name}", self._opened(i, name)) for name in sealed.paths]
        again = Template(f"step == 0 || {{}} != {number}", (self.scheduled("step - 1"),))
        return [*made, *(copies if i.counter is None else [when(again, *copies)])]

    def scheduled(self, step: Expression) -> Expression:
        """The number of the instruction that a step of the schedule is a turn of."""
        return element_of(self.options, self._order_name, step, self.program.schedule)

    def _opened(self, i: Instruction, name: str) -> Expression:
        """The address of a decrypted constant."""
        sealed = i.called.sealed
        assert i.scratch is not None and sealed is not None
        return self._at(i.scratch, sealed.begin + sealed.offsets[name])

    def _body(self, number: int, i: Instruction) -> list[Statement]:
        if i.control is not None:
            return self._control(number, i)
        if i.external is not None:
            body = self._external(number, i, i.external)
            return self._counted(number, i).before(body) if i.form is Form.SUMS else body
        if i.form is Form.WHOLE:
            return self._whole(number, i)
        if i.form is Form.RING:
            return self._ring(number, i)
        count = self._counted(number, i)
        if i.form is Form.ARRIVAL:
            target, nbytes = self._row(i.target, Y), i.target.row_bytes
            if self.options.samples:
                shown = self._trace(number, target, nbytes)
                return count.before([f"(void){ROW.text}", *shown])
            return count.before(self._done(number, i, call("memcpy", target, ROW, nbytes), target, nbytes))
        if i.form is Form.SUMS:
            return count.before(self._adding(number, i))
        if i.form is Form.ROWS:
            return count.before(self._several(number, i))
        body = self._rows(number, i)
        return count.before(body if i.group == 1 else _batches(i, 1, *body))

    def arriving(self, begins: str) -> list[Statement]:
        """The statements that find the row which arrives next, and return its address; `begins`: whether it is the
        first of an inference."""
        number, i = next((n, i) for n, i in enumerate(self.program.instructions) if i.form is Form.ARRIVAL)
        count = self._counted(number, i)
        before: list[Statement] = []
        if i.counter is not None:
            turn = index(f"{variable(self.options, 'state')}.next", i.counter)
            before = [Template(f"const int32_t {N.text} = {begins} ? 0 : {{}}", (turn,))]
        before.append(Template(f"const int32_t {Y.text} = {{}}", (count.y,)))
        return [*before, Template("return {}", (self._row(i.target, Y),))]

    def _external(self, number: int, i: Instruction, external: ExternalCalls) -> list[Statement]:
        """The calls of an external generator."""
        blobs = {blob.name: blob for blob in external.artifact.blobs}

        def constant(name: str, data: Array, alignment: int = ALIGNMENT) -> str:
            return self.constants.array(f"{self.hint}{number}_{name}", data, i.reads, alignment)

        def argument(given: Pointer | int | str) -> Expression:
            if not isinstance(given, Pointer):
                return Y if given == TAP else given
            if isinstance(given.to, int):
                place = external.places[given.to]
                return (
                    self._at(place) if place.constant is None else constant(f"tensor_{given.to}", place.constant.data)
                )
            if given.to == SCRATCH:
                room = i.scratch or i.sums
                assert room is not None
                return self._at(room)
            if given.to == GIVEN:
                (source,) = _sources(number, i)
                return self._source(source, self._row_read(source))
            if given.to == STATE:
                return f"{variable(self.options, 'state')}.external"
            return constant(given.to, blobs[given.to].data, blobs[given.to].alignment)

        calls = [call(c.function, *map(argument, c.arguments)) for c in external.artifact.calls]
        written = [(self._at(place), place.nbytes) for place in (i.target, *i.others)]
        last = Template(f"{{}} == {i.times - 1} ? {{}} : 0", (N, i.target.nbytes))
        traces = [
            self._trace(number, self._at(place), last if i.form is Form.SUMS else place.nbytes)
            for place in external.shown
        ]
        shown = [trace for lines in traces for trace in lines]
        if not any(c.returns_status for c in external.artifact.calls):
            return [*self._guarded(i, calls, *written), *shown]
        (made,), pending = calls, f"{variable(self.options, 'state')}.pending"
        before, after = self._zones(i, *written)
        done = [*after, *shown]
        return [
            *([when(f"{pending} == 0", *before)] if before else []),
            assign(pending, made) if self.program.cores == 1 else when(f"{pending} >= 0", assign(pending, made)),
            *([when(f"{pending} == 0", *done)] if done else []),
        ]

    def _guarded(
        self, i: Instruction, calls: Sequence[Expression], *written: tuple[Expression, Expression]
    ) -> list[Statement]:
        """Calls of a kernel; in a debug build what lies around what it writes is noted before, and looked at after.
        `written`: addresses and bytes, besides those of working memory and sums."""
        before, after = self._zones(i, *written)
        return [*before, *calls, *after]

    def _zones(self, i: Instruction, *written: tuple[Expression, Expression]) -> tuple[list[Template], list[Template]]:
        """The calls before a kernel's that note what lies around what it writes, and those behind it that look."""
        if not self.program.zone:
            return [], []
        spans = list(written) if 0 <= i.target.memory < STATES else []
        spans += [(self._at(room), room.nbytes) for room in (i.scratch, i.sums) if room is not None]
        handle = [HANDLE] if self.options.instances else []
        note, look = (
            [call(f"{self.outermost.prefix}_{what}", *handle, at, nbytes, k) for k, (at, nbytes) in enumerate(spans)]
            for what in ("note", "look")
        )
        return note, look

    def _done(
        self, number: int, i: Instruction, kernel_call: Expression, target: Expression, nbytes: int
    ) -> list[Statement]:
        """A call that writes so many bytes, guarded and shown."""
        return [*self._guarded(i, [kernel_call], (target, nbytes)), *self._trace(number, target, nbytes)]

    def _counted(self, number: int, i: Instruction) -> _Count:
        """The counter of an instruction, which has a turn for each value of y."""
        if i.counter is None:
            return _Count(0, i.first)
        y = plus(times(N, i.step), i.first)
        if i.listed:
            y = element_of(self.options, self._list(f"y_{number}", i.listed), N, i.listed)
        counters = "next" if self.caller else f"{variable(self.options, 'state')}.next"
        return _Count(Template("{}++", (index(counters, i.counter),)), y)

    def _whole(self, number: int, i: Instruction) -> list[Statement]:
        """The kernel's own call over contiguous tensors; on two cores, a call for the rows of each."""
        out, last = i.target, (i.second or i).rows.hi
        target, nbytes = self._at(out, i.rows.lo * out.row_bytes), (last - i.rows.lo) * out.row_bytes
        if i.second is None:
            return self._done(number, i, self._whole_call(number, i, self._params(number)), target, nbytes)
        own = self._params(number, SECOND if i.second.kernel is not i.kernel else "")
        shares = ((2, i.second, own), (1, i, self._params(number)))
        calls = [
            when(Template(f"({{}} & {core}) != 0", (CORES,)), self._whole_call(number, share, params))
            for core, share, params in shares
        ]
        return [*calls, when(Template(f"{{}} == {BOTH}", (CORES,)), *self._trace(number, target, nbytes))]

    def _whole_call(self, number: int, i: Instruction, params: Expression) -> Expression:
        kernel, out = i.called, i.target
        arguments = [params, *(self._from(s) for s in _sources(number, i))]
        begin = i.rows.lo * out.row_bytes if kernel.entry.call is Call.FLAT else 0
        arguments += [self._at(out, begin), *map(self._at, i.others)]
        if kernel.entry.call is Call.FLAT:
            arguments.append(i.hi)
        elif kernel.entry.call in (Call.ROWS, Call.CHANNELS):
            arguments += [i.lo, i.hi]
        return call(f"mote_{kernel.name}", *arguments, *self._scratch(i))

    def _from(self, source: _Source) -> Expression:
        """The address of the first row of an operand that a kernel takes as a whole."""
        place, start = source.place, source.operand.start
        if place.constant is None:
            return self._at(place, start * place.row_bytes)
        return plus(self._constant(source), start * place.row_bytes // place.dtype.itemsize)

    def _ring(self, number: int, i: Instruction) -> list[Statement]:
        """New rows into a ring buffer; whoever traces sees its rows from the oldest on."""
        out = i.target
        new, oldest = self._at(i.operands[0].place), f"&{self._oldest(out)}"
        run = self._guarded(i, [call("mote_ring", self._params(number), new, self._at(out), oldest)])
        head = Template("for ({} = 0; {} < {}; {}++)", (Y, Y, out.rows, Y))
        return [*run, Compound(head, self._trace(number, self._row(out, Y), out.row_bytes))]

    def _oldest(self, place: Place) -> str:
        """The variable that says which row of a ring buffer is the oldest."""
        return f"{variable(self.options, 'kept')}.oldest[{place.ring}]"

    def _params(self, number: int, suffix: str = "") -> Expression:
        """The parameters of the kernel of an instruction."""
        kernel = self.program.instructions[number].kernel
        if kernel is not None and (kernel.sealed is not None or self.options.flash_apart):
            return f"&{OPENED}"
        return f"&{self.prefix}_step_{number}{suffix}"

    def _at(self, place: Place | Scratch, more: Expression = 0) -> Expression:
        """An address in an arena, so many bytes behind where a place begins."""
        return self.arenas[place.memory].address(plus(more, place.at))

    def _constant(self, source: _Source) -> Expression:
        """The name of an operand that is a constant."""
        assert source.place.constant is not None
        kernel, name = source.instruction.kernel, operand_name(source.position)
        sealed = None if kernel is None else kernel.sealed
        if sealed is not None and name in sealed.arrays:
            return Template(
                f"((const {CTYPES[source.place.dtype].name} *){{}})", (self._opened(source.instruction, name),)
            )
        hint, reads = f"{self.hint}{source.number}_operand_{source.position}", source.instruction.reads
        return self.constants.array(hint, source.place.constant.data, reads)

    def _scratch(self, i: Instruction) -> list[Expression]:
        sealed = i.called.sealed
        own = i.called.needs.scratch if sealed is None else sealed.scratch
        if own is None:
            return []
        return ["NULL" if i.scratch is None or own == 0 else self._at(i.scratch)]

    def _rows(self, number: int, i: Instruction) -> list[Statement]:
        """An output row: from row pointers where the kernel has a row function, else from the operands' rows."""
        kernel, out, sources = i.called, i.target, _sources(number, i)
        target = self._row(out, Y)
        before: list[Statement] = []
        arguments = [self._params(number)]
        if i.form is Form.ROW:
            array = _Pointers(element(i))
            before = self._pointers(sources, array)
            arguments += [array.name, *([Y] if kernel.entry.row_index else []), target]
        else:
            arguments += [self._source(s, self._row_read(s, f"_{s.position}")) for s in sources]
            arguments += [target, *([i.hi] if kernel.entry.call is Call.FLAT else [0, 1])]
        kernel_call = call(f"mote_{kernel.entry.row or kernel.name}", *arguments, *self._scratch(i))
        return [*before, *self._done(number, i, kernel_call, target, out.row_bytes)]

    def _several(self, number: int, i: Instruction) -> list[Statement]:
        """As many output rows as the kernel computes at once, from all input rows under them."""
        out, (source, *others) = i.target, _sources(number, i)
        taps = source.operand.taps
        array = self._array(_Pointers(element(i)), taps + len(others))
        outs = self._array(_Pointers(CTYPES[out.dtype], output=True), i.hi)
        arguments = [self._params(number), array.name, outs.name, "count", *self._scratch(i)]
        target = index(outs.name, K)
        piece = [(index(outs.name, 0), f"(size_t)count * {out.row_bytes}")] if _contiguous(i) else []
        return _batches(
            i,
            i.hi,
            assign("const int32_t count", call("mote_min", i.hi, Template("end - {}", (Y,)))),
            self._spread(source, array, 0),
            *(assign(index(array.name, taps + k), self._pointer(o, o.row, array)) for k, o in enumerate(others)),
            loop("int32_t", K, "count", assign(target, self._row(out, plus(Y, K)))),
            *self._guarded(i, [call(f"mote_{i.called.entry.rows}", *arguments)], *piece),
            *(loop("int32_t", K, "count", trace) for trace in self._trace(number, target, out.row_bytes)),
        )

    def _array(self, array: _Pointers, count: int) -> _Pointers:
        """An array of pointers that has room for `count` of them."""
        self.pointers[array] = max(self.pointers.get(array, 0), count)
        return array

    def _row_read(self, source: _Source, suffix: str = "") -> Expression:
        """The one row that is read, by its formula or from a list."""
        if not source.operand.listed:
            return source.row
        name = self._reads(source, suffix)
        return element_of(self.options, name, _nth(source.instruction), self.lists[name])

    def _reads(self, source: _Source, suffix: str) -> str:
        """The list of the rows that are read; of rows that are computed in groups it begins with the first one."""
        i, operand = source.instruction, source.operand
        first = 0 if i.group == 1 else min(i.begins)
        return self._list(f"reads_{source.number}{suffix}", operand.listed[first * operand.taps :])

    def _source(self, source: _Source, row: Expression) -> Expression:
        """The address of a row of an operand."""
        place = source.place
        if place.constant is None:
            return self._row(place, row)
        stride = place.row_bytes // place.dtype.itemsize
        return plus(self._constant(source), times(row, stride))

    def _pointer(self, source: _Source, row: Expression, array: _Pointers) -> Expression:
        """The address of a row as an array of pointers has it: constants may be of another type."""
        address, place = self._source(source, row), source.place
        if place.constant is None or CTYPES[place.dtype] == array.element:
            return address
        return Template(f"(const {array.element.name} *)({{}})", (address,))

    def _pointers(self, sources: Sequence[_Source], array: _Pointers) -> list[Statement]:
        """Fill the array of row pointers: the taps of a window, or a row of each operand of a join."""
        body: list[Statement] = []
        at = 0
        for source in sources:
            operand = source.operand
            if operand.listed:
                body.append(self._listed(source, array, at))
            elif operand.taps == 1 and all(
                0 <= operand.row(y) < source.place.rows for y in source.instruction.computed
            ):
                body.append(assign(index(array.name, at), self._pointer(source, source.row, array)))
            else:
                body.append(self._spread(source, array, at))
            at += operand.taps
        self._array(array, at)
        return body

    def _spread(self, source: _Source, array: _Pointers, at: int) -> Expression:
        """Pointers by formula, from `at` on."""
        operand, place, suffix = source.operand, source.place, array.element.suffix
        which = (source.row, operand.taps, operand.spread, plus(array.name, at))
        if place.constant is not None:
            constant = Template("(const uint8_t *){}", (self._constant(source),))
            return call(f"mote_strip_rows_{suffix}", constant, place.row_bytes, place.rows, *which)
        if place.kind is Kind.RING:
            ring = (self._at(place), place.row_bytes, place.rows, self._oldest(place))
            return call(f"mote_ring_rows_{suffix}", *ring, *which)
        arena = self.arenas[place.memory].pointer
        if place.kind is Kind.STRIP:
            return call(f"mote_strip_rows_{suffix}", f"{arena} + {place.at}", place.row_bytes, place.rows, *which)
        places = f"{self._rows_name} + {self._slot(place)}"
        return call(f"mote_table_rows_{suffix}", arena, places, place.rows, *which)

    def _listed(self, source: _Source, array: _Pointers, at: int) -> Compound:
        """Pointers to rows that a list names."""
        count, nth = source.operand.taps, _nth(source.instruction)
        name = self._reads(source, f"_{source.position}")
        row = self._pointer(source, ROW, array)
        return loop(
            "int32_t",
            K,
            count,
            assign("const int32_t row", element_of(self.options, name, plus(times(nth, count), K), self.lists[name])),
            assign(index(array.name, plus(K, at)), Template("{} < 0 ? NULL : {}", (ROW, row))),
        )

    def _adding(self, number: int, i: Instruction) -> list[Statement]:
        """One more row into running sums."""
        out, (source,) = i.target, _sources(number, i)
        row = self._row_read(source)
        last = i.times - 1
        part = Template("({} == 0) | ({} == {}) << 1", (N, N, last))
        assert i.sums is not None
        target = self._at(out)
        where = (self._at(i.sums), target, *self._scratch(i))
        run = call(f"mote_{i.called.name}", self._params(number), self._source(source, row), Y, part, *where)
        done = Template("{} == {} ? {} : 0", (N, last, out.row_bytes))
        return [*self._guarded(i, [run], (target, out.row_bytes)), *self._trace(number, target, done)]

    def _row(self, place: Place, row: Expression) -> Expression:
        """The address of a row."""
        if place.kind is Kind.RING:
            return call("mote_ring_row", self._at(place), place.row_bytes, place.rows, self._oldest(place), row)
        if place.kind is Kind.STRIP:
            return self._at(place, times(row, place.row_bytes))
        return self.arenas[place.memory].address_of_row(self._rows_name, plus(row, self._slot(place)))

    def _slot(self, place: Place) -> int:
        if place.tensors not in self._slots:
            self._slots[place.tensors] = len(self.row_table)
            self.row_table += [(offset or 0) // ALIGNMENT for offset in place.offsets]
        return self._slots[place.tensors]

    def _trace(self, number: int, data: Expression, nbytes: Expression) -> list[Statement]:
        """The trace hook call with a step's output; bodies of control flow are not traced."""
        return [] if self.caller else [call("MOTE_TRACE", number, data, nbytes)]

    def _list(self, name: str, values: Sequence[int]) -> str:
        full = f"{self.prefix}_{name}"
        self.lists[full] = values
        return full


def _contiguous(i: Instruction) -> bool:
    """Whether the rows of each turn lie one after another."""
    out = i.target
    turns = (out.offsets[max(begin, 0) : min(begin + i.group, i.last)] for begin in i.begins)
    return out.kind is Kind.STRIP or all(b == (a or 0) + out.row_bytes for rows in turns for a, b in pairwise(rows))


def element_of(options: ProjectOptions, table: str, at: Expression, values: Sequence[int]) -> Expression:
    """An element of a table in flash that holds these values."""
    if not options.flash_apart:
        return index(table, at)
    return call(f"mote_flash_{CTYPES[DType(_integer(values).name)].suffix}", plus(table, at))


def element(i: Instruction) -> CType:
    """The C type that the row pointers of an instruction point to."""
    return CTYPES[DType.INT8 if i.called.entry.moves else i.operands[0].place.dtype]


def other_elements(program: Program) -> list[CType]:
    """The C types of row pointers besides those of `mote_rows.h`, in bodies of control flow too."""
    elements = dict.fromkeys(element(i) for p in program.all for i in p.turns if i.form in (Form.ROW, Form.ROWS))
    return [e for e in elements if e not in (CTYPES[DType.INT8], CTYPES[DType.FLOAT32])]


def _integer(values: Sequence[int]) -> np.dtype[np.generic]:
    """The smallest type that holds all of them."""
    kinds = (np.int8, np.int16, np.int32) if min(values) < 0 else (np.uint8, np.uint16, np.uint32)
    return next(np.dtype(k) for k in kinds if np.iinfo(k).min <= min(values) and max(values) <= np.iinfo(k).max)
