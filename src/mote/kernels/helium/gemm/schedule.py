"""The order of loads and products: a vector instruction takes two beats, the second of which overlaps with the first of
one of another kind, so that loads are best spread between products.

What is loaded has a name until it is used for the last time; a register is found for it when it is loaded.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass


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


def scheduled(steps: Sequence[Load | Product], registers: Sequence[str]) -> list[str]:
    """The instructions, with loads in their order, and with products of one sum in theirs."""
    loads = deque(step for step in steps if isinstance(step, Load))
    products = [step for step in steps if isinstance(step, Product)]
    names = {load.name for load in loads}
    uses = Counter(name for product in products for name in product.inputs)
    free, held = list(registers), dict[str, str]()
    lines: list[str] = []
    loaded = False
    while loads or products:
        ready = _ready(products, names - held.keys())
        loaded = bool(loads and free and (ready is None or not loaded))
        if loaded:
            load = loads.popleft()
            held[load.name] = free.pop(0)
            lines.append(f"vldrw.u32 {held[load.name]}, {load.place}")
            continue
        assert ready is not None, "too few registers"
        products.remove(ready)
        inputs = ", ".join(held.get(name, name) for name in ready.inputs)
        lines.append(f"{ready.op} {ready.sum}, {inputs}")
        for name in ready.inputs:
            uses[name] -= 1
            if not uses[name] and name in held:
                free.append(held[name])
    return lines


def _ready(products: Sequence[Product], missing: set[str]) -> Product | None:
    """The first product whose inputs are there, and whose sum no earlier one adds to."""
    sums: set[str] = set()
    for product in products:
        if product.sum not in sums and not missing.intersection(product.inputs):
            return product
        sums.add(product.sum)
    return None
