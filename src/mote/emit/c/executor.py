"""The part of `<name>.c` that runs the plan: a case for each operator, and tables where operators run by rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mote.emit.c import control
from mote.emit.c.arenas import Arena, Given, lent_places, places
from mote.emit.c.c import (
    Case,
    Comment,
    Compound,
    Definition,
    Expression,
    Formula,
    Function,
    Name,
    Statement,
    Switch,
    assign,
    call,
    index,
    loop,
    plus,
    printed,
    times,
    uses,
)
from mote.emit.c.control import Body
from mote.emit.c.values import CTYPES, Constants, CType, brief, table
from mote.graph import Op, Tensor
from mote.graph.rows import row_count
from mote.graph.tensor import Array
from mote.graph.types import DType
from mote.kernels.contract import Call, Packed
from mote.lower.row_access import Affine, Reading, RowsOf, added, affine, aligned_row, counter_of, view, window, windows
from mote.ops.control.control_flow import Control
from mote.plan.plan import ALIGNMENT, Bodied, Buffer, Plan, Step
from mote.plan.rows import Arrival
from mote.plan.several_memories import constant_reads

N = Name("n")
"""How often the operator has run in this inference."""
Y = Name("y")
"""The output row, or the tap of the window, that it is at."""
K = Name("k")
ROW = Name("row")


@dataclass(frozen=True)
class _Count:
    """What counts how often an operator has run, and the y that follows from it."""

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
    """An array of pointers to rows of elements of one type, which many operators use."""

    element: CType
    output: bool = False

    @property
    def name(self) -> str:
        name = "outs" if self.output else "rows"
        return name if self.element == CTYPES[DType.INT8] else f"{name}_{self.element.suffix}"

    def declaration(self, count: int) -> str:
        return f"{'' if self.output else 'const '}{self.element.name} *{self.name}[{count}]"


@dataclass(frozen=True)
class _Taps:
    """The rows of one operand that a step reads, and where their pointers go."""

    step: int
    position: int
    read: Reading
    array: _Pointers
    at: int

    @property
    def target(self) -> Expression:
        """Where the pointers begin."""
        return plus(self.array.name, self.at)


def _at_row(found: Affine, variable: Name) -> Expression:
    """The first row that is read where the variable counts."""
    return plus(times(variable, found.step), found.start)


def _nth(rows: RowsOf) -> Expression:
    """Which of the rows that are computed row y is."""
    return N if rows.group == 1 else plus(Y, -min(rows.ys))


def _batches(rows: RowsOf, size: int, *body: Statement) -> Compound:
    """The body for the rows of one step from row y on, `size` at a time."""
    end = call("mote_min", plus(Y, rows.group), max(rows.ys) + 1)
    after = Formula("{}++" if size == 1 else f"{{}} += {size}", (Y,))
    return Compound(Formula("for (int32_t end = {}; {} < end; {})", (end, Y, after)), body)


@dataclass
class Executor:
    """What the steps of a plan become."""

    plan: Plan
    constants: Constants
    prefix: str
    caller: Executor | None = None
    """Of a body of control flow: what runs the operator that it belongs to."""
    body: Body | None = None
    """The body that it runs, then."""
    bodies: list[Executor] = field(default_factory=list)
    """Those of the operators with bodies, once the cases are known."""
    row_table: list[int] = field(default_factory=list)
    """Offsets of rows, in units of ALIGNMENT."""
    _slots: dict[Buffer, int] = field(default_factory=dict)
    """The place in `row_table` of each buffer's row 0."""
    lists: dict[str, Sequence[int]] = field(default_factory=dict)
    """Tables for what no formula describes."""
    pointers: dict[_Pointers, int] = field(default_factory=dict)
    """The arrays of row pointers, and how many each needs at most."""

    @cached_property
    def arenas(self) -> Mapping[int, Arena]:
        return places(self.plan) if self.body is None else lent_places(self.plan, self.body.written)

    @property
    def all(self) -> list[Executor]:
        """This one and those of all bodies inside, once the cases are known."""
        return [self, *(inner for body in self.bodies for inner in body.all)]

    @property
    def outermost(self) -> Executor:
        return self if self.caller is None else self.caller.outermost

    @property
    def hint(self) -> str:
        """What the names of its constants begin with, after the model's own name."""
        return self.prefix[len(self.outermost.prefix) + 1 :] + "_" if self.caller else ""

    @property
    def order(self) -> list[int]:
        """Which operator does each step's work; empty where they run one after another."""
        if self.plan.straight:
            return []
        return [self.plan.numbers[step.ops] for step in self.plan.steps]

    @property
    def arrays(self) -> dict[str, Array]:
        """The tables by name, once the cases are known."""
        found = {name: np.array(values, _integer(values)) for name, values in self.lists.items()}
        if self.row_table:
            found[self._rows_name] = np.array(self.row_table, np.uint32 if self.wide else np.uint16)
        if order := self.order:
            found[self._order_name] = np.array(order, _integer(order))
        return found

    @property
    def wide(self) -> bool:
        """Whether the places of rows take four bytes each instead of two, in all tables of the model."""
        return max((place for e in self.outermost.all for place in e.row_table), default=0) >= 1 << 16

    @property
    def _rows_name(self) -> str:
        return f"{self.prefix}_rows"

    @property
    def _order_name(self) -> str:
        return f"{self.prefix}_schedule"

    @property
    def table_bytes(self) -> int:
        """Flash that the tables take, those of bodies included."""
        return sum(values.nbytes for e in self.all for values in e.arrays.values())

    @cached_property
    def cases(self) -> list[Case]:
        """What each operator does when it is its turn. The tables and the variables follow from it."""
        return [self._case(i, op, steps) for i, (op, steps) in enumerate(self.plan.works)]

    @property
    def variables(self) -> list[Statement]:
        """The declarations that the cases need."""
        used = [name.text for name in (N, Y) if uses(self.cases, name)]
        arrays = [array.declaration(count) for array, count in self.pointers.items()]
        return [*arrays, *([f"int32_t {', '.join(used)}"] if used else [])]

    @property
    def functions(self) -> list[Function]:
        """The bodies of control flow, each after those that it calls."""
        made = [(body.function, body) for body in self.bodies]
        return [part for function, body in made for part in (*body.functions, function)]

    @cached_property
    def function(self) -> Function:
        """A body of control flow: all of its steps, one after another."""
        plan, body, arena = self.plan, self.body, self.arenas[0]
        assert body is not None and isinstance(arena, Given)
        cases, steps = self.cases, list[Statement]()
        if plan.straight:
            steps = [part for case in cases for part in (Comment(case.comment), *case.body)]
        else:
            steps = [loop("uint32_t", "step", len(plan.steps), Switch(f"{self._order_name}[step]", cases))]
        counters = [f"uint{8 * plan.counter_bytes}_t next[{plan.counters}] = {{0}}"] if plan.counters else []
        end = body.end(self._address, arena)
        said = printed([*steps, *end])
        unused = [f"(void){given.pointer}" for given in body.lent if not re.search(rf"\b{given.pointer}\b", said)]
        return Function(body.signature, [*self.variables, *counters, *unused, *steps, *end])

    def _address(self, tensor: int) -> Expression:
        """Where a tensor lies that has a place."""
        place = self.plan.place[tensor]
        return self._at(place.memory, place.offset)

    def _control(self, i: int, step: Step, kernel: Bodied) -> list[Statement]:
        """An operator with bodies, each of which becomes a function."""
        op = self.plan.op(step)
        assert isinstance(op, Control)
        found = control.bodies(op, kernel, f"{self.prefix}_{i}")
        self.bodies += [Executor(body.plan, self.constants, body.name, self, body) for body in found]

        def address(tensor: int) -> Expression:
            if self.plan.graph.tensors[tensor].data is None:
                return self._address(tensor)
            return f"(const uint8_t *){self._constant(i, op.inputs.index(tensor))}"

        run = control.statements(op, self.plan.graph, found, address, *self._scratch(step))
        shown = [(self._address(t), self.plan.graph.tensors[t].nbytes) for t in self.plan.shown(op)]
        return [*run, *(trace for at, nbytes in shown for trace in self._trace(i, at, nbytes))]

    @property
    def tables(self) -> list[Definition]:
        about = {
            self._rows_name: Comment(f"Where rows lie in the arena, in units of {ALIGNMENT} bytes."),
            self._order_name: Comment("Which operator does its next piece of work."),
        }
        found: list[Definition] = []
        for name, values in self.arrays.items():
            ctype = "mote_place_t" if name == self._rows_name else f"{values.dtype}_t"
            found += [*([about[name]] if name in about else []), table(ctype, name, map(str, values.tolist()))]
        return found

    def _case(self, i: int, op: Op, steps: tuple[Step, ...]) -> Case:
        shape = "x".join(map(str, op.output(self.plan.graph).shape)) or "scalar"
        after = [call("MOTE_NEXT")] if self.outermost.several_types else []
        return Case(i, brief(f"{op.kind} {shape} {op.name}"), [*self._body(i, op, steps), *after])

    @cached_property
    def several_types(self) -> bool:
        """Whether memory is used for elements of several types, bytes aside, which C lets nobody confuse."""
        used = {t.dtype for plan in self.plan.all for t in plan.graph.tensors.values() if t.data is None}
        wide = {dtype for dtype in used if dtype.itemsize > 1}
        steps = (step for plan in self.plan.all for step in plan.steps)
        works = any(step.scratch is not None or step.sums is not None for step in steps)
        return len(wide) > 1 or bool(wide and works and used - wide) or (works and bool(wide - {DType.FLOAT32}))

    def _body(self, i: int, op: Op, steps: tuple[Step, ...]) -> list[Statement]:
        if isinstance(op, Arrival):
            return self._arrival(i, op, steps)
        if isinstance(steps[0].kernel, Bodied):
            return self._control(i, steps[0], steps[0].kernel)
        if steps[0].kernel.call is Call.ADDS:
            return self._adding(i, op, steps)
        if steps[0].kernel.call is Call.RING:
            return self._ring(i, steps[0])
        return self._whole(i, steps[0]) if steps[0].whole else self._rows(i, op, steps)

    def _guarded(self, step: Step, kernel_call: Expression, *written: tuple[Expression, Expression]) -> list[Statement]:
        """A kernel's call; in a debug build what lies around what it writes is noted before, and looked at after.
        `written`: addresses and bytes, besides those of working memory and sums."""
        if not self.plan.zone:
            return [kernel_call]
        spans = list(written) if self.plan.place[self.plan.op(step).outputs[0]].memory >= 0 else []
        if step.scratch is not None:
            spans.append((self._at(step.scratch_memory, step.scratch), step.kernel.scratch or 0))
        if step.sums is not None:
            spans.append((self._at(step.sums_memory, step.sums), step.kernel.sums))
        note, look = (
            [call(f"{self.outermost.prefix}_{what}", at, nbytes, k) for k, (at, nbytes) in enumerate(spans)]
            for what in ("note", "look")
        )
        return [*note, kernel_call, *look]

    def _counted(self, i: int, steps: tuple[Step, ...], values: Sequence[int]) -> _Count:
        """The counter of an operator that has a step for each of the values of y."""
        if len(steps) == 1:
            return _Count(0, values[0])
        found = affine([(n, 0, v) for n, v in enumerate(values)])
        y = _at_row(found, N) if found is not None else index(self._list(f"y_{i}", values), N)
        counters = "next" if self.caller else f"{self.prefix}_state.next"
        return _Count(Formula("{}++", (index(counters, counter_of(self.plan, i)),)), y)

    def _arrival(self, i: int, op: Op, steps: tuple[Step, ...]) -> list[Statement]:
        buffer = self.plan.place[op.outputs[0]]
        count = self._counted(i, steps, [s.rows.lo for s in steps])
        target = self._row(buffer, Y)
        copy = call("memcpy", target, ROW, buffer.row_bytes)
        run = self._guarded(steps[0], copy, (target, buffer.row_bytes))
        return count.before([*run, *self._trace(i, target, buffer.row_bytes)])

    def _whole(self, i: int, step: Step) -> list[Statement]:
        """The kernel's own call over tensors whose rows lie one after another."""
        plan, kernel, op = self.plan, step.kernel, self.plan.op(step)
        arguments: list[Expression] = [self._params(i)]
        for position in kernel.operands:
            tensor = op.input(plan.graph, position)
            if tensor.data is None:
                arguments.append(self._at(plan.place[tensor.id].memory, plan.place[tensor.id].offset))
            else:
                arguments.append(self._constant(i, position))
        out = plan.place[op.outputs[0]]
        arguments.append(self._at(out.memory, out.offset))
        if kernel.call is Call.FLAT:
            arguments.append(kernel.units)
        elif kernel.call is Call.ROWS:
            arguments += [step.rows.lo, step.rows.hi]
        arguments += self._scratch(step)
        begin = self._at(out.memory, out.offset + step.rows.lo * out.row_bytes)
        nbytes = (step.rows.hi - step.rows.lo) * out.row_bytes
        run = self._guarded(step, call(f"mote_{kernel.name}", *arguments), (begin, nbytes))
        return [*run, *self._trace(i, begin, nbytes)]

    def _ring(self, i: int, step: Step) -> list[Statement]:
        """New rows into a ring buffer; whoever traces sees its rows from the oldest on."""
        op = self.plan.op(step)
        new, out = self.plan.place[op.inputs[1]], self.plan.place[op.outputs[0]]
        places = self._at(new.memory, new.offset), self._at(out.memory, out.offset)
        run = self._guarded(step, call("mote_ring", self._params(i), *places, f"&{self._oldest(out)}"))
        head = Formula("for ({} = 0; {} < {}; {}++)", (Y, Y, len(out.offsets), Y))
        return [*run, Compound(head, self._trace(i, self._row(out, Y), out.row_bytes))]

    def _oldest(self, buffer: Buffer) -> str:
        """The variable that says which row of a ring buffer is the oldest."""
        return f"{self.prefix}_kept.oldest[{buffer.ring}]"

    def _params(self, i: int) -> str:
        """The parameters of the kernel of operator i."""
        return f"&{self.prefix}_step_{i}"

    def _at(self, memory: int, offset: Expression) -> Expression:
        """An address in the arena of a memory."""
        return self.arenas[memory].address(offset)

    def _constant(self, i: int, position: int) -> str:
        """The name of an operand that is a constant."""
        op = self.plan.works[i][0]
        data = op.input(self.plan.graph, position).data
        assert data is not None
        return self.constants.array(f"{self.hint}{i}_operand_{position}", data, constant_reads(self.plan.graph, op))

    def _scratch(self, step: Step) -> list[Expression]:
        if step.kernel.scratch is None:
            return []
        return ["NULL" if step.scratch is None else self._at(step.scratch_memory, step.scratch)]

    def _rows(self, i: int, op: Op, steps: tuple[Step, ...]) -> list[Statement]:
        """One output row after another, as many as the step has: from row pointers where the kernel has a row function,
        else from the operands' rows."""
        kernel, rows = steps[0].kernel, RowsOf(steps)
        count = self._counted(i, steps, rows.begins)
        if kernel.rows and kernel.group > 1:
            return count.before([self._several(i, op, rows)])
        out = self.plan.place[op.outputs[0]]
        target = self._row(out, Y)
        before: list[Statement] = []
        arguments: list[Expression] = [self._params(i)]
        if kernel.row:
            array = _Pointers(self._element(op, steps[0].kernel))
            before = self._pointers(i, op, rows, array)
            arguments += [array.name, *([Y] if kernel.row_index else []), target]
        else:
            arguments += [self._operand(i, op, position, rows) for position in kernel.operands]
            arguments.append(target)
            units = kernel.units // row_count(op.output(self.plan.graph).shape)
            arguments += [units] if kernel.call is Call.FLAT else [0, 1]
        arguments += self._scratch(steps[0])
        kernel_call = call(f"mote_{kernel.row or kernel.name}", *arguments)
        run = self._guarded(steps[0], kernel_call, (target, out.row_bytes))
        body = [*before, *run, *self._trace(i, target, out.row_bytes)]
        return count.before(body if rows.group == 1 else [_batches(rows, 1, *body)])

    def _several(self, i: int, op: Op, rows: RowsOf) -> Compound:
        """As many output rows as the kernel computes at once, from all input rows under them."""
        step, out = rows.steps[0], self.plan.place[op.outputs[0]]
        kernel, read = step.kernel, windows(self.plan, op, rows)
        array = self._array(_Pointers(self._element(op, kernel)), read.count)
        outs = self._array(_Pointers(CTYPES[op.output(self.plan.graph).dtype], output=True), kernel.group)
        arguments = [self._params(i), array.name, outs.name, "count", *self._scratch(step)]
        target = index(outs.name, K)
        piece = [(index(outs.name, 0), f"(size_t)count * {out.row_bytes}")] if rows.in_one_piece(out) else []
        return _batches(
            rows,
            kernel.group,
            assign("const int32_t count", call("mote_min", kernel.group, Formula("end - {}", (Y,)))),
            self._spread(_Taps(i, 0, read, array, 0)),
            loop("int32_t", K, "count", assign(target, self._row(out, plus(Y, K)))),
            *self._guarded(step, call(f"mote_{kernel.rows}", *arguments), *piece),
            *(loop("int32_t", K, "count", trace) for trace in self._trace(i, target, out.row_bytes)),
        )

    def _element(self, op: Op, kernel: Packed) -> CType:
        return element(self.plan, op, kernel)

    def _array(self, array: _Pointers, count: int) -> _Pointers:
        """An array of pointers that has room for `count` of them."""
        self.pointers[array] = max(self.pointers.get(array, 0), count)
        return array

    def _operand(self, i: int, op: Op, position: int, rows: RowsOf) -> Expression:
        """The row of one operand that output row y is made from."""
        read = aligned_row(self.plan, op, position, rows)
        return self._source(i, position, read.tensor, self._row_read(f"reads_{i}_{position}", read, _nth(rows)))

    def _row_read(self, name: str, read: Reading, nth: Expression) -> Expression:
        """The one row that is read, by its formula or from a list of that name."""
        return index(self._list(name, read.flat), nth) if read.formula is None else _at_row(read.formula, Y)

    def _source(self, i: int, position: int, tensor: Tensor, row: Expression) -> Expression:
        if tensor.data is None:
            return self._row(view(self.plan, tensor), row)
        stride = tensor.size // row_count(tensor.shape)
        return plus(self._constant(i, position), times(row, stride))

    def _pointers(self, i: int, op: Op, rows: RowsOf, array: _Pointers) -> list[Statement]:
        """Fill the array of row pointers: the taps of a window, or a row of each operand of a join."""
        body: list[Statement] = []
        at = 0
        for position in rows.steps[0].kernel.operands:
            read = window(self.plan, op, position, rows)
            taps = _Taps(i, position, read, array, at)
            if read.formula is None:
                body.append(self._listed(taps, _nth(rows)))
            elif read.single:
                row = _at_row(read.formula, Y)
                body.append(assign(index(array.name, at), self._source(i, position, read.tensor, row)))
            else:
                body.append(self._spread(taps))
            at += read.count
        self._array(array, at)
        return body

    def _spread(self, taps: _Taps) -> Expression:
        """Pointers by formula."""
        read, suffix = taps.read, taps.array.element.suffix
        tensor = read.tensor
        assert read.formula is not None
        which = (_at_row(read.formula, Y), read.count, read.formula.spread, taps.target)
        if tensor.data is not None:
            constant = f"(const uint8_t *){self._constant(taps.step, taps.position)}"
            return call(f"mote_strip_rows_{suffix}", constant, tensor.nbytes // read.rows, read.rows, *which)
        found = view(self.plan, tensor)
        if found.ring is not None:
            begin = self._at(found.memory, found.offset)
            ring = (begin, found.row_bytes, read.rows, self._oldest(found))
            return call(f"mote_ring_rows_{suffix}", *ring, *which)
        arena = self.arenas[found.memory].pointer
        if found.base is not None:
            strip = f"{arena} + {found.base}"
            return call(f"mote_strip_rows_{suffix}", strip, found.row_bytes, read.rows, *which)
        places = f"{self.prefix}_rows + {self._slot(found)}"
        return call(f"mote_table_rows_{suffix}", arena, places, read.rows, *which)

    def _listed(self, taps: _Taps, nth: Expression) -> Compound:
        """Pointers to rows that a list names."""
        count = taps.read.count
        name = self._list(f"reads_{taps.step}_{taps.position}", taps.read.flat)
        row = self._source(taps.step, taps.position, taps.read.tensor, ROW)
        return loop(
            "int32_t",
            K,
            count,
            assign("const int32_t row", index(name, plus(times(nth, count), K))),
            assign(index(taps.array.name, plus(K, taps.at)), Formula("{} < 0 ? NULL : {}", (ROW, row))),
        )

    def _adding(self, i: int, op: Op, steps: tuple[Step, ...]) -> list[Statement]:
        step = steps[0]
        taps, read = added(self.plan, op, steps)
        count = self._counted(i, steps, taps)
        row = self._row_read(f"reads_{i}", read, N)
        out = self.plan.place[op.outputs[0]]
        last = len(steps) - 1
        part = Formula("({} == 0) | ({} == {}) << 1", (N, N, last))
        assert step.sums is not None
        target = self._at(out.memory, out.offset)
        where = (self._at(step.sums_memory, step.sums), target, *self._scratch(step))
        run = call(f"mote_{step.kernel.name}", self._params(i), self._source(i, 0, read.tensor, row), Y, part, *where)
        done = Formula("{} == {} ? {} : 0", (N, last, out.row_bytes))
        return count.before([*self._guarded(step, run, (target, out.row_bytes)), *self._trace(i, target, done)])

    def _row(self, buffer: Buffer, row: Expression) -> Expression:
        """The address of a row."""
        if buffer.ring is not None:
            begin = self._at(buffer.memory, buffer.offset)
            return call("mote_ring_row", begin, buffer.row_bytes, len(buffer.offsets), self._oldest(buffer), row)
        if buffer.base is not None:
            return self._at(buffer.memory, plus(times(row, buffer.row_bytes), buffer.base))
        return self.arenas[buffer.memory].address_of_row(self._rows_name, plus(row, self._slot(buffer)))

    def _slot(self, buffer: Buffer) -> int:
        if buffer not in self._slots:
            self._slots[buffer] = len(self.row_table)
            self.row_table += [0 if o is None else o // ALIGNMENT for o in buffer.offsets]
        return self._slots[buffer]

    def _trace(self, i: int, data: Expression, nbytes: Expression) -> list[Statement]:
        """What shows a step's output; what runs inside of control flow is not shown."""
        return [] if self.caller else [call("MOTE_TRACE", i, data, nbytes)]

    def _list(self, name: str, values: Sequence[int]) -> str:
        full = f"{self.prefix}_{name}"
        self.lists[full] = values
        return full


def element(plan: Plan, op: Op, kernel: Packed) -> CType:
    """What a kernel's row pointers point to."""
    return CTYPES[DType.INT8 if kernel.moves else op.input(plan.graph, kernel.operands[0]).dtype]


def other_elements(plan: Plan) -> list[CType]:
    """What row pointers point to besides what `mote_rows.h` knows."""
    by_rows = [s for s in plan.steps if (s.kernel.row or s.kernel.rows) and not s.whole]
    found = dict.fromkeys(element(plan, plan.op(s), s.kernel) for s in by_rows)
    return [e for e in found if e not in (CTYPES[DType.INT8], CTYPES[DType.FLOAT32])]


def _integer(values: Sequence[int]) -> np.dtype[np.generic]:
    """The smallest type that holds all of them."""
    kinds = (np.int8, np.int16, np.int32) if min(values) < 0 else (np.uint8, np.uint16, np.uint32)
    return next(np.dtype(k) for k in kinds if np.iinfo(k).min <= min(values) and max(values) <= np.iinfo(k).max)
