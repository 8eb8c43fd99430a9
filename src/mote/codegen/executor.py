"""The part of `<name>.c` that runs the plan: a case for each operator, and tables where operators run by rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mote.codegen.arenas import Arena, places
from mote.codegen.values import Constants, re_comment, wrap
from mote.graph import Op, Tensor
from mote.graph.rows import OUTSIDE, row_count
from mote.plan.kernel import Call, Kernel
from mote.plan.memories import constant_reads
from mote.plan.plan import ALIGNMENT, KEPT, Buffer, Plan, Step
from mote.plan.rows import Arrival


@dataclass(frozen=True)
class Affine:
    """Which row a window's tap k reads at count n: start + n * step + k * spread, where the tensor has that row."""

    start: int
    step: int
    spread: int

    def at(self, variable: str) -> str:
        return _sum(_product(variable, self.step), self.start)


@dataclass(frozen=True)
class _Window:
    """The rows of one operand that a step reads, and where their pointers go."""

    step: int
    position: int
    tensor: Tensor
    count: int
    taps: int
    array: str
    at: int


@dataclass(frozen=True)
class _RowsOf:
    """The rows that the steps of an operator compute."""

    steps: tuple[Step, ...]

    @property
    def group(self) -> int:
        """How many at once."""
        return max(s.rows.hi - s.rows.lo for s in self.steps)

    @property
    def ys(self) -> list[int]:
        found = [y for s in self.steps for y in range(s.rows.lo, s.rows.hi)]
        return found if self.group == 1 else sorted(found)

    @property
    def nth(self) -> str:
        """Which of them row y is."""
        return "n" if self.group == 1 else f"({_sum('y', -min(self.ys))})" if min(self.ys) else "y"


