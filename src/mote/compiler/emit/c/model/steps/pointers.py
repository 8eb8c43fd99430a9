"""Arrays of pointers to rows: the taps of a window, or a row of each operand."""

from __future__ import annotations

from mote.compiler.emit.c.c import Compound, Expression, Statement, Template, assign, call, index, loop, plus, times
from mote.compiler.emit.c.model.steps.addresses import at, constant, oldest, pointer
from mote.compiler.emit.c.model.steps.context import ROW, K, RowPointers
from mote.compiler.emit.c.model.steps.step import CStep, KernelInput
from mote.compiler.emit.c.values import CTYPES, CType
from mote.compiler.lower.program import Form, Instruction, Kind, Program
from mote.ir.graph.types import DType


def element(i: Instruction) -> CType:
    """The C type that the row pointers of an instruction point to."""
    return CTYPES[DType.INT8 if i.called.entry.moves else i.operands[0].place.dtype]


def other_elements(program: Program) -> list[CType]:
    """The C element types of row pointers that `mote_rows.h` does not support, including those in bodies of control
    flow."""
    elements = dict.fromkeys(element(i) for p in program.all for i in p.turns if i.form in (Form.ROW, Form.ROWS))
    return [e for e in elements if e not in (CTYPES[DType.INT8], CTYPES[DType.FLOAT32])]


def filled(step: CStep, array: RowPointers) -> list[Statement]:
    """The statements that fill an array of pointers with the rows that an instruction reads."""
    body: list[Statement] = []
    at = 0
    for source in step.sources:
        body.append(_pointers(step, source, array, at))
        at += source.operand.taps
    step.context.tables.array(array, at)
    return body


def _pointers(step: CStep, source: KernelInput, array: RowPointers, at: int) -> Statement:
    operand, computed = source.operand, step.instruction.computed
    if operand.listed:
        return _listed(step, source, array, at)
    if operand.taps == 1 and all(0 <= operand.row(y) < source.place.rows for y in computed):
        return assign(index(array.name, at), pointer(step, source, source.row, array.element))
    return spread(step, source, array, at)


def spread(step: CStep, source: KernelInput, array: RowPointers, begin: int) -> Expression:
    """The C call that fills an array of row pointers by a formula, from index `begin` on."""
    context, operand, place, suffix = step.context, source.operand, source.place, array.element.suffix
    which = (source.row, operand.taps, operand.spread, plus(array.name, begin))
    if place.constant is not None:
        address = Template("(const uint8_t *){}", (constant(step, source),))
        return call(f"mote_strip_rows_{suffix}", address, place.row_bytes, place.rows, *which)
    if place.kind is Kind.RING:
        ring = (at(context, place), place.row_bytes, place.rows, oldest(context, place))
        return call(f"mote_ring_rows_{suffix}", *ring, *which)
    arena = context.arenas[place.memory].pointer
    if place.kind is Kind.STRIP:
        return call(f"mote_strip_rows_{suffix}", f"{arena} + {place.at}", place.row_bytes, place.rows, *which)
    places = f"{context.rows_name} + {context.tables.slot(place)}"
    return call(f"mote_table_rows_{suffix}", arena, places, place.rows, *which)


def _listed(step: CStep, source: KernelInput, array: RowPointers, begin: int) -> Compound:
    """The C loop that fills an array of row pointers from a list of row numbers."""
    count = source.operand.taps
    y = step.row_read(source, plus(times(step.nth, count), K), f"_{source.position}")
    address = pointer(step, source, ROW, array.element)
    return loop(
        "int32_t",
        K,
        count,
        assign("const int32_t row", y),
        assign(index(array.name, plus(K, begin)), Template("{} < 0 ? NULL : {}", (ROW, address))),
    )
