"""A model of the flash that kernels take (constants, and code that layers share), and a search for the kernels with the
least flash.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush
from typing import NamedTuple
from weakref import WeakKeyDictionary

from mote.compiler.kernels.contract import Instance, Packed
from mote.ir.graph.region import Numbers

KERNEL = 500
"""Estimated bytes of code of a kernel written in C; it is linked once, however many layers call it."""
HEADERS = {
    "depthwise3_s8": 150,
    "depthwise_gemm_s8": 250,
    "depthwise_s8": 1150,
    "depthwise_two_s8": 200,
    "depthwise_wide_s8": 350,
    "fully_connected4_s8": 780,
    "fully_connected4_twice_s8": 780,
    "gemm3_add_s8 gemm3_s8": 200,
    "softmax_s8": 900,
}
"""Estimated bytes of code of kernels that differ much from `KERNEL`, by their headers (gcc, Cortex-M4)."""
INSTANCE = 700
"""Estimated bytes of code of an instance: a C macro that defines a kernel for given constants."""
SMALLER = {
    "MOTE_POINTWISE4X2": 130,
    "MOTE_POINTWISE4X2_ADD": 60,
    "MOTE_CONV4X2": 130,
    "MOTE_CONV4X2_ADD": 60,
    "MOTE_TWO": 190,
    "MOTE_POINTWISE4X2_ANY": 130,
    "MOTE_CONV4X2_ANY": 130,
    "MOTE_DEPTHWISE_GEMM": 200,
    "MOTE_DEPTHWISE_GEMM_ANY": 210,
    "MOTE_DEPTHWISE_GEMM_TWO": 300,
    "MOTE_DEPTHWISE_GEMM_TWO_ANY": 310,
    "MOTE_DEPTHWISE3_BOTH": 130,
    "MOTE_DEPTHWISE_PLANES_CODE": 20,
    "MOTE_LANES_LOOPS": 190,
    "MOTE_WIDE_ONE": 120,
    "MOTE_WIDE_BLOCKS": 120,
    "MOTE_WIDE_BOTH": 150,
}
"""Estimated bytes of code of macros that define less than `INSTANCE`: wrappers that call generated assembly."""
INSTRUCTION = 3.8
"""Average bytes of an instruction in generated assembly."""
EITHER = ("_near", "_anywhere")
"""Name suffixes of routines for contiguous rows and for rows at any address: a plan links one of the two."""
PAIRED = frozenset({"MOTE_WIDE_CODE"})
"""Further macros with two variants of which a plan links one."""
DECODER, DECODING = 280, 160
"""Estimated bytes of the code that decompresses weights: shared, and in each kernel that uses it."""
Alone = Callable[[Numbers, Packed], float]
"""Callback: the cost of an operator with a kernel in bytes, without code: constants, and latency at an exchange
rate."""


_known: WeakKeyDictionary[Packed, dict[str, float]] = WeakKeyDictionary()


def code(kernel: Packed) -> dict[str, float]:
    """The sections of code that a kernel links and may share with others, and the bytes of each."""
    if kernel not in _known:
        _known[kernel] = _code(kernel)
    return _known[kernel]


def _code(kernel: Packed) -> dict[str, float]:
    if kernel.price.linked:
        return dict(kernel.price.linked)
    made = {str(i): _made(i) for i in kernel.instances}
    decoding = {"coded": DECODER, f"{kernel.name} coded": DECODING} if kernel.price.coding is not None else {}
    header = " ".join(kernel.headers)
    return {header: HEADERS.get(header, KERNEL), **made, **decoding}


def _made(instance: Instance) -> float:
    """Estimated bytes of code of an instance."""
    if not instance.code:
        return SMALLER.get(instance.macro, INSTANCE)
    either = instance.macro in PAIRED or str(instance.arguments[0]).endswith(EITHER)
    return INSTRUCTION * instance.instructions * (0.5 if either else 1.0)


def flash(kernels: Iterable[Packed]) -> float:
    """Estimated bytes of flash of kernels, shared code once."""
    given = list(kernels)
    pieces = {name: nbytes for kernel in given for name, nbytes in code(kernel).items()}
    return sum(kernel.own_flash for kernel in given) + sum(pieces.values())


def constants(ops: Numbers, kernel: Packed) -> float:
    """An `Alone` cost that counts constants only, not latency."""
    return kernel.own_flash


def smallest(offered: Mapping[Numbers, Sequence[Packed]], alone: Alone = constants) -> dict[Numbers, Packed]:
    """A kernel for each operator so that the total of `alone` costs and linked code is small, by local search: start
    with the best kernels without sharing, then ban or link one section of code after another as long as that lowers the
    total, each time re-choosing the kernel of every operator. Ties go to the first kernel."""
    chosen = cheapest_kernels(_CodeSharing.of(offered, alone))
    return {ops: kernels[chosen[i]] for i, (ops, kernels) in enumerate(offered.items())}


@lru_cache(maxsize=64)
def cheapest_kernels(sharing: _CodeSharing) -> list[int]:
    """The index of the chosen kernel of each operator; memoized, since selections that differ in layouts or rows often
    have the same candidates."""
    return sharing.improved(sharing.settled(sharing.begun())).kernels


class _Candidate(NamedTuple):
    """A kernel: its `Alone` cost in bytes, and the indices of the code sections that it links."""

    alone: float
    pieces: tuple[int, ...]


class _Offers:
    """The candidates of an operator, with their costs by the code sections that others link, as the bits of an integer.
    Operators with equal candidates share one, so that each cost is computed once."""

    def __init__(self, candidates: tuple[_Candidate, ...], sizes: Sequence[float]) -> None:
        self.candidates, self.sizes = candidates, sizes
        self.pieces = _bits({piece for candidate in candidates for piece in candidate.pieces})
        self._costs: dict[int, list[float]] = {}
        self._best: dict[tuple[int, int], int] = {}

    def costs(self, linked: int) -> list[float]:
        """The cost of each candidate if some code sections are linked: its `alone` cost and its further code."""
        linked &= self.pieces
        if linked not in self._costs:
            self._costs[linked] = [
                alone + sum([self.sizes[piece] for piece in pieces if not linked >> piece & 1])
                for alone, pieces in self.candidates
            ]
        return self._costs[linked]

    def best(self, linked: int, without: int = -1) -> int:
        """The cheapest candidate if some code sections are linked; `without`: none that links this one, if possible."""
        key = linked & self.pieces, without if without >= 0 and self.pieces >> without & 1 else -1
        if key not in self._best:
            able = [n for n, candidate in enumerate(self.candidates) if key[1] not in candidate.pieces]
            self._best[key] = min(able or range(len(self.candidates)), key=self.costs(linked).__getitem__)
        return self._best[key]


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


@dataclass
class _Chosen:
    """The index of the kernel of each operator, and the number of operators that link each code section."""

    kernels: list[int]
    needed: list[int]
    linked: int = 0
    """The code sections that any operator links, as bits."""

    def copy(self) -> _Chosen:
        return _Chosen(self.kernels.copy(), self.needed.copy(), self.linked)

    def count(self, pieces: Iterable[int], times: int) -> None:
        """Link code sections once more (1) or once less (-1)."""
        for piece in pieces:
            self.needed[piece] += times
            if self.needed[piece] == (times > 0):
                self.linked ^= 1 << piece


@dataclass(frozen=True)
class _CodeSharing:
    """Local search for kernels that share code, as in facility location: a code section is paid for once."""

    candidates: tuple[tuple[_Candidate, ...], ...]
    sizes: tuple[float, ...]
    """Bytes of each code section."""
    users: tuple[tuple[int, ...], ...]
    """For each code section the operators that have a candidate which links it."""

    @staticmethod
    def of(offered: Mapping[Numbers, Sequence[Packed]], alone: Alone) -> _CodeSharing:
        numbers: dict[str, int] = {}
        sizes: list[float] = []
        candidates: list[list[_Candidate]] = []
        for ops, kernels in offered.items():
            candidates.append([])
            for kernel in kernels:
                for name, nbytes in code(kernel).items():
                    if numbers.setdefault(name, len(sizes)) == len(sizes):
                        sizes.append(nbytes)
                pieces = tuple(numbers[name] for name in code(kernel))
                candidates[-1].append(_Candidate(alone(ops, kernel), pieces))
        users: list[list[int]] = [[] for _ in sizes]
        for op, kernels_of in enumerate(candidates):
            for piece in sorted({piece for candidate in kernels_of for piece in candidate.pieces}):
                users[piece].append(op)
        return _CodeSharing(tuple(map(tuple, candidates)), tuple(sizes), tuple(map(tuple, users)))

    @cached_property
    def offers(self) -> list[_Offers]:
        """The candidates of each operator."""
        offers = {candidates: _Offers(candidates, self.sizes) for candidates in dict.fromkeys(self.candidates)}
        return [offers[candidates] for candidates in self.candidates]

    def begun(self) -> _Chosen:
        """The start of the search: each operator with its cheapest kernel if nothing is shared."""
        chosen = _Chosen([offers.best(0) for offers in self.offers], [0] * len(self.sizes))
        for op, kernel in enumerate(chosen.kernels):
            chosen.count(self.candidates[op][kernel].pieces, 1)
        return chosen

    def total(self, chosen: _Chosen) -> float:
        alone = sum(self.candidates[op][kernel].alone for op, kernel in enumerate(chosen.kernels))
        return alone + sum(nbytes for nbytes, times in zip(self.sizes, chosen.needed, strict=True) if times)

    def improved(self, best: _Chosen) -> _Chosen:
        """Local search: bans a linked code section, or links another one, as long as that lowers the total."""
        least, better = self.total(best), True
        while better:
            better = False
            for piece, users in enumerate(self.users):
                if best.needed[piece]:
                    other = self.settled(best.copy(), users, without=piece)
                elif len(users) > 1:
                    other = self.settled(self.settled(best.copy(), users, free=piece), users)
                else:
                    continue
                total = self.total(other)
                if total < least:
                    best, least, better = other, total, True
        return best

    def settled(
        self, chosen: _Chosen, ops: Sequence[int] | None = None, *, without: int = -1, free: int = -1
    ) -> _Chosen:
        """Re-chooses kernels, of `ops` first, until each operator has the cheapest one given those of the others.
        `without`: a banned code section, for operators that have an alternative; `free`: one that costs nothing."""
        pending = list(range(len(self.candidates)) if ops is None else ops)
        heapify(pending)
        waiting, unpaid = set(pending), 0 if free < 0 else 1 << free
        while pending:
            op = heappop(pending)
            waiting.discard(op)
            candidates, offers, before = self.candidates[op], self.offers[op], chosen.kernels[op]
            chosen.count(candidates[before].pieces, -1)
            linked = chosen.linked | unpaid
            best, costs = offers.best(linked, without), offers.costs(linked)
            stays = without not in candidates[before].pieces or without in candidates[best].pieces
            if stays and costs[best] >= costs[before]:
                best = before
            chosen.kernels[op] = best
            chosen.count(candidates[best].pieces, 1)
            if best != before:
                changed = {*candidates[before].pieces, *candidates[best].pieces}
                again = {user for piece in changed if chosen.needed[piece] < 2 for user in self.users[piece]}
                for user in again - waiting - {op}:
                    waiting.add(user)
                    heappush(pending, user)
        return chosen


def missing(kernel: Packed, shared: Container[str]) -> float:
    """Bytes of the code sections of a kernel that are not in `shared`."""
    return sum(nbytes for name, nbytes in code(kernel).items() if name not in shared)