@dataclass
class Executor:
    """What the steps of a plan become."""

    plan: Plan
    constants: Constants
    prefix: str
    row_table: list[int] = field(default_factory=list)
    """Offsets of rows, in units of ALIGNMENT."""
    _slots: dict[int, int] = field(default_factory=dict)
    """The place in `row_table` of each buffer's row 0."""
    lists: dict[str, Sequence[int]] = field(default_factory=dict)
    """Tables for what no formula describes."""
    pointers: dict[str, int] = field(default_factory=dict)
    """How many row pointers the cases need at most: `rows` of bytes, `floats`."""

    @cached_property
    def arenas(self) -> list[Arena]:
        return places(self.plan)

    @property
    def order(self) -> list[int]:
        """Which operator does each step's work; empty where they run one after another."""
        if self.plan.straight:
            return []
        return [self.plan.numbers[step.ops] for step in self.plan.steps]

    @property
    def table_bytes(self) -> int:
        """Flash that the tables take."""
        width = 2 if max(self.row_table, default=0) < 1 << 16 else 4
        order = self.order
        return width * len(self.row_table) + _bytes(order) + sum(map(_bytes, self.lists.values()))

    def cases(self) -> list[str]:
        return [self._case(i, op, steps) for i, (op, steps) in enumerate(self.plan.works)]

    def tables(self) -> list[str]:
        found = [
            f"static const {_integer(values)} {name}[{len(values)}] = {{\n{wrap([str(v) for v in values])}\n}};\n"
            for name, values in self.lists.items()
        ]
        if self.row_table:
            values = wrap([str(x) for x in self.row_table])
            found.append(
                f"/* Where rows lie in the arena, in units of {ALIGNMENT} bytes. */\n"
                f"static const mote_place_t {self.prefix}_rows[{len(self.row_table)}] = {{\n{values}\n}};\n"
            )
        if order := self.order:
            found.append(
                "/* Which operator does its next piece of work. */\n"
                f"static const {_integer(order)} {self.prefix}_schedule[{len(order)}] = {{\n"
                f"{wrap([str(x) for x in order])}\n}};\n"
            )
        return found

    def _case(self, i: int, op: Op, steps: tuple[Step, ...]) -> str:
        out = op.output(self.plan.graph)
        shape = "x".join(map(str, out.shape)) or "scalar"
        label = re_comment(f"{op.kind} {shape} {op.name}")
        if isinstance(op, Arrival):
            body = self._arrival(i, op, steps)
        elif steps[0].kernel.call is Call.ADDS:
            body = self._adding(i, op, steps)
        elif steps[0].kernel.call is Call.RING:
            body = self._ring(i, steps[0])
        elif steps[0].whole:
            body = self._whole(i, steps[0])
        else:
            body = self._rows(i, op, steps)
        lines = "\n".join(f"        {line}" for line in self._guarded(steps, _compact(body)))
        return f"    case {i}: /* {label} */\n{lines}\n        break;"

    def _guarded(self, steps: tuple[Step, ...], body: list[str]) -> list[str]:
        """In a debug build: note what lies around what the step writes before the kernel runs, and look after."""
        if not self.plan.zone:
            return body
        step, out = steps[0], self.plan.place[self.plan.op(steps[0]).outputs[0]]
        rows = step.rows.hi - step.rows.lo
        at = self._row(out, "y") if not step.whole and step.tap is None else self._row(out, str(step.rows.lo))
        spans = [(at, rows * out.row_bytes)] if (step.whole or rows == 1) and out.memory != KEPT else []
        if step.scratch is not None:
            spans.append((self._at(0, step.scratch), step.kernel.scratch or 0))
        if step.sums is not None:
            spans.append((self._at(0, step.sums), step.kernel.sums))
        functions = (step.kernel.name, step.kernel.row, step.kernel.rows)
        calls = (*(f"mote_{name}(" for name in functions), "memcpy(")
        call = next(k for k, line in enumerate(body) if line.strip().startswith(calls))
        before = [f"{self.prefix}_note({at}, {nbytes}, {k});" for k, (at, nbytes) in enumerate(spans)]
        after = [f"{self.prefix}_look({at}, {nbytes}, {k});" for k, (at, nbytes) in enumerate(spans)]
        return [*body[:call], *before, body[call], *after, *body[call + 1 :]]

    def _counted(self, i: int, steps: tuple[Step, ...], values: Sequence[int], what: str) -> list[str]:
        """`n` is how often this operator has run; `what` is the value that goes with it."""
        if len(steps) == 1:
            return ["n = 0;", f"{what} = {values[0]};"]
        lines = [f"n = {self.prefix}_state.next[{self.counter_of(i)}]++;"]
        found = affine([(n, 0, v) for n, v in enumerate(values)])
        if found is not None:
            return [*lines, f"{what} = {found.at('n')};"]
        return [*lines, f"{what} = {self._list(f'{what}_{i}', values)}[n];"]

    def counter_of(self, i: int) -> int:
        return sum(len(steps) > 1 for _, steps in self.plan.works[:i])

    def _arrival(self, i: int, op: Op, steps: tuple[Step, ...]) -> list[str]:
        buffer = self.plan.place[op.outputs[0]]
        lines = self._counted(i, steps, [s.rows.lo for s in steps], "y")
        target = self._row(buffer, "y")
        return [
            *lines,
            f"memcpy({target}, row, {buffer.row_bytes});",
            f"MOTE_TRACE({i}, {target}, {buffer.row_bytes});",
        ]

    def _whole(self, i: int, step: Step) -> list[str]:
        """The kernel's own call over tensors whose rows lie one after another."""
        plan, kernel, op = self.plan, step.kernel, self.plan.op(step)
        arguments = [f"&{self.prefix}_step_{i}"]
        for position in kernel.operands:
            tensor = op.input(plan.graph, position)
            if tensor.data is None:
                arguments.append(self._at(plan.place[tensor.id].memory, plan.place[tensor.id].offset))
            else:
                arguments.append(self._constant(i, position))
        out = plan.place[op.outputs[0]]
        arguments.append(self._at(out.memory, out.offset))
        if kernel.call is Call.FLAT:
            arguments.append(str(kernel.units))
        elif kernel.call is Call.ROWS:
            arguments += [str(step.rows.lo), str(step.rows.hi)]
        arguments += self._scratch(step)
        begin = out.offset + step.rows.lo * out.row_bytes
        nbytes = (step.rows.hi - step.rows.lo) * out.row_bytes
        trace = f"MOTE_TRACE({i}, {self._at(out.memory, begin)}, {nbytes});"
        return [f"mote_{kernel.name}({', '.join(arguments)});", trace]

    def _ring(self, i: int, step: Step) -> list[str]:
        """New rows into a ring buffer; whoever traces sees its rows from the oldest on."""
        plan, op = self.plan, self.plan.op(step)
        new, out = plan.place[op.inputs[1]], plan.place[op.outputs[0]]
        arguments = [f"&{self.prefix}_step_{i}", self._at(new.memory, new.offset), self._at(out.memory, out.offset)]
        return [
            f"mote_ring({', '.join(arguments)}, &{self._oldest(out)});",
            f"for (y = 0; y < {len(out.offsets)}; y++) {{",
            f"    MOTE_TRACE({i}, {self._row(out, 'y')}, {out.row_bytes});",
            "}",
        ]

    def _oldest(self, buffer: Buffer) -> str:
        """The variable that says which row of a ring buffer is the oldest."""
        return f"{self.prefix}_kept.oldest[{buffer.ring}]"

    def _at(self, memory: int, offset: int | str) -> str:
        """An address in the arena of a memory."""
        return f"{self.arenas[memory].at}({offset})"

    def _constant(self, i: int, position: int) -> str:
        """The name of an operand that is a constant."""
        op = self.plan.works[i][0]
        data = op.input(self.plan.graph, position).data
        assert data is not None
        return self.constants.array(f"{i}_operand_{position}", data, constant_reads(self.plan.graph, op))

    def _scratch(self, step: Step) -> list[str]:
        if step.kernel.scratch is None:
            return []
        return ["NULL" if step.scratch is None else self._at(step.scratch_memory, step.scratch)]

    def _rows(self, i: int, op: Op, steps: tuple[Step, ...]) -> list[str]:
        """One output row after another, as many as the step has: from row pointers where the kernel has a row function,
        else from the operands' rows."""
        kernel = steps[0].kernel
        lines = self._counted(i, steps, [s.rows.lo for s in steps], "y")
        if kernel.rows and kernel.group > 1:
            return [*lines, *self._several(i, op, steps)]
        out = self.plan.place[op.outputs[0]]
        target = self._row(out, "y")
        rows = _RowsOf(steps)
        before, arguments = [], [f"&{self.prefix}_step_{i}"]
        if kernel.row:
            before = self._pointers(i, op, rows)
            arguments += [_pointer_array(kernel), *(["y"] if kernel.row_index else []), target]
        else:
            arguments += [self._operand(i, op, position, rows) for position in kernel.operands]
            arguments.append(target)
            units = kernel.units // row_count(op.output(self.plan.graph).shape)
            arguments += [str(units)] if kernel.call is Call.FLAT else ["0", "1"]
        arguments += self._scratch(steps[0])
        call = f"mote_{kernel.row or kernel.name}({', '.join(arguments)});"
        body = [*before, call, f"MOTE_TRACE({i}, {target}, {out.row_bytes});"]
        if rows.group == 1:
            return [*lines, *body]
        loop = f"for (int32_t end = mote_min(y + {rows.group}, {max(rows.ys) + 1}); y < end; y++) {{"
        return [*lines, loop, *(f"    {line}" for line in body), "}"]

    def _several(self, i: int, op: Op, steps: tuple[Step, ...]) -> list[str]:
        """As many output rows as the kernel computes at once, from all input rows under them."""
        kernel, out, rows = steps[0].kernel, self.plan.place[op.outputs[0]], _RowsOf(steps)
        tensor = op.input(self.plan.graph)
        count = row_count(tensor.shape)
        reads = [op.reads(self.plan.graph, 0, y) or () for y in rows.ys]
        found = affine([(y, k, r) for y, read in zip(rows.ys, reads, strict=True) for k, r in enumerate(read)], count)
        assert found is not None and found.spread == 1, "kernels for several rows take plain windows only"
        taps = (kernel.group - 1) * found.step + len(reads[0])
        self.pointers["rows"] = max(self.pointers.get("rows", 0), taps)
        self.pointers["outs"] = max(self.pointers.get("outs", 0), kernel.group)
        window = _Window(i, 0, tensor, count, taps, "rows", 0)
        arguments = [f"&{self.prefix}_step_{i}", "rows", "outs", "count", *self._scratch(steps[0])]
        each = "    for (int32_t k = 0; k < count; k++) {"
        return [
            f"for (int32_t end = mote_min(y + {rows.group}, {max(rows.ys) + 1}); y < end; y += {kernel.group}) {{",
            f"    const int32_t count = mote_min({kernel.group}, end - y);",
            f"    {self._spread(window, found)}",
            each,
            f"        outs[k] = {self._row(out, 'y + k')};",
            "    }",
            f"    mote_{kernel.rows}({', '.join(arguments)});",
            each,
            f"        MOTE_TRACE({i}, outs[k], {out.row_bytes});",
            "    }",
            "}",
        ]

    def _operand(self, i: int, op: Op, position: int, rows: _RowsOf) -> str:
        """The row of one operand that output row y is made from."""
        tensor = op.input(self.plan.graph, position)
        reads = [(op.reads(self.plan.graph, position, y) or (0,))[0] for y in rows.ys]
        found = affine([(y, 0, r) for y, r in zip(rows.ys, reads, strict=True)])
        row = found.at("y") if found else f"{self._list(f'reads_{i}_{position}', reads)}[{rows.nth}]"
        return self._source(i, position, tensor, row)

    def _source(self, i: int, position: int, tensor: Tensor, row: str) -> str:
        if tensor.data is None:
            return self._row(self._view(tensor), row)
        stride = tensor.size // row_count(tensor.shape)
        return _sum_text(self._constant(i, position), _product(row, stride))

    def _view(self, tensor: Tensor) -> Buffer:
        """The rows of a tensor; of a view of another shape, rows of that shape over the same memory."""
        buffer = self.plan.place[tensor.id]
        count = row_count(tensor.shape)
        if count == len(buffer.offsets):
            return buffer
        row = tensor.nbytes // count
        offsets = tuple(buffer.offset + y * row for y in range(count))
        return Buffer(buffer.tensors, row, offsets, buffer.layout, buffer.memory)

    def _pointers(self, i: int, op: Op, rows: _RowsOf) -> list[str]:
        """Fill the array of row pointers: the taps of a window, or a row of each operand of a join."""
        lines: list[str] = []
        array, at = _pointer_array(rows.steps[0].kernel), 0
        for position in rows.steps[0].kernel.operands:
            tensor = op.input(self.plan.graph, position)
            reads = [op.reads(self.plan.graph, position, y) or () for y in rows.ys]
            taps = max(map(len, reads))
            window = _Window(i, position, tensor, row_count(tensor.shape), taps, array, at)
            samples = [(y, k, r) for y, taken in zip(rows.ys, reads, strict=True) for k, r in enumerate(taken)]
            found = affine(samples, window.count) if all(len(r) == taps for r in reads) else None
            if found is None:
                lines += self._listed(window, reads, rows.nth)
            elif taps == 1 and all(r != OUTSIDE for _, _, r in samples):
                lines.append(f"{window.array}[{at}] = {self._source(i, position, tensor, found.at('y'))};")
            else:
                lines.append(self._spread(window, found))
            at += taps
        self.pointers[array] = max(self.pointers.get(array, 0), at)
        return lines

    def _spread(self, window: _Window, found: Affine) -> str:
        """Pointers by formula."""
        tensor = window.tensor
        suffix = "f32" if window.array == "floats" else "s8"
        where = f"{window.count}, {found.at('y')}, {window.taps}, {found.spread}, {_sum(window.array, window.at)}"
        if tensor.data is not None:
            name = self._constant(window.step, window.position)
            row = tensor.nbytes // window.count
            return f"mote_strip_rows_{suffix}((const uint8_t *){name}, {row}, {where});"
        view = self._view(tensor)
        if view.ring is not None:
            rest = f"{found.at('y')}, {window.taps}, {found.spread}, {_sum(window.array, window.at)}"
            ring = f"{self._at(view.memory, view.offset)}, {view.row_bytes}, {window.count}, {self._oldest(view)}"
            return f"mote_ring_rows_{suffix}({ring}, {rest});"
        arena = self.arenas[view.memory].pointer
        if view.base is not None:
            return f"mote_strip_rows_{suffix}({arena} + {view.base}, {view.row_bytes}, {where});"
        return f"mote_table_rows_{suffix}({arena}, {self.prefix}_rows + {self._slot(view)}, {where});"

    def _listed(self, window: _Window, reads: Sequence[tuple[int, ...]], nth: str) -> list[str]:
        """Pointers to rows that a list names."""
        flat = [r for rows in reads for r in (*rows, *[OUTSIDE] * (window.taps - len(rows)))]
        name = self._list(f"reads_{window.step}_{window.position}", flat)
        row = self._source(window.step, window.position, window.tensor, "row")
        return [
            f"for (int32_t k = 0; k < {window.taps}; k++) {{",
            f"    const int32_t row = {name}[{_product(nth, window.taps)} + k];",
            f"    {window.array}[{_sum('k', window.at)}] = row < 0 ? NULL : {row};",
            "}",
        ]

    def _adding(self, i: int, op: Op, steps: tuple[Step, ...]) -> list[str]:
        graph = self.plan.graph
        tensor = op.input(graph)
        taps = [s.tap for s in steps if s.tap is not None]
        read = op.reads(graph, 0, 0) or tuple(range(row_count(tensor.shape)))
        lines = self._counted(i, steps, taps, "y")
        found = affine([(t, 0, read[t]) for t in taps])
        row = found.at("y") if found else f"{self._list(f'reads_{i}', [read[t] for t in taps])}[n]"
        out = self.plan.place[op.outputs[0]]
        last = len(steps) - 1
        part = f"(n == 0) | (n == {last}) << 1"
        kernel = steps[0].kernel
        arguments = [f"&{self.prefix}_step_{i}", self._source(i, 0, tensor, row), "y", part]
        assert steps[0].sums is not None
        target = self._at(out.memory, out.offset)
        arguments += [self._at(steps[0].sums_memory, steps[0].sums), target, *self._scratch(steps[0])]
        return [
            *lines,
            f"mote_{kernel.name}({', '.join(arguments)});",
            f"MOTE_TRACE({i}, {target}, n == {last} ? {out.row_bytes} : 0);",
        ]

    def _row(self, buffer: Buffer, row: str) -> str:
        """The address of a row."""
        if buffer.ring is not None:
            where = f"{buffer.row_bytes}, {len(buffer.offsets)}, {self._oldest(buffer)}, {row}"
            return f"mote_ring_row({self._at(buffer.memory, buffer.offset)}, {where})"
        if buffer.base is not None:
            return self._at(buffer.memory, _sum(_product(row, buffer.row_bytes), buffer.base))
        slot = self._slot(buffer)
        return f"{self.arenas[buffer.memory].row}({_sum(row, slot)})"

    def _slot(self, buffer: Buffer) -> int:
        if id(buffer) not in self._slots:
            self._slots[id(buffer)] = len(self.row_table)
            self.row_table += [0 if o is None else o // ALIGNMENT for o in buffer.offsets]
        return self._slots[id(buffer)]

    def _list(self, name: str, values: Sequence[int]) -> str:
        full = f"{self.prefix}_{name}"
        self.lists[full] = values
        return full


def _pointer_array(kernel: Kernel) -> str:
    """Where the kernel's row pointers are collected, by their element type."""
    return "floats" if kernel.name.endswith("_f32") else "rows"


def _compact(body: list[str]) -> list[str]:
    """The same without `n` where nothing but `y` is made from it."""
    if not body[0].startswith("n = ") or any(re.search(r"\bn\b", line) for line in body[2:]):
        return body
    if body[0] == "n = 0;":
        return body[1:]
    if body[1] == "y = n;":
        return ["y" + body[0].removeprefix("n"), *body[2:]]
    return body if re.search(r"\bn\b", body[1]) else [body[0].removeprefix("n = "), *body[1:]]


def affine(samples: Iterable[tuple[int, int, int]], count: int | None = None) -> Affine | None:
    """The formula start + n * step + k * spread for samples (n, k, value); OUTSIDE stands for any value outside
    0..count-1. None where there is no such formula."""
    given = list(samples)
    known = [s for s in given if s[2] != OUTSIDE or count is None]
    if not known:
        return None
    n0, k0, v0 = known[0]
    spread = _slope([(k, v) for n, k, v in known if n == n0], 1)
    step = _slope([(n, v - (k - k0) * spread) for n, k, v in known], 0)
    found = Affine(v0 - n0 * step - k0 * spread, step, spread)
    for n, k, v in given:
        expected = found.start + n * step + k * spread
        if count is not None and not 0 <= expected < count:
            expected = OUTSIDE
        if expected != v:
            return None
    return found


def _slope(points: Sequence[tuple[int, int]], default: int) -> int:
    x0, y0 = points[0]
    other = next(((x, y) for x, y in points if x != x0), None)
    return default if other is None else (other[1] - y0) // (other[0] - x0)


def _sum(text: str, constant: int) -> str:
    if text == "0":
        return str(constant)
    return text if constant == 0 else f"{text} + {constant}" if constant > 0 else f"{text} - {-constant}"


def _sum_text(text: str, other: str) -> str:
    return text if other == "0" else f"{text} + {other}"


def _product(text: str, factor: int) -> str:
    if factor == 0 or text == "0":
        return "0"
    if factor == 1:
        return text
    simple = text.replace("_", "").isalnum()
    return f"{text} * {factor}" if simple else f"({text}) * {factor}"


def _integer(values: Sequence[int]) -> str:
    """The smallest type that holds all of them."""
    least, most = min(values), max(values)
    if least < 0:
        return "int8_t" if least >= -128 and most < 128 else "int16_t"
    return "uint8_t" if most < 1 << 8 else "uint16_t" if most < 1 << 16 else "uint32_t"


def _bytes(values: Sequence[int]) -> int:
    """What a table of them takes."""
    return len(values) * int(re.sub(r"\D", "", _integer(values))) // 8 if values else 0
