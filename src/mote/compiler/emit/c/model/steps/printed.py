"""A program as C: a case for each instruction, the tables that they read, and a function for each body of control
flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mote.compiler.emit.c.c import (
    Case,
    CFunction,
    Comment,
    Definition,
    Expression,
    Statement,
    Switch,
    Template,
    call,
    loop,
    uses,
)
from mote.compiler.emit.c.model import control
from mote.compiler.emit.c.model.arenas import Arena
from mote.compiler.emit.c.model.control import BodyFunction
from mote.compiler.emit.c.model.steps import rows, tensors
from mote.compiler.emit.c.model.steps.addresses import at, constant
from mote.compiler.emit.c.model.steps.context import Context, N, Y
from mote.compiler.emit.c.model.steps.copied import in_ram
from mote.compiler.emit.c.model.steps.external import external_calls
from mote.compiler.emit.c.model.steps.step import CStep, KernelInput
from mote.compiler.emit.c.model.steps.watched import trace
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.values import ConstantPool, brief, integer_type, table
from mote.compiler.kernels.contract import ALIGNMENT
from mote.compiler.lower.program import Form, Instruction, Operand, Place, Program
from mote.ir.graph.tensor import Array

NARROW = 1 << 16
"""Row offsets below this limit, in units of ALIGNMENT, take two bytes each."""


@dataclass(frozen=True)
class Printed:
    """The C of a program and of the control flow bodies in it."""

    program: Program
    prefix: str
    """Prefix of the names of the program's tables and parameters."""
    hint: str
    """Prefix of the names of the program's constants, after the model's name."""
    wide: bool
    """Whether row offsets take four bytes each instead of two, in all tables of the model."""
    cases: Sequence[Case]
    """The case of each instruction, with its statements."""
    variables: Sequence[Statement]
    """The declarations of variables that the cases use."""
    arrays: Mapping[str, Array]
    """The values of the tables by name."""
    tables: Sequence[Definition]
    """The C definitions of the tables."""
    offsets: bool
    """Whether there is a table of row offsets."""
    turn: Expression
    """The C expression for the number of the instruction that runs at position `step` of the schedule."""
    arriving: Sequence[Statement]
    """For sensors, the statements that return the address of the row that the next samples are copied to."""
    function: CFunction | None
    """The function of a control flow body; None for the model's own program."""
    bodies: Sequence[Printed]
    """The C of the bodies of its control flow instructions."""

    @property
    def all(self) -> list[Printed]:
        """This program and all bodies in it, at any depth."""
        return [self, *(inner for body in self.bodies for inner in body.all)]

    @property
    def functions(self) -> list[CFunction]:
        """The functions of all bodies in the program, each after the functions that it calls."""
        return [f for body in self.bodies for f in (*body.functions, body.function) if f is not None]

    @property
    def table_bytes(self) -> int:
        """Bytes of all tables, including those of bodies."""
        return sum(values.nbytes for part in self.all for values in part.arrays.values())


@dataclass(frozen=True)
class _Part:
    """The printed cases of a program, and those of its bodies."""

    context: Context
    cases: list[Case]
    arriving: list[Statement]
    bodies: list[_Part]

    @property
    def all(self) -> list[_Part]:
        return [self, *(inner for body in self.bodies for inner in body.all)]


def printed(
    program: Program,
    options: ProjectOptions,
    arenas: Mapping[int, Arena],
    constants: ConstantPool,
    *,
    wide: bool = False,
) -> Printed:
    """The C of a model's program. Adds the constants that it reads to `constants`. `arenas`: by memory number; `wide`:
    row offsets take four bytes even if two are enough."""
    (part,) = _parts([Context(program, options, arenas, constants, program.mixed)])
    most = max((offset for p in part.all for offset in p.context.tables.offsets), default=0)
    return _complete(part, wide or most >= NARROW)


def _parts(contexts: Sequence[Context]) -> list[_Part]:
    """The printed cases of programs. All programs of a level are printed before the bodies in them, which decides the
    order of constants."""
    cases = [_cases(context) for context in contexts]
    return [
        _Part(context, own, _arriving(context), _parts([_body(context, f) for f in _body_functions(context)]))
        for context, own in zip(contexts, cases, strict=True)
    ]


def _body(context: Context, function: BodyFunction) -> Context:
    program = function.body.program
    return Context(program, context.options, function.memories, context.constants, context.mixed, function)


def _complete(part: _Part, wide: bool) -> Printed:
    context, program = part.context, part.context.program
    arrays = dict(_arrays(context, wide))
    used = [name.text for name in (N, Y) if uses(part.cases, name)]
    pointers = [array.declaration(count) for array, count in context.tables.pointers.items()]
    variables = [*pointers, *([f"int32_t {', '.join(used)}"] if used else [])]
    return Printed(
        program,
        context.prefix,
        context.hint,
        wide,
        part.cases,
        variables,
        arrays,
        _definitions(context, arrays),
        bool(context.tables.offsets),
        "step" if program.straight else context.scheduled("step"),
        part.arriving,
        None if context.body is None else _function(context, context.body, part.cases, variables),
        [_complete(body, wide) for body in part.bodies],
    )


