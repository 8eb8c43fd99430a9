"""Traces of the outputs of instructions, and checks of the memory around what they write, for debug builds."""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.emit.c.c import Expression, Statement, Template, call
from mote.compiler.emit.c.model.steps.addresses import at
from mote.compiler.emit.c.model.steps.step import CStep
from mote.compiler.lower.program import STATES

Span = tuple[Expression, Expression]
"""An address, and a number of bytes."""


def trace(step: CStep, data: Expression, nbytes: Expression) -> list[Statement]:
    """The call of the trace hook with a step's output; bodies of control flow are not traced."""
    return [] if step.context.body else [call("MOTE_TRACE", step.number, data, nbytes)]


def guarded(step: CStep, calls: Sequence[Expression], *written: Span) -> list[Statement]:
    """Calls of a kernel; in a debug build the memory around what it writes is noted before, and compared after.
    `written`: besides working memory and sums."""
    before, after = zones(step, *written)
    return [*before, *calls, *after]


def zones(step: CStep, *written: Span) -> tuple[list[Template], list[Template]]:
    """The calls before a kernel's that note the memory around what it writes, and those behind it that compare."""
    context, i = step.context, step.instruction
    if not context.program.zone:
        return [], []
    spans = list(written) if 0 <= i.target.memory < STATES else []
    spans += [(at(context, room), room.nbytes) for room in (i.scratch, i.sums) if room is not None]
    note, look = (
        [
            call(f"{context.options.name}_{what}", *context.handle, address, nbytes, k)
            for k, (address, nbytes) in enumerate(spans)
        ]
        for what in ("note", "look")
    )
    return note, look


def shown(step: CStep, kernel_call: Expression, target: Expression, nbytes: int) -> list[Statement]:
    """A call that writes `nbytes` bytes, guarded and traced."""
    return [*guarded(step, [kernel_call], (target, nbytes)), *trace(step, target, nbytes)]
