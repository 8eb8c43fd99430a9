"""Schedules loads and products, interleaved with the requantization of earlier sums.

The search is that of `mote.compiler.kernels.helium.ordering`. Loaded values have names until their last use; a register
is allocated when they are loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from mote.compiler.kernels.helium.ordering import CYCLE, LATENCY, PIPES, SOON, Pipe

WORK = 1000
"""Beam search: number of partial schedules that are extended over all lengths together (WORK), and at least for each
length (FEWEST)."""
FEWEST = 3


@dataclass(frozen=True)
class Load:
    name: str
    place: str
    op: str = "vldrw.u32"


@dataclass(frozen=True)
class Product:
    """A product of two vectors (registers, or names of loaded values) that is accumulated in a core register."""

    op: str
    sum: str
    inputs: tuple[str, str]


@dataclass(frozen=True)
class Finish:
    """A requantization step; `sums`: core registers of the sums that it reads."""

    text: str
    pipe: Pipe
    reads: tuple[str, ...] = ()
    writes: str = ""
    sums: tuple[str, ...] = ()


class _Order(NamedTuple):
    """A partial schedule: number of loads, bit mask of products, and number of requantization steps that it
    contains."""

    price: int
    """Estimated total: cycles so far, a lower bound of those that remain, and penalties for results that are used too
    soon."""
    spent: int
    """Cycles and penalties so far."""
    loads: int
    products: int
    steps: int
    live: int
    """Registers with values that remaining products read."""
    pipe: Pipe | None
    recent: tuple[int, ...]
    """The last instructions: loads by their index, requantization steps by -1 - index, products by index + 65536."""
    before: _Order | None
    """The schedule without its last instruction, and that instruction."""
    last: Load | Product | Finish | None


class _Layer(NamedTuple):
    loads: tuple[Load, ...]
    products: tuple[Product, ...]
    finish: tuple[Finish, ...]


@dataclass(frozen=True)
class _Search:
    work: _Layer
    registers: int

    @cached_property
    def needs(self) -> list[list[int]]:
        """Indices of the loads that each product reads."""
        number = {load.name: n for n, load in enumerate(self.work.loads)}
        return [[number[name] for name in product.inputs if name in number] for product in self.work.products]

    @cached_property
    def users(self) -> list[int]:
        """For each load, a bit mask of the products that read it."""
        return [sum(1 << n for n, needs in enumerate(self.needs) if k in needs) for k in range(len(self.work.loads))]

    @cached_property
    def earlier(self) -> list[int]:
        """For each product, a bit mask with the previous product that accumulates in the same register."""
        last: dict[str, int] = {}
        masks = []
        for n, product in enumerate(self.work.products):
            masks.append(last.get(product.sum, 0))
            last[product.sum] = 1 << n
        return masks

    @cached_property
    def steps_before(self) -> list[int]:
        """For each product, the number of requantization steps that must come first because they read its register."""
        steps = self.work.finish
        return [
            max((n + 1 for n, step in enumerate(steps) if product.sum in step.sums), default=0)
            for product in self.work.products
        ]

    @cached_property
    def waits(self) -> list[frozenset[int]]:
        """For each requantization step, the earlier steps whose results it reads, numbered as in `_Order.recent`."""
        last: dict[str, int] = {}
        needed = []
        for n, step in enumerate(self.work.finish):
            needed.append(frozenset(last[register] for register in step.reads if register in last))
            last[step.writes] = -1 - n
        return needed

    @cached_property
    def steps_left(self) -> list[tuple[int, ...]]:
        """Remaining requantization steps for each pipeline, from each step on."""
        pipes = [step.pipe for step in self.work.finish]
        return [tuple(pipes[n:].count(pipe) for pipe in PIPES) for n in range(len(pipes) + 1)]

    def best(self) -> _Order | None:
        count = sum(map(len, self.work))
        keep = max(WORK // max(count, 1), FEWEST)
        orders = [_Order(0, 0, 0, 0, 0, 0, None, (), None, None)]
        for _ in range(count):
            longer: dict[tuple[int, int, int, Pipe | None], _Order] = {}
            for order in orders:
                for one in self._longer(order):
                    key = (one.loads, one.products, one.steps, one.pipe)
                    if key not in longer or one.price < longer[key].price:
                        longer[key] = one
            orders = sorted(longer.values(), key=lambda order: order.price)[:keep]
        return orders[0] if orders else None

    def _longer(self, order: _Order) -> Iterator[_Order]:
        """All extensions of the schedule by one instruction."""
        if order.loads < len(self.work.loads) and order.live < self.registers:
            more = order._replace(loads=order.loads + 1, live=order.live + 1)
            yield self._with(more, self.work.loads[order.loads], "memory", (), (order.loads,))
        if order.steps < len(self.work.finish):
            step = self.work.finish[order.steps]
            more = order._replace(steps=order.steps + 1)
            yield self._with(more, step, step.pipe, self.waits[order.steps], (-1 - order.steps,))
        for n in self._ready(order):
            products = order.products | 1 << n
            freed = sum(not self.users[load] & ~products for load in self.needs[n])
            more = order._replace(products=products, live=order.live - freed)
            yield self._with(more, self.work.products[n], "multiply", self.needs[n], (n + (1 << 16),))

    def _ready(self, order: _Order) -> Iterator[int]:
        """The first two products whose inputs are loaded and whose sum's register is free or already accumulating."""
        at = ready = 0
        left = ~order.products
        while ready < 2:
            left &= -1 << at
            n = (left & -left).bit_length() - 1
            if n >= len(self.work.products):
                return
            at = n + 1
            begun = self.earlier[n] & ~order.products == 0 and self.steps_before[n] <= order.steps
            if begun and all(load < order.loads for load in self.needs[n]):
                ready += 1
                yield n

    def _with(
        self,
        order: _Order,
        instruction: Load | Product | Finish,
        pipe: Pipe,
        needs: Sequence[int] | frozenset[int],
        name: tuple[int],
    ) -> _Order:
        """The partial schedule with the cycles of its last instruction added; `order` already counts that instruction
        itself."""
        soon = sum(recent in needs for recent in order.recent)
        spent = order.spent + CYCLE * (2 if order.pipe in (None, pipe) else 1) + SOON * soon
        memory, multiply, rest = self.steps_left[order.steps]
        memory += len(self.work.loads) - order.loads
        multiply += len(self.work.products) - order.products.bit_count()
        most = (2 * memory - (pipe != "memory"), 2 * multiply - (pipe != "multiply"), 2 * rest - (pipe != "rest"))
        price = spent + CYCLE * max(memory + multiply + rest, *most)
        recent = (*order.recent, *name)[-LATENCY:]
        return order._replace(price=price, spent=spent, pipe=pipe, recent=recent, before=order, last=instruction)