def _arrays(context: Context, wide: bool) -> Iterator[tuple[str, Array]]:
    """The tables that the cases read: names and values."""
    program, tables = context.program, context.tables
    for name, values in tables.lists.items():
        yield name, np.array(values, integer_type(values))
    if tables.offsets:
        yield context.rows_name, np.array(tables.offsets, np.uint32 if wide else np.uint16)
    if not program.straight:
        yield context.order_name, np.array(program.schedule, integer_type(program.schedule))
    if program.split:
        yield context.split_name, np.array([i.second is not None for i in program.instructions], np.uint8)


def _definitions(context: Context, arrays: Mapping[str, Array]) -> list[Definition]:
    about = {
        context.rows_name: Comment(f"Where rows lie in the arena, in units of {ALIGNMENT} bytes."),
        context.order_name: Comment("Which operator does its next piece of work."),
        context.split_name: Comment("Which operators two cores share."),
    }
    definitions: list[Definition] = []
    for name, values in arrays.items():
        ctype = "mote_place_t" if name == context.rows_name else f"{values.dtype}_t"
        definition = table(ctype, name, map(str, values.tolist()), context.options.flash_mark)
        definitions += [*([about[name]] if name in about else []), definition]
    return definitions


def _function(context: Context, body: BodyFunction, cases: Sequence[Case], variables: Sequence[Statement]) -> CFunction:
    """The function of a control flow body, which runs all of its steps."""
    program, steps = context.program, list[Statement]()
    if program.straight:
        steps = [part for case in cases for part in (Comment(case.comment), *case.body)]
    else:
        steps = [loop("uint32_t", "step", len(program.schedule), Switch(context.scheduled("step"), cases))]
    counters = [f"uint{8 * program.counter_bytes}_t next[{program.counters}] = {{0}}"] if program.counters else []
    return CFunction(body.signature, [*variables, *counters, *body.unused, *steps, *body.end])


def _cases(context: Context) -> list[Case]:
    steps = [CStep(context, number, i) for number, i in enumerate(context.program.instructions)]
    return [_case(step) for step in steps]


def _case(step: CStep) -> Case:
    i = step.instruction
    shape = "x".join(map(str, i.shape)) or "scalar"
    after = [call("MOTE_NEXT")] if step.context.mixed else []
    return Case(step.number, brief(f"{i.kind} {shape} {i.name}"), [*in_ram(step, _statements(step)), *after])


def _statements(step: CStep) -> list[Statement]:
    i = step.instruction
    if i.control is not None:
        return _control(step)
    if i.external is not None:
        return external_calls(step, i.external)
    match i.form:
        case Form.WHOLE:
            return tensors.tensor(step)
        case Form.RING:
            return tensors.ring(step)
        case Form.ARRIVAL:
            return step.count.before(rows.arrival(step))
        case Form.SUMS:
            return step.count.before(rows.sums(step))
        case Form.ROWS:
            return step.count.before(rows.several(step))
        case _:
            return step.count.before(rows.single(step))


def _arriving(context: Context) -> list[Statement]:
    """For sensors, the statements that return the address of the row that the next samples are copied to."""
    if not context.options.samples or context.body is not None:
        return []
    number, i = next((n, i) for n, i in enumerate(context.program.instructions) if i.form is Form.ARRIVAL)
    return rows.arriving(CStep(context, number, i), f"{context.variable('state')}.position == 1")


def _body_functions(context: Context) -> list[BodyFunction]:
    instructions = enumerate(context.program.instructions)
    return [f for number, i in instructions if i.control for f in _functions(context, number, i)]


def _functions(context: Context, number: int, i: Instruction) -> list[BodyFunction]:
    reporting = context.options if context.program.zone or context.options.cipher else None
    return control.functions(i, f"{context.prefix}_{number}", reporting)


def _control(step: CStep) -> list[Statement]:
    """The statements of a control flow instruction, whose bodies are functions."""
    i, context = step.instruction, step.context
    inputs = [o.place for o in i.operands]

    def address(place: Place) -> Expression:
        if place.constant is None:
            return at(context, place)
        return Template("(const uint8_t *){}", (constant(step, KernelInput(Operand(place), inputs.index(place))),))

    functions = _functions(context, step.number, i)
    run = control.statements(i, functions, address, "NULL" if i.scratch is None else at(context, i.scratch))
    shown = i.control.shown if i.control else ()
    return [*run, *(traced for place in shown for traced in trace(step, at(context, place), place.nbytes))]
