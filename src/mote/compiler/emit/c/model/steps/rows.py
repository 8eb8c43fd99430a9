"""Instructions that compute rows: one, several at once, one of running sums, or one that the caller passes."""

from __future__ import annotations

from itertools import pairwise

from mote.compiler.emit.c.c import Compound, Expression, Statement, Template, assign, call, index, loop, plus
from mote.compiler.emit.c.model.steps.addresses import at, pointer, read_row, row, scratch
from mote.compiler.emit.c.model.steps.context import ROW, K, N, RowPointers, Y
from mote.compiler.emit.c.model.steps.pointers import element, filled, spread
from mote.compiler.emit.c.model.steps.step import CStep
from mote.compiler.emit.c.model.steps.watched import guarded, shown, trace
from mote.compiler.emit.c.values import CTYPES
from mote.compiler.kernels.contract import Call
from mote.compiler.lower.program import Form, Instruction, Kind


def arrival(step: CStep) -> list[Statement]:
    """The statements that take a row from the caller; nothing is copied if samples were written to the row already."""
    out = step.instruction.target
    target, nbytes = row(step.context, out, Y), out.row_bytes
    if step.context.options.samples:
        return [f"(void){ROW.text}", *trace(step, target, nbytes)]
    return shown(step, call("memcpy", target, ROW, nbytes), target, nbytes)


def arriving(step: CStep, begins: str) -> list[Statement]:
    """The statements that return the address of the row that comes next. `begins`: the C condition that it is the first
    row of an inference."""
    i, context = step.instruction, step.context
    before: list[Statement] = []
    if i.counter is not None:
        turn = index(f"{context.variable('state')}.next", i.counter)
        before = [Template(f"const int32_t {N.text} = {begins} ? 0 : {{}}", (turn,))]
    before.append(Template(f"const int32_t {Y.text} = {{}}", (step.count.y,)))
    return [*before, Template("return {}", (row(context, i.target, Y),))]


def single(step: CStep) -> list[Statement]:
    """The statements that compute rows one at a time: by the kernel's row function, from row pointers, if it has one,
    else by its main function from addresses of rows."""
    body = _row(step)
    return body if step.instruction.group == 1 else _batches(step.instruction, 1, *body)


def _row(step: CStep) -> list[Statement]:
    i, context = step.instruction, step.context
    kernel, out = i.called, i.target
    target = row(context, out, Y)
    before: list[Statement] = []
    arguments = [step.params()]
    if i.form is Form.ROW:
        array = RowPointers(element(i))
        before = filled(step, array)
        arguments += [array.name, *([Y] if kernel.entry.row_index else []), target]
    else:
        arguments += [read_row(step, s, f"_{s.position}") for s in step.sources]
        arguments += [target, *([i.hi] if kernel.entry.call is Call.FLAT else [0, 1])]
    kernel_call = call(f"mote_{kernel.entry.row or kernel.name}", *arguments, *scratch(step))
    return [*before, *shown(step, kernel_call, target, out.row_bytes)]


def several(step: CStep) -> list[Statement]:
    """The statements that compute as many output rows as the kernel can at once, from all input rows in their
    windows."""
    i, context = step.instruction, step.context
    out, (source, *others) = i.target, step.sources
    taps = source.operand.taps
    array = context.tables.array(RowPointers(element(i)), taps + len(others))
    outs = context.tables.array(RowPointers(CTYPES[out.dtype], output=True), i.hi)
    arguments = [step.params(), array.name, outs.name, "count", *scratch(step)]
    target = index(outs.name, K)
    piece = [(index(outs.name, 0), f"(size_t)count * {out.row_bytes}")] if _contiguous(i) else []
    return _batches(
        i,
        i.hi,
        assign("const int32_t count", call("mote_min", i.hi, Template("end - {}", (Y,)))),
        spread(step, source, array, 0),
        *(assign(index(array.name, taps + k), pointer(step, o, o.row, array.element)) for k, o in enumerate(others)),
        loop("int32_t", K, "count", assign(target, row(context, out, plus(Y, K)))),
        *guarded(step, [call(f"mote_{i.called.entry.rows}", *arguments)], *piece),
        *(loop("int32_t", K, "count", traced) for traced in trace(step, target, out.row_bytes)),
    )


def sums(step: CStep) -> list[Statement]:
    """The statements that add a row to running sums."""
    i, context = step.instruction, step.context
    out, (source,) = i.target, step.sources
    address = read_row(step, source)
    last = i.times - 1
    part = Template("({} == 0) | ({} == {}) << 1", (N, N, last))
    assert i.sums is not None
    target = at(context, out)
    where = (at(context, i.sums), target, *scratch(step))
    run = call(f"mote_{i.called.name}", step.params(), address, Y, part, *where)
    done = Template("{} == {} ? {} : 0", (N, last, out.row_bytes))
    return [*guarded(step, [run], (target, out.row_bytes)), *trace(step, target, done)]


def _batches(i: Instruction, size: int, *body: Statement) -> list[Statement]:
    """A loop of `body` over the output rows of one run of an instruction, `size` rows at a time; rows before row 0 are
    skipped."""
    end: Expression = call("mote_min", plus(Y, i.group), i.last)
    after = Template("{}++" if size == 1 else f"{{}} += {size}", (Y,))
    first, before = min(i.begins), list[Statement]()
    if first < 0:
        before = [assign(Y, Template("{} < 0 ? 0 : {}", (Y, Y)))]
        end = Template("{} == 0 ? {} : {}", (Y, first + i.group, end))
    return [*before, Compound(Template("for (int32_t end = {}; {} < end; {})", (end, Y, after)), body)]


def _contiguous(i: Instruction) -> bool:
    """Whether the output rows that an instruction computes in each run are contiguous in memory."""
    out = i.target
    turns = (out.offsets[max(begin, 0) : min(begin + i.group, i.last)] for begin in i.begins)
    return out.kind is Kind.STRIP or all(b == (a or 0) + out.row_bytes for rows in turns for a, b in pairwise(rows))
