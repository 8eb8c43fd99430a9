"""The order of vector instructions, and the registers that they take.

A vector instruction takes two beats, the second of which overlaps with the first of one for another pipeline: memory,
multiplications, or the rest. So an order is best where no two neighbours are for the same one: orders are made longer
by one instruction at a time, and only the best of each length are kept (beam search). Values have names, and each is
computed once; a register is free again behind the last instruction that reads its value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

Pipe = Literal["memory", "multiply", "rest"]
PIPES: tuple[Pipe, ...] = ("memory", "multiply", "rest")
WORK, FEWEST, MOST = 2400, 6, 24
"""Orders of all lengths that are made longer, and of those of one length at least and at most."""
AHEAD = 20
"""Instructions among which the next one is looked for."""
LATENCY = 2
"""Instructions between one and another that needs its result, where there are others."""
CYCLE, SOON = 8, 1
"""Prices of a cycle, and of a result that is needed sooner than that."""


@dataclass(frozen=True)
class VectorInstruction:
    """An instruction: in its text {d} is the register of its result, {0} and so on are those of what it reads."""

    text: str
    pipe: Pipe
    reads: tuple[str, ...] = ()
    result: str = ""
    after: tuple[int, ...] = ()
    """Instructions, by number, that come before it for another reason: stores to memory that it loads from."""
    adds: bool = False
    """The result is computed in the register of what it reads first, and nothing else reads that."""


class _Order(NamedTuple):
    """The beginning of an order; which instructions it has are bits of a mask."""

    price: int
    """Cycles, those that are to come at least included, and results that are needed soon."""
    spent: int
    """Cycles without those that are to come."""
    done: int
    live: int
    """Registers that hold what instructions read that are to come."""
    left: tuple[int, int, int]
    """Instructions of each pipeline that are to come."""
    pipe: Pipe | None
    recent: tuple[int, ...]
    before: _Order | None
    last: int


@dataclass(frozen=True)
class _Search:
    instructions: tuple[VectorInstruction, ...]
    registers: int

    @cached_property
    def makers(self) -> dict[str, int]:
        return {one.result: n for n, one in enumerate(self.instructions) if one.result}

    @cached_property
    def needs(self) -> list[frozenset[int]]:
        """The instructions that each one reads the results of."""
        return [frozenset(self.makers[name] for name in one.reads) for one in self.instructions]

    @cached_property
    def earlier(self) -> list[int]:
        """The instructions that come before each one, as a mask."""
        each = zip(self.instructions, self.needs, strict=True)
        return [sum(1 << n for n in {*one.after, *needs}) for one, needs in each]

    @cached_property
    def readers(self) -> list[int]:
        """The instructions that read the result of each one, as a mask."""
        masks = [0] * len(self.instructions)
        for n, needs in enumerate(self.needs):
            for maker in needs:
                masks[maker] |= 1 << n
        return masks

    def best(self) -> _Order | None:
        count = len(self.instructions)
        keep = min(max(WORK // max(count, 1), FEWEST), MOST)
        pipes = [one.pipe for one in self.instructions]
        memory, multiply, rest = (pipes.count(pipe) for pipe in PIPES)
        orders = [_Order(0, 0, 0, 0, (memory, multiply, rest), None, (), None, -1)]
        for _ in range(count):
            longer: dict[tuple[int, Pipe | None], _Order] = {}
            for order in orders:
                for n in self._ready(order):
                    one = self._with(order, n)
                    key = (one.done, one.pipe)
                    if one.live <= self.registers and (key not in longer or one.price < longer[key].price):
                        longer[key] = one
            orders = sorted(longer.values(), key=lambda order: (order.price, order.live))[:keep]
        return orders[0] if orders else None

    def _ready(self, order: _Order) -> Iterator[int]:
        """The first instructions whose operands are there, few of each pipeline."""
        left = ~order.done
        few = Counter[Pipe]()
        for _ in range(AHEAD):
            n = (left & -left).bit_length() - 1
            if n >= len(self.instructions):
                return
            left &= left - 1
            pipe = self.instructions[n].pipe
            if not self.earlier[n] & ~order.done and few[pipe] < 2:
                few[pipe] += 1
                yield n

    def _with(self, order: _Order, n: int) -> _Order:
        one = self.instructions[n]
        done = order.done | 1 << n
        freed = sum(not self.readers[maker] & ~done for maker in self.needs[n])
        live = order.live - freed + bool(one.result)
        soon = sum(recent in self.needs[n] for recent in order.recent)
        spent = order.spent + CYCLE * (2 if order.pipe in (None, one.pipe) else 1) + SOON * soon
        memory, multiply, rest = (count - (one.pipe == pipe) for count, pipe in zip(order.left, PIPES, strict=True))
        own = {"memory": memory, "multiply": multiply, "rest": rest}[one.pipe]
        price = spent + CYCLE * max(memory + multiply + rest, 2 * max(memory, multiply, rest) - 1, 2 * own)
        recent = (*order.recent, n)[-LATENCY:]
        return _Order(price, spent, done, live, (memory, multiply, rest), one.pipe, recent, order, n)


def ordered(instructions: Sequence[VectorInstruction], registers: Sequence[str]) -> list[str]:
    """The instructions in an order in which their operands are there, with registers."""
    search = _Search(tuple(instructions), len(registers))
    order = search.best()
    assert order is not None, "too few registers"
    numbers: list[int] = []
    while order.before is not None:
        numbers.append(order.last)
        order = order.before
    return list(_lines(search, numbers[::-1], list(registers)))


def _lines(search: _Search, numbers: Sequence[int], free: list[str]) -> Iterator[str]:
    held: dict[str, str] = {}
    done = 0
    for n in numbers:
        one = search.instructions[n]
        done |= 1 << n
        read = [held[name] for name in one.reads]
        for name in dict.fromkeys(one.reads):
            if not search.readers[search.makers[name]] & ~done:
                free.append(held.pop(name))
        if one.result:
            register = read[0] if one.adds else free[0]
            free.remove(register)
            held[one.result] = register
            yield one.text.format(*read, d=register)
        else:
            yield one.text.format(*read)