def scheduled(steps: Sequence[Load | Product], registers: Sequence[str], finish: Sequence[Finish] = ()) -> list[str]:
    """Schedule the instructions. Preserved are the order of loads, of products into the same register, and of the
    requantization steps `finish` for earlier sums, which precede products in the same registers."""
    loads = tuple(step for step in steps if isinstance(step, Load))
    products = tuple(step for step in steps if isinstance(step, Product))
    return list(_scheduled(_Layer(loads, products, tuple(finish)), tuple(registers)))


@lru_cache(maxsize=256)
def _scheduled(work: _Layer, registers: tuple[str, ...]) -> tuple[str, ...]:
    order = _Search(work, len(registers)).best()
    assert order is not None, "too few registers"
    instructions: list[Load | Product | Finish] = []
    while order.last is not None:
        instructions.append(order.last)
        assert order.before is not None
        order = order.before
    return tuple(_lines(instructions[::-1], list(registers)))


def _lines(instructions: Sequence[Load | Product | Finish], free: list[str]) -> Iterator[str]:
    uses = Counter(name for step in instructions if isinstance(step, Product) for name in step.inputs)
    held: dict[str, str] = {}
    for step in instructions:
        if isinstance(step, Load):
            held[step.name] = free.pop(0)
            yield f"{step.op} {held[step.name]}, {step.place}"
        elif isinstance(step, Product):
            yield f"{step.op} {step.sum}, {', '.join(held.get(name, name) for name in step.inputs)}"
            for name in step.inputs:
                uses[name] -= 1
                if not uses[name] and name in held:
                    free.append(held[name])
        else:
            yield step.text
