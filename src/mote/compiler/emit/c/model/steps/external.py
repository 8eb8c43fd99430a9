"""Instructions that external generators compute: calls of their functions, and the arguments."""

from __future__ import annotations

from mote.compiler.emit.c.c import Expression, Statement, Template, assign, call, when
from mote.compiler.emit.c.model.steps.addresses import at, read_row
from mote.compiler.emit.c.model.steps.context import N, Y
from mote.compiler.emit.c.model.steps.step import CStep
from mote.compiler.emit.c.model.steps.watched import guarded, trace, zones
from mote.compiler.kernels.contract import ALIGNMENT
from mote.compiler.lower.program import ExternalCalls, Form
from mote.compiler.offload.contract import ROW, SCRATCH, STATE, TAP, Pointer
from mote.ir.graph.tensor import Array


def external_calls(step: CStep, external: ExternalCalls) -> list[Statement]:
    """The calls of an external generator's functions; of a kernel with running sums, for one row."""
    body = _calls(step, external)
    return step.count.before(body) if step.instruction.form is Form.SUMS else body


def _calls(step: CStep, external: ExternalCalls) -> list[Statement]:
    i, context, artifact = step.instruction, step.context, external.artifact
    calls = [call(c.function, *(_argument(step, external, a) for a in c.arguments)) for c in artifact.calls]
    written = [(at(context, place), place.nbytes) for place in (i.target, *i.others)]
    last = Template(f"{{}} == {i.times - 1} ? {{}} : 0", (N, i.target.nbytes))
    traces = [
        traced
        for place in external.shown
        for traced in trace(step, at(context, place), last if i.form is Form.SUMS else place.nbytes)
    ]
    if not any(c.returns_status for c in artifact.calls):
        return [*guarded(step, calls, *written), *traces]
    (only,), pending = calls, f"{context.variable('state')}.pending"
    before, after = zones(step, *written)
    done = [*after, *traces]
    return [
        *([when(f"{pending} == 0", *before)] if before else []),
        assign(pending, only) if context.program.cores == 1 else when(f"{pending} >= 0", assign(pending, only)),
        *([when(f"{pending} == 0", *done)] if done else []),
    ]


def _argument(step: CStep, external: ExternalCalls, argument: Pointer | int | str) -> Expression:
    i, context = step.instruction, step.context
    if not isinstance(argument, Pointer):
        return Y if argument == TAP else argument
    to = argument.to
    if isinstance(to, int):
        place = external.places[to]
        if place.constant is None:
            return at(context, place)
        return _constant(step, f"tensor_{to}", place.constant.data)
    if to == SCRATCH:
        room = i.scratch or i.sums
        assert room is not None
        return at(context, room)
    if to == ROW:
        (source,) = step.sources
        return read_row(step, source)
    if to == STATE:
        return f"{context.variable('state')}.external"
    blob = next(blob for blob in external.artifact.blobs if blob.name == to)
    return _constant(step, to, blob.data, blob.alignment)


def _constant(step: CStep, name: str, data: Array, alignment: int = ALIGNMENT) -> str:
    return step.context.constants.array(step.hint(name), data, step.instruction.reads, alignment)
