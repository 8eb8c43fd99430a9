"""Control flow in C: a function for each body, and the statements that select or repeat bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mote.compiler.emit.c.c import Compound, Expression, Statement, Template, call, loop, when
from mote.compiler.emit.c.model.arenas import PassedMemory
from mote.compiler.emit.c.model.handle import HANDLE, instance_type
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.lower.program import Body, Branches, Instruction, Loop, Place
from mote.compiler.plan.plan import LENT

Address = Callable[[Place], Expression]
"""A function from the place of a tensor to the C expression of its address."""


@dataclass(frozen=True)
class BodyFunction:
    """The C function of a control flow body. Its parameters are its arena, and pointers to the tensors that it shares
    with the program around it."""

    body: Body
    name: str
    asks: bool
    """Whether the body is the condition of a loop: the function then returns whether the loop continues."""
    instance: str = ""
    """The type of the model instance that the function takes a pointer to, if any."""

    @property
    def memories(self) -> dict[int, PassedMemory]:
        memories = {0: PassedMemory(self.body.program.arenas[0], None, "arena")}
        for k, lent in enumerate(self.body.lent):
            pointer = f"given_{k}" if lent.output is None else f"output_{lent.output}"
            memories[LENT - k] = PassedMemory(lent.place.nbytes, None, pointer, not lent.written)
        return memories

    @property
    def signature(self) -> str:
        handle = [f"{self.instance} *{HANDLE}"] if self.instance else []
        taken = ",\n    ".join((*handle, *(given.declaration for given in self.memories.values())))
        return f"static {'int' if self.asks else 'void'} {self.name}(\n    {taken})"

    @property
    def unused(self) -> list[Statement]:
        """Casts of unused parameters to void, which avoid compiler warnings."""
        copied = (place for c in self.body.copies for place in (c.source, c.target, c.staging))
        asked = (self.body.program.outputs[0].place,) if self.asks else ()
        instructions = [part for i in self.body.program.instructions for part in i.memory]
        used = {part.memory for part in (*instructions, *copied, *asked) if part is not None}
        pointers = [given.pointer for memory, given in self.memories.items() if memory not in used]
        return [f"(void){pointer}" for pointer in (*([HANDLE] if self.instance else []), *pointers)]

    @property
    def end(self) -> list[Statement]:
        """The C statements after the steps: copies of outputs to their targets, in two passes if a source overlaps the
        target of another; a condition returns its result."""
        if self.asks:
            asked = self.body.program.outputs[0].place
            assert asked is not None
            return [Template("return *(const uint8_t *){} != 0", (self._address(asked),))]
        copies = self.body.copies
        first = [self._copy(self._address(c.staging), c.source) for c in copies if c.staging is not None]
        return [*first, *(self._copy(self.memories[c.target.memory].pointer, c.staging or c.source) for c in copies)]

    def _address(self, place: Place) -> Expression:
        return self.memories[place.memory].address(place.at)

    def _copy(self, target: Expression, source: Place) -> Expression:
        return call("memcpy", target, self._address(source), source.nbytes)

    def call(self, address: Address, scratch: Expression) -> Expression:
        """The call of the function, with the addresses of tensors in the program around it."""
        handle = [HANDLE] if self.instance else []
        return call(self.name, *handle, scratch, *(address(lent.place) for lent in self.body.lent))


def functions(i: Instruction, prefix: str, reporting: ProjectOptions | None) -> list[BodyFunction]:
    """The functions of the bodies of an instruction. `reporting`: options of the model, if bodies write its
    variables."""
    instance = instance_type(reporting) if reporting and reporting.instances else ""
    names = ("then", "else") if isinstance(i.control, Branches) else ("condition", "body")[-len(i.bodies) :]
    return [
        BodyFunction(body, f"{prefix}_{name}", name == "condition", instance)
        for body, name in zip(i.bodies, names, strict=True)
    ]


def statements(i: Instruction, own: Sequence[BodyFunction], address: Address, scratch: Expression) -> list[Statement]:
    """The C statements of a control flow instruction: a call of one of its bodies, or repeated calls with loop
    variables."""
    calls = [body.call(address, scratch) for body in own]
    if not isinstance(i.control, Loop):
        condition = Template("*(const uint8_t *){} != 0", (address(i.operands[0].place),))
        return [when(condition, calls[0]), Compound("else", [calls[1]])]
    begin: list[Statement] = [
        call("memcpy", address(c.target), address(c.source), c.target.nbytes)
        for c in i.control.begin
        if not c.source.begins_with(c.target)
    ]
    if i.control.trips is None:
        return [*begin, Compound(Template("while ({})", (calls[0],)), calls[1:])]
    return [*begin, loop("uint32_t", "turn", i.control.trips, calls[-1])]
