"""Instructions that compute whole tensors, optionally on two cores, or update ring buffers."""

from __future__ import annotations

from mote.compiler.emit.c.c import Compound, Expression, Name, Statement, Template, call, when
from mote.compiler.emit.c.model.steps.addresses import at, oldest, row, scratch, whole
from mote.compiler.emit.c.model.steps.context import Y
from mote.compiler.emit.c.model.steps.step import CStep
from mote.compiler.emit.c.model.steps.watched import guarded, shown, trace
from mote.compiler.kernels.contract import Call
from mote.compiler.lower.program import Instruction

CORES = Name("cores")
"""The C parameter with the cores whose share of a step is computed, as a bit mask."""
BOTH = 3
"""The bit mask for both cores: one core computes both shares."""
SECOND = "_second"
"""Suffix of the parameter struct of a kernel that only the second core calls."""


def tensor(step: CStep) -> list[Statement]:
    """The call of a kernel over contiguous tensors; with two cores, a call for the rows of each."""
    i = step.instruction
    out, last = i.target, (i.second or i).rows.hi
    target, nbytes = at(step.context, out, i.rows.lo * out.row_bytes), (last - i.rows.lo) * out.row_bytes
    if i.second is None:
        return shown(step, _call(step, i, step.params()), target, nbytes)
    own = step.params(SECOND if i.second.kernel is not i.kernel else "")
    calls = [
        when(Template(f"({{}} & {core}) != 0", (CORES,)), _call(step, share, params))
        for core, share, params in ((2, i.second, own), (1, i, step.params()))
    ]
    return [*calls, when(Template(f"{{}} == {BOTH}", (CORES,)), *trace(step, target, nbytes))]


def _call(step: CStep, share: Instruction, params: Expression) -> Expression:
    """The call of a kernel for the rows of one core."""
    step = CStep(step.context, step.number, share)
    kernel, out = share.called, share.target
    arguments = [params, *(whole(step, s) for s in step.sources)]
    begin = share.rows.lo * out.row_bytes if kernel.entry.call is Call.FLAT else 0
    arguments += [at(step.context, out, begin), *(at(step.context, place) for place in share.others)]
    if kernel.entry.call is Call.FLAT:
        arguments.append(share.hi)
    elif kernel.entry.call in (Call.ROWS, Call.CHANNELS):
        arguments += [share.lo, share.hi]
    return call(f"mote_{kernel.name}", *arguments, *scratch(step))


def ring(step: CStep) -> list[Statement]:
    """The statements that write new rows to a ring buffer, and trace it from the oldest row on."""
    context, out = step.context, step.instruction.target
    new, begin = at(context, step.instruction.operands[0].place), f"&{oldest(context, out)}"
    run = guarded(step, [call("mote_ring", step.params(), new, at(context, out), begin)])
    head = Template("for ({} = 0; {} < {}; {}++)", (Y, Y, out.rows, Y))
    return [*run, Compound(head, trace(step, row(context, out, Y), out.row_bytes))]
