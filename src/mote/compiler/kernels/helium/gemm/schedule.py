"""Schedules loads and products, interleaved with the requantization of earlier sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from mote.compiler.kernels.helium.ordering import Beam, Pipe, VectorInstruction, ordered

WORK, FEWEST = 1000, 3
"""Beam width of the search: partial schedules that are extended, in the whole search and for each length."""


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


def scheduled(steps: Sequence[Load | Product], registers: Sequence[str], finish: Sequence[Finish] = ()) -> list[str]:
    """Schedule the instructions. Preserved are the order of loads, of products into the same register, and of the
    requantization steps `finish` for earlier sums, which precede products in the same registers."""
    loads = tuple(step for step in steps if isinstance(step, Load))
    products = tuple(step for step in steps if isinstance(step, Product))
    return list(_scheduled(loads, tuple(finish), products, tuple(registers)))


@lru_cache(maxsize=256)
def _scheduled(
    loads: tuple[Load, ...], finish: tuple[Finish, ...], products: tuple[Product, ...], registers: tuple[str, ...]
) -> tuple[str, ...]:
    names = {load.name for load in loads}
    first = len(loads)
    instructions = [
        *_loads(loads),
        *_requantization(finish, first),
        *_products(products, names, finish, first, first + len(finish)),
    ]
    ends = [0, *accumulate(map(len, (loads, finish, products)))]
    lanes = tuple(((1 << b) - (1 << a), most) for (a, b), most in zip(pairwise(ends), (1, 1, 2), strict=True))
    return tuple(ordered(instructions, registers, Beam(WORK, FEWEST, WORK, lean=False, lanes=lanes)))


def _before(n: int, first: int) -> tuple[int, ...]:
    return (n - 1,) if n > first else ()


def _loads(loads: Sequence[Load]) -> Iterator[VectorInstruction]:
    for n, load in enumerate(loads):
        yield VectorInstruction(f"{load.op} {{d}}, {load.place}", "memory", (), load.name, _before(n, 0))


def _requantization(finish: Sequence[Finish], first: int) -> Iterator[VectorInstruction]:
    last: dict[str, int] = {}
    for n, step in enumerate(finish, first):
        late = tuple(last[register] for register in step.reads if register in last)
        yield VectorInstruction(step.text, step.pipe, after=_before(n, first), late=late)
        last[step.writes] = n


def _products(
    products: Sequence[Product], loaded: set[str], finish: Sequence[Finish], first_finish: int, first: int
) -> Iterator[VectorInstruction]:
    """Products; each follows the one before it in the same register, and the requantization that reads that
    register."""
    after = {register: n for n, step in enumerate(finish, first_finish) for register in step.sums}
    for n, product in enumerate(products, first):
        reads = tuple(name for name in product.inputs if name in loaded)
        places = iter(range(len(reads)))
        inputs = ", ".join(f"{{{next(places)}}}" if name in loaded else name for name in product.inputs)
        before = (after[product.sum],) if product.sum in after else ()
        yield VectorInstruction(f"{product.op} {product.sum}, {inputs}", "multiply", reads, after=before)
        after[product.sum] = n
