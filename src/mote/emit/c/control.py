"""Control flow in C: a function for each body, and the statements that choose between bodies or repeat one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mote.emit.c.arenas import Given, lent_places
from mote.emit.c.c import Compound, Expression, Formula, Statement, call, loop, when
from mote.graph import Graph
from mote.ops.control.control_flow import Control, If, While
from mote.plan.control import outside
from mote.plan.plan import Bodied, Copy, Plan

Address = Callable[[int], Expression]
"""Where a tensor lies."""


@dataclass(frozen=True)
class Body:
    """A body of an operator, with the name of its function."""

    op: Control
    plan: Plan
    copies: tuple[Copy, ...]
    number: int
    name: str

    @property
    def is_condition(self) -> bool:
        return isinstance(self.op, While) and self.number < len(self.op.bodies) - 1

    @property
    def written(self) -> tuple[int, ...]:
        """The tensors in memory that it is lent that it writes to: states, outputs of a branch, and what goes round in
        a loop."""
        graph = self.plan.graph
        kept = tuple(s.before for s in graph.states)
        if isinstance(self.op, If):
            return (*kept, *(t for t in self.plan.goal.lent if t not in graph.inputs))
        return kept if self.is_condition else (*kept, *graph.inputs[: len(self.op.made)])

    @property
    def lent(self) -> list[Given]:
        """The pointers that it takes: its arena, what it is lent, and where outputs are copied to that are not."""
        return [*lent_places(self.plan, self.written).values(), *(self._target(c) for c in self._copied_out)]

    @property
    def _copied_out(self) -> list[Copy]:
        return list(self.copies) if isinstance(self.op, If) else []

    def _target(self, copy: Copy) -> Given:
        """Where an output is copied to: in a loop, over the input of the next turn."""
        nbytes = self.plan.graph.tensors[copy.tensor].nbytes
        if isinstance(self.op, If):
            return Given(nbytes, None, f"output_{copy.output}")
        place = self.plan.place[self.plan.graph.inputs[copy.output]]
        return Given(nbytes, None, f"{lent_places(self.plan, self.written)[place.memory].pointer}")

    @property
    def signature(self) -> str:
        result = "int" if self.is_condition else "void"
        taken = ",\n    ".join(given.declaration for given in self.lent)
        return f"static {result} {self.name}(\n    {taken})"

    def end(self, address: Address, arena: Given) -> list[Statement]:
        """What is done when the steps have run: outputs are copied, those first out of the way that lie where others
        are copied to; a condition returns its result."""
        graph = self.plan.graph
        if self.is_condition:
            return [Formula("return *(const uint8_t *){} != 0", (address(graph.outputs[0]),))]
        moved = [c for c in self.copies if c.by_way is not None]
        first = [_copy(arena.address(c.by_way or 0), address(c.tensor), graph, c) for c in moved]
        then = [
            _copy(self._target(c).pointer, address(c.tensor) if c.by_way is None else arena.address(c.by_way), graph, c)
            for c in self.copies
        ]
        return [*first, *then]

    def call(self, address: Address, scratch: Expression) -> Expression:
        """The call of its function, between tensors of the graph around it."""
        op, outer = self.op, outside(self.op, self.plan, self.number)
        copied = [op.made[c.output] for c in self._copied_out]
        return call(self.name, scratch, *(address(outer[t]) for t in self.plan.goal.lent), *map(address, copied))


def bodies(op: Control, kernel: Bodied, prefix: str) -> list[Body]:
    """The bodies of an operator."""
    names = ("then", "else") if isinstance(op, If) else ("condition", "body")[-len(op.bodies) :]
    parts = zip(kernel.plans, kernel.copies, names, strict=True)
    return [Body(op, plan, copies, i, f"{prefix}_{name}") for i, (plan, copies, name) in enumerate(parts)]


def statements(
    op: Control, graph: Graph, own: Sequence[Body], address: Address, scratch: Expression
) -> list[Statement]:
    """What the operator does: one of its bodies, or one again and again over what it began with."""
    calls = [body.call(address, scratch) for body in own]
    if isinstance(op, If):
        condition = Formula("*(const uint8_t *){} != 0", (address(op.inputs[0]),))
        return [when(condition, calls[0]), Compound("else", [calls[1]])]
    assert isinstance(op, While)
    begin: list[Statement] = [
        call("memcpy", address(out), address(given), graph.tensors[out].nbytes)
        for given, out in zip(op.given, op.made, strict=False)
        if address(given) != address(out)
    ]
    if op.trips is None:
        return [*begin, Compound(Formula("while ({})", (calls[0],)), calls[1:])]
    return [*begin, loop("uint32_t", "turn", op.trips, calls[-1])]


def _copy(target: Expression, source: Expression, graph: Graph, copy: Copy) -> Expression:
    return call("memcpy", target, source, graph.tensors[copy.tensor].nbytes)
