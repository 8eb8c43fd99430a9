"""The order of loads, products and what turns the sums before them into bytes.

A vector instruction takes two beats, the second of which overlaps with the first of one for another pipeline: memory,
multiplications, or the rest. Multiplications take most of the time, so that one of the others belongs between any two.

What is loaded has a name until it is used for the last time; a register is found for it when it is loaded.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Pipe = Literal["memory", "multiply", "rest"]
AHEAD = (3, 2, 1)
"""Products that are kept ready, more or fewer of them: the best order is taken."""
LATENCY = (2, 1)
"""Instructions between one and another that needs its result, where there are others."""


@dataclass(frozen=True)
class Load:
    name: str
    place: str


@dataclass(frozen=True)
class Product:
    """Of two vectors, which are registers or names of what is loaded, with a sum in a core register."""

    op: str
    sum: str
    inputs: tuple[str, str]


@dataclass(frozen=True)
class Finish:
    """A step from sums to bytes; `sums`: the core registers that it takes sums from."""

    text: str
    pipe: Pipe
    reads: tuple[str, ...] = ()
    writes: str = ""
    sums: tuple[str, ...] = ()


@dataclass
class _Schedule:
    loads: deque[Load]
    products: list[Product]
    finish: deque[Finish]
    free: list[str]
    ahead: int
    latency: int
    held: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    cycles: int = 0
    pipe: Pipe | None = None
    written: dict[str, int] = field(default_factory=dict)
    """When a register of those that finish sums was written."""

    def __post_init__(self) -> None:
        self.names = {load.name for load in self.loads}
        self.uses = Counter(name for product in self.products for name in product.inputs)

    def ready(self) -> list[Product]:
        """The products whose inputs are there, whose sum no earlier one adds to, and none waits for to be taken."""
        taken = {register for step in self.finish for register in step.sums}
        missing = self.names - self.held.keys()
        ready: list[Product] = []
        for product in self.products:
            if product.sum not in taken and not missing.intersection(product.inputs):
                ready.append(product)
                if len(ready) == self.ahead:
                    break
            taken.add(product.sum)
        return ready

    def finishes(self) -> bool:
        """Whether the next step of the sums has what it needs."""
        if not self.finish:
            return False
        now = len(self.lines)
        return all(
            now - self.written.get(register, -self.latency - 1) > self.latency for register in self.finish[0].reads
        )

    def load(self) -> None:
        load = self.loads.popleft()
        self.held[load.name] = self.free.pop(0)
        self._emit(f"vldrw.u32 {self.held[load.name]}, {load.place}", "memory")

    def product(self, product: Product) -> None:
        self.products.remove(product)
        inputs = ", ".join(self.held.get(name, name) for name in product.inputs)
        self._emit(f"{product.op} {product.sum}, {inputs}", "multiply")
        for name in product.inputs:
            self.uses[name] -= 1
            if not self.uses[name] and name in self.held:
                self.free.append(self.held[name])

    def step(self) -> None:
        step = self.finish.popleft()
        self.written[step.writes] = len(self.lines)
        self._emit(step.text, step.pipe)

    def _emit(self, text: str, pipe: Pipe) -> None:
        self.lines.append(text)
        self.cycles += 2 if self.pipe in (None, pipe) else 1
        self.pipe = pipe

    def crowded(self) -> bool:
        """Whether there is more to do than fits between multiplications one by one."""
        multiplications = len(self.products) + sum(step.pipe == "multiply" for step in self.finish)
        return len(self.loads) + len(self.finish) > 2 * multiplications

    def next(self) -> None:
        ready, loads = self.ready(), bool(self.loads and self.free and self.pipe != "memory")
        finishes = self.finishes() and self.finish[0].pipe != self.pipe
        if finishes and (self.finish[0].pipe == "multiply" or (self.pipe == "memory" and self.crowded())):
            self.step()
        elif ready and self.pipe != "multiply":
            self.product(ready[0])
        elif loads and (len(ready) < self.ahead or not finishes):
            self.load()
        elif finishes:
            self.step()
        elif ready:
            self.product(ready[0])
        elif self.loads and self.free:
            self.load()
        else:
            assert self.finish, "too few registers"
            self.step()


def scheduled(steps: Sequence[Load | Product], registers: Sequence[str], finish: Sequence[Finish] = ()) -> list[str]:
    """The instructions, with loads in their order, with products of one sum in theirs, and with the steps of sums that
    were there before in theirs, which come before products in the same registers; of some orders the quickest."""
    loads = [step for step in steps if isinstance(step, Load)]
    products = [step for step in steps if isinstance(step, Product)]
    tried = []
    for latency in LATENCY:
        for ahead in AHEAD:
            schedule = _Schedule(deque(loads), list(products), deque(finish), list(registers), ahead, latency)
            while schedule.loads or schedule.products or schedule.finish:
                schedule.next()
            tried.append(schedule)
    return min(tried, key=lambda schedule: schedule.cycles).lines
