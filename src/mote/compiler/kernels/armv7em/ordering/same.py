"""Checks by symbolic execution that two blocks of assembly are equivalent.

A value is a symbol plus a constant. The result of a load depends on its address and on the earlier stores that may
overlap it, and so does what a store leaves in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mote.compiler.kernels.armv7em.ordering.blocks import Registers, halves
from mote.compiler.kernels.armv7em.ordering.text import FLAGS, Operation, is_register

Symbol = tuple[int, int]
"""Index of an expression, and the constant that is added to it."""
Address = tuple[Symbol, int]
"""Start address of an access, and its size in bytes."""


class _Names:
    """Numbering of expressions: equal expressions get equal numbers."""

    def __init__(self, frame: Registers) -> None:
        self._numbers: dict[object, int] = {}
        self.stack = self.of("at first", "sp")
        self.frame = {self.stack, *(self.of("at first", register) for register in frame)}

    def of(self, *expression: object) -> int:
        return self._numbers.setdefault(expression, len(self._numbers))

    def derived(self, *expression: object, sources: Sequence[Symbol] = ()) -> Symbol:
        """The symbol of an expression; one derived from a stack address may itself be a stack address."""
        number = self.of(*expression)
        if any(symbol in self.frame for symbol, _ in sources):
            self.frame.add(number)
        return number, 0

    def apart(self, a: Address, b: Address) -> bool:
        """Whether two accesses certainly do not overlap."""
        (one, at), (other, there) = a[0], b[0]
        if one == other:
            return at + a[1] <= there or there + b[1] <= at
        return self.stack in (one, other) and not {one, other} <= self.frame


class _Machine:
    def __init__(self, names: _Names) -> None:
        self.names = names
        self.registers: dict[str, Symbol] = {}
        self.stores: list[tuple[Address, int]] = []
        """Each store's address, and the number of the expression of its value and of earlier overlapping stores."""

    def get(self, register: str) -> Symbol:
        if register not in self.registers:
            self.registers[register] = (self.names.of("at first", register), 0)
        return self.registers[register]

    def run(self, o: Operation) -> None:
        if o.memory:
            self._access(o)
            return
        step = self._step(o)
        if step is not None:
            self.registers[o.operands[0]] = step
            return
        sources = [self.get(r) for i in o.sources for r in halves(o.operands[i])]
        immediates = tuple(x for x in o.operands[1 if o.writes else 0 :] if not is_register(x))
        result = self.names.derived(o.name, tuple(sources), immediates, sources=sources)
        if o.writes:
            for n, r in enumerate(halves(o.operands[0])):
                self.registers[r] = result if n == 0 else self.names.derived("half", result)
        if o.flags:
            self.registers[FLAGS] = self.names.derived("flags", result)

    def _step(self, o: Operation) -> Symbol | None:
        """The result of adding a constant to a register; None: not such an operation."""
        if o.flags or len(o.operands) != 3 or not o.operands[2].startswith("#") or not is_register(o.operands[1]):
            return None
        sign = {"add": 1, "addw": 1, "sub": -1, "subw": -1}.get(o.name, 0)
        symbol, more = self.get(o.operands[1])
        return (symbol, more + sign * int(o.operands[2][1:])) if sign else None

    def _access(self, o: Operation) -> None:
        symbol, more = self.get(o.base)
        moved = (symbol, more + o.update)
        at = moved if o.first else (symbol, more + o.offset)
        if o.index:
            at = self.names.derived("indexed", at, self.get(o.index), o.scale, sources=[at])
        place = (at, o.size)
        before = frozenset(number for other, number in self.stores if not self.names.apart(place, other))
        if o.writes:
            for n, r in enumerate(halves(o.operands[0])):
                self.registers[r] = self.names.derived("load", o.name, place, before, n)
        else:
            values = tuple(self.get(r) for r in halves(o.operands[0]))
            self.stores.append((place, self.names.of("store", o.name, place, values, before)))
        if o.update:
            self.registers[o.base] = moved


def same(before: Sequence[Operation], after: Sequence[Operation], needed: Registers, frame: Registers) -> bool:
    """Whether two blocks leave equal values in memory and in the `needed` registers; `frame`: registers that may point
    to the stack."""
    names = _Names(frame)
    machines = _Machine(names), _Machine(names)
    for machine, operations in zip(machines, (before, after), strict=True):
        for operation in operations:
            machine.run(operation)
    one, other = machines
    equal = all(one.get(register) == other.get(register) for register in needed)
    return equal and Counter(number for _, number in one.stores) == Counter(number for _, number in other.stores)
