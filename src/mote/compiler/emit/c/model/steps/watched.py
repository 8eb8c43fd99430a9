"""Debug builds: traces of the outputs of instructions, and checks of the red zones around what they write."""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.emit.c.c import Expression, Statement, Template, call
from mote.compiler.emit.c.model.steps.addresses import at
from mote.compiler.emit.c.model.steps.step import CStep
from mote.compiler.lower.program import STATES

Span = tuple[Expression, Expression]
"""C expressions for an address and a number of bytes."""


def trace(step: CStep, data: Expression, nbytes: Expression) -> list[Statement]:
    """The call of the trace hook with an instruction's output; none in bodies of control flow."""
    return [] if step.context.body else [call("MOTE_TRACE", step.number, data, nbytes)]


def guarded(step: CStep, calls: Sequence[Expression], *written: Span) -> list[Statement]:
    """The calls of a kernel; in a debug build, between statements that save and compare the red zones around what it
    writes. `written`: in addition to working memory and sums."""
    before, after = zones(step, *written)
    return [*before, *calls, *after]


def zones(step: CStep, *written: Span) -> tuple[list[Template], list[Template]]:
    """The statements that save red zones before a kernel runs, and those that compare them afterwards."""
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
    """A call of a kernel that writes `nbytes` bytes, with checks of red zones and a trace."""
    return [*guarded(step, [kernel_call], (target, nbytes)), *trace(step, target, nbytes)]
