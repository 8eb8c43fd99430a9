"""An instruction that is printed as C, its operands, and its counter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mote.compiler.emit.c.c import Expression, Statement, Template, assign, index, plus, times, uses
from mote.compiler.emit.c.model.steps.context import Context, N, Y, element_of
from mote.compiler.lower.program import Instruction, Operand, Place

OPENED = "opened"
"""Name of the local copy of a kernel's parameters that point to constants in RAM."""


@dataclass(frozen=True)
class KernelInput:
    """An operand of an instruction; `position`: which input of the kernel's operator it is."""

    operand: Operand
    position: int

    @property
    def place(self) -> Place:
        return self.operand.place

    @property
    def row(self) -> Expression:
        """The formula for the first row that is read for output row `y`."""
        return plus(times(Y, self.operand.step), self.operand.start)


@dataclass(frozen=True)
class Count:
    """The C expressions for an instruction's counter, and for the row `y` that follows from it."""

    counter: Expression
    y: Expression

    def before(self, body: Sequence[Statement]) -> list[Statement]:
        """The body, after assignments to `y`, and to `n` if the body or `y` uses it."""
        if uses(body, N) or (self.y != N and uses(self.y, N)):
            return [assign(N, self.counter), assign(Y, self.y), *body]
        if self.y == N:
            return [assign(Y, self.counter), *body]
        return [*([] if self.counter == 0 else [self.counter]), assign(Y, self.y), *body]


@dataclass(frozen=True)
class CStep:
    """An instruction of a program that is printed, with its number in the program."""

    context: Context
    number: int
    instruction: Instruction

    @property
    def sources(self) -> list[KernelInput]:
        i = self.instruction
        return [KernelInput(o, p) for o, p in zip(i.operands, i.called.entry.operands, strict=True)]

    @property
    def parameters(self) -> str:
        """The name of the parameter struct of its kernel."""
        return f"{self.context.prefix}_step_{self.number}"

    def hint(self, name: str) -> str:
        """The name of a constant of this instruction, without the model's name."""
        return f"{self.context.hint}{self.number}_{name}"

    def params(self, suffix: str = "") -> Expression:
        """The C expression for the address of the parameters that its kernel is called with."""
        kernel = self.instruction.kernel
        if kernel is not None and (kernel.sealed is not None or self.context.options.flash_apart):
            return f"&{OPENED}"
        return f"&{self.parameters}{suffix}"

    @property
    def nth(self) -> Expression:
        """The C expression for the index of row `y` among the rows that are computed."""
        i = self.instruction
        return N if i.group == 1 else plus(Y, -min(i.begins))

    def element(self, name: str, at: Expression, values: Sequence[int]) -> Expression:
        """The C expression for an element of a table with the contents `values`; the table is added to those of the
        program."""
        table = f"{self.context.prefix}_{name}"
        self.context.tables.lists[table] = values
        return element_of(self.context.options, table, at, values)

    def row_read(self, source: KernelInput, at: Expression, suffix: str) -> Expression:
        """The C expression for an element of an operand's list of rows to read; for rows that are computed in groups
        the list begins with the first row of the first group."""
        i, operand = self.instruction, source.operand
        first = 0 if i.group == 1 else min(i.begins)
        return self.element(f"reads_{self.number}{suffix}", at, operand.listed[first * operand.taps :])

    @property
    def count(self) -> Count:
        """The counter of the instruction: it runs once for each value of `y`."""
        i, context = self.instruction, self.context
        if i.counter is None:
            return Count(0, i.first)
        y = plus(times(N, i.step), i.first)
        if i.listed:
            y = self.element(f"y_{self.number}", N, i.listed)
        counters = f"{context.variable('state')}.next" if context.body is None else "next"
        return Count(Template("{}++", (index(counters, i.counter),)), y)
