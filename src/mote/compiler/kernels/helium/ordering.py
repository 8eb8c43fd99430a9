"""The list scheduler of vector instructions: beam search with register allocation.

A vector instruction takes two beats, the second of which overlaps with the first beat of an instruction for another
pipeline: memory, multiplications, or all others. So no two adjacent instructions should use the same pipeline. Partial
schedules are extended by one instruction at a time, and only the best of each length are kept. Values are named and
computed once; a register is free after the last instruction that reads its value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Literal, NamedTuple

Pipe = Literal["memory", "multiply", "rest"]
PIPES: tuple[Pipe, ...] = ("memory", "multiply", "rest")
AHEAD = 20
"""Instructions, in source order, that are considered as the next one."""
LATENCY = 2
"""Instructions that should separate a result from its use."""
CYCLE, SOON = 8, 1
"""Costs of a cycle, and of a result that is used sooner than LATENCY."""


@dataclass(frozen=True)
class VectorInstruction:
    """An instruction; in its text {d} stands for the register of its result, {0}, {1}, .. for those of the values that
    it reads."""

    text: str
    pipe: Pipe
    reads: tuple[str, ...] = ()
    result: str = ""
    after: tuple[int, ...] = ()
    """Indices of instructions that must precede it for reasons other than values: stores to memory that it loads
    from."""
    adds: bool = False
    """Whether the result replaces the first value that it reads (accumulation), which nothing else reads."""
    late: tuple[int, ...] = ()
    """Indices of instructions whose results it reads in registers that are not allocated here."""


@dataclass(frozen=True)
class Beam:
    """Which partial schedules are extended: how many (`work` in the whole search, and at least `fewest` and at most
    `most` for each number of instructions scheduled), and by which instructions."""

    work: int = 2400
    fewest: int = 6
    most: int = 24
    lean: bool = True
    """Whether of equally good schedules those are kept that need fewer registers."""
    lanes: tuple[tuple[int, int], ...] = ()
    """Bit masks of instructions, and how many available ones of each are candidates for the next. Without lanes the
    first instructions are candidates, at most two for each pipeline."""

    def width(self, count: int) -> int:
        return min(max(self.work // max(count, 1), self.fewest), self.most)


class _Order(NamedTuple):
    """A partial schedule; `done`: bit mask of its instructions."""

    price: int
    """Estimated total: cycles so far, a lower bound of those that remain, and penalties for results that are used too
    soon."""
    spent: int
    """Cycles and penalties so far."""
    done: int
    live: int
    """Registers with values that remaining instructions read."""
    left: tuple[int, int, int]
    """Remaining instructions for each pipeline."""
    pipe: Pipe | None
    recent: tuple[int, ...]
    before: _Order | None
    last: int


@dataclass(frozen=True)
class _Search:
    instructions: tuple[VectorInstruction, ...]
    registers: int
    beam: Beam

    @cached_property
    def makers(self) -> dict[str, int]:
        return {one.result: n for n, one in enumerate(self.instructions) if one.result}

    @cached_property
    def needs(self) -> list[frozenset[int]]:
        """For each instruction, the indices of those whose results it reads in allocated registers."""
        return [frozenset(self.makers[name] for name in one.reads) for one in self.instructions]

    @cached_property
    def waits(self) -> list[frozenset[int]]:
        """For each instruction, the indices of those whose results it reads."""
        return [needs.union(one.late) for one, needs in zip(self.instructions, self.needs, strict=True)]

    @cached_property
    def earlier(self) -> list[int]:
        """For each instruction, a bit mask of those that must precede it."""
        each = zip(self.instructions, self.needs, strict=True)
        return [sum(1 << n for n in {*one.after, *needs}) for one, needs in each]

    @cached_property
    def readers(self) -> list[int]:
        """For each instruction, a bit mask of those that read its result."""
        masks = [0] * len(self.instructions)
        for n, needs in enumerate(self.needs):
            for maker in needs:
                masks[maker] |= 1 << n
        return masks

    def best(self) -> _Order | None:
        count = len(self.instructions)
        keep = self.beam.width(count)
        rank = attrgetter("price", "live") if self.beam.lean else attrgetter("price")
        candidates = self._in_lanes if self.beam.lanes else self._first
        pipes = [one.pipe for one in self.instructions]
        memory, multiply, rest = (pipes.count(pipe) for pipe in PIPES)
        orders = [_Order(0, 0, 0, 0, (memory, multiply, rest), None, (), None, -1)]
        for _ in range(count):
            longer: dict[tuple[int, Pipe | None], _Order] = {}
            for order in orders:
                for n in candidates(order):
                    one = self._with(order, n)
                    key = (one.done, one.pipe)
                    if one.live <= self.registers and (key not in longer or one.price < longer[key].price):
                        longer[key] = one
            orders = sorted(longer.values(), key=rank)[:keep]
        return orders[0] if orders else None

    def _first(self, order: _Order) -> Iterator[int]:
        """The first instructions whose operands are available, at most two for each pipeline."""
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

    def _in_lanes(self, order: _Order) -> Iterator[int]:
        """The first available instructions of each lane."""
        for lane, most in self.beam.lanes:
            left = lane & ~order.done
            while left and most:
                n = (left & -left).bit_length() - 1
                left &= left - 1
                if not self.earlier[n] & ~order.done:
                    most -= 1
                    yield n

    def _with(self, order: _Order, n: int) -> _Order:
        one = self.instructions[n]
        done = order.done | 1 << n
        freed = sum(not self.readers[maker] & ~done for maker in self.needs[n])
        live = order.live - freed + bool(one.result)
        soon = sum(recent in self.waits[n] for recent in order.recent)
        spent = order.spent + CYCLE * (2 if order.pipe in (None, one.pipe) else 1) + SOON * soon
        memory, multiply, rest = (count - (one.pipe == pipe) for count, pipe in zip(order.left, PIPES, strict=True))
        own = {"memory": memory, "multiply": multiply, "rest": rest}[one.pipe]
        price = spent + CYCLE * max(memory + multiply + rest, 2 * max(memory, multiply, rest) - 1, 2 * own)
        recent = (*order.recent, n)[-LATENCY:]
        return _Order(price, spent, done, live, (memory, multiply, rest), one.pipe, recent, order, n)


def ordered(instructions: Sequence[VectorInstruction], registers: Sequence[str], beam: Beam | None = None) -> list[str]:
    """Schedule the instructions and allocate registers for their values."""
    search = _Search(tuple(instructions), len(registers), beam or Beam())
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
