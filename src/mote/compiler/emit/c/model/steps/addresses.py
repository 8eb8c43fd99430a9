"""C expressions for addresses in calls of kernels: of tensors, rows, constants and working memory."""

from __future__ import annotations

from mote.compiler.emit.c.c import Expression, Template, call, plus, times
from mote.compiler.emit.c.model.steps.context import Context
from mote.compiler.emit.c.model.steps.step import CStep, KernelInput
from mote.compiler.emit.c.values import CTYPES, CType
from mote.compiler.kernels.contract import operand_name
from mote.compiler.lower.program import Kind, Place, Scratch


def at(context: Context, place: Place | Scratch, more: Expression = 0) -> Expression:
    """The address of a tensor or of working memory in its arena, plus `more` bytes."""
    return context.arenas[place.memory].address(plus(more, place.at))


def row(context: Context, place: Place, y: Expression) -> Expression:
    """The address of row `y` of a tensor: in a ring buffer, in contiguous rows, or by the table of row offsets."""
    if place.kind is Kind.RING:
        return call("mote_ring_row", at(context, place), place.row_bytes, place.rows, oldest(context, place), y)
    if place.kind is Kind.STRIP:
        return at(context, place, times(y, place.row_bytes))
    slot = context.tables.slot(place)
    return context.arenas[place.memory].address_of_row(context.rows_name, plus(y, slot))


def oldest(context: Context, place: Place) -> str:
    """The variable with the index of the oldest row of a ring buffer."""
    return f"{context.variable('kept')}.oldest[{place.ring}]"


def constant(step: CStep, source: KernelInput) -> Expression:
    """The C expression for an operand that is a constant."""
    i, place = step.instruction, source.place
    assert place.constant is not None
    name, sealed = operand_name(source.position), None if i.kernel is None else i.kernel.sealed
    if sealed is not None and name in sealed.arrays:
        return Template(f"((const {CTYPES[place.dtype].name} *){{}})", (opened(step, name),))
    return step.context.constants.array(step.hint(f"operand_{source.position}"), place.constant.data, i.reads)


def opened(step: CStep, name: str) -> Expression:
    """The address of the copy in RAM of a constant that was decrypted or copied from flash."""
    i = step.instruction
    sealed = i.called.sealed
    assert i.scratch is not None and sealed is not None
    return at(step.context, i.scratch, sealed.begin + sealed.offsets[name])


def whole(step: CStep, source: KernelInput) -> Expression:
    """The address of the first row of an operand whose rows are contiguous."""
    place, start = source.place, source.operand.start
    if place.constant is None:
        return at(step.context, place, start * place.row_bytes)
    return plus(constant(step, source), start * place.row_bytes // place.dtype.itemsize)


def source_row(step: CStep, source: KernelInput, y: Expression) -> Expression:
    """The address of row `y` of an operand: a tensor or a constant."""
    place = source.place
    if place.constant is None:
        return row(step.context, place, y)
    return plus(constant(step, source), times(y, place.row_bytes // place.dtype.itemsize))


def read_row(step: CStep, source: KernelInput, suffix: str = "") -> Expression:
    """The address of the only row that an instruction reads of an operand, by a formula or from a list."""
    y = step.row_read(source, step.nth, suffix) if source.operand.listed else source.row
    return source_row(step, source, y)


def pointer(step: CStep, source: KernelInput, y: Expression, element: CType) -> Expression:
    """The address of a row, cast to the element type of an array of row pointers if a constant has another type."""
    address, place = source_row(step, source, y), source.place
    if place.constant is None or CTYPES[place.dtype] == element:
        return address
    return Template(f"(const {element.name} *)({{}})", (address,))


def scratch(step: CStep) -> list[Expression]:
    """The argument for the kernel's working memory; none if it takes no such argument."""
    i = step.instruction
    sealed = i.called.sealed
    own = i.called.needs.scratch if sealed is None else sealed.scratch
    if own is None:
        return []
    return ["NULL" if i.scratch is None or own == 0 else at(step.context, i.scratch)]
