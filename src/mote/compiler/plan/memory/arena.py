"""Arena allocation: offsets for items with known live ranges, by first fit in several orders; items that end above the
goal are placed earlier in the next round. Everything is deterministic.

An item is a contiguous block of bytes. Its parts (rows) have their own live ranges, so that other items can reuse dead
ones. Example: the output of CONV with 12 rows of 96 bytes, run whole and read row by row, is one item of 1,152 bytes
with 12 live ranges, all from the step of CONV; row 0 dies first, and a row of the next tensor may then take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Protocol

import numpy as np

from mote.compiler.kernels.contract import ALIGNMENT, aligned

EFFORT = 2_000_000
"""Budget of checked pairs of items over all rounds."""
ROUNDS = 60
"""Maximum number of rounds per initial order."""
MANY_PAIRS = 256
"""From this many pairs of live ranges on, NumPy is faster than Python."""
PAIRS_AT_ONCE = 1 << 20
"""Maximum number of pairs that NumPy processes at once, to limit memory."""


@dataclass(frozen=True)
class LiveRange:
    """Bytes at..at+nbytes-1 of an item, which are live from step `first` to step `last`, inclusive."""

    at: int
    nbytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Item:
    """A contiguous block of bytes to allocate; its parts are live at different times."""

    ranges: tuple[LiveRange, ...]
    alignment: int = ALIGNMENT
    """Alignment of its offset, in bytes."""

    @property
    def nbytes(self) -> int:
        return max(p.at + p.nbytes for p in self.ranges)

    @property
    def first(self) -> int:
        return min(p.first for p in self.ranges)

    @property
    def last(self) -> int:
        return max(p.last for p in self.ranges)


Pair = tuple[int, int]
Overlays = dict[Pair, set[Pair]]
"""By pair of items: pairs of their live ranges that may share an address although they overlap in time, as an in-place
kernel writes one over the other."""

ORDERS: dict[str, Callable[[Item], tuple[int, ...]]] = {
    "birth": lambda x: (x.first, -x.nbytes),
    "size": lambda x: (-x.nbytes, x.first),
    "pinned": lambda x: (len(x.ranges) == 1, x.first, -x.nbytes),
    "area": lambda x: (-x.nbytes * (x.last - x.first + 1), x.first),
}
"""Sort keys of the initial orders of items."""


def live_peak(items: Sequence[Item]) -> int:
    """Peak of live bytes of items: a lower bound for any placement without overlays."""
    return most_live(p for item in items for p in item.ranges)


class Lives(Protocol):
    """Protocol: bytes that are live from step `first` to step `last`, inclusive."""

    @property
    def nbytes(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


def most_live(things: Iterable[Lives]) -> int:
    """Peak of live bytes over all steps."""
    change: dict[int, int] = {}
    for thing in things:
        change[thing.first] = change.get(thing.first, 0) + thing.nbytes
        change[thing.last + 1] = change.get(thing.last + 1, 0) - thing.nbytes
    live = peak = 0
    for step in sorted(change):
        live += change[step]
        peak = max(peak, live)
    return peak


def padding(items: Sequence[Item]) -> int:
    """Maximum over all steps of the bytes of alignment padding after live items."""
    return most_live(LiveRange(0, aligned(x.nbytes, x.alignment) - x.nbytes, x.first, x.last) for x in items)


def place(
    items: Sequence[Item], overlays: Overlays, goal: int, rounds: int = ROUNDS, enough: int | None = None
) -> list[int]:
    """Offsets for all items. Stops as soon as all end at or below `goal`; tries no further initial order once all end
    at or below `enough`."""
    ranked = tuple(sorted((pair, tuple(sorted(ranges))) for pair, ranges in overlays.items()))
    return list(_place(tuple(items), ranked, goal, rounds, goal if enough is None else enough))


@lru_cache(maxsize=128)
def _place(
    items: tuple[Item, ...], overlays: tuple[tuple[Pair, tuple[Pair, ...]], ...], goal: int, rounds: int, enough: int
) -> list[int]:
    """Memoized `place`: different kernels, and other graphs of the same shapes, often have the same items."""
    interferences = _interference_graph(items, {pair: set(ranges) for pair, ranges in overlays})
    pairs = sum(map(len, interferences)) + 1
    budget = max(EFFORT // pairs, len(ORDERS))
    sizes = [aligned(x.nbytes) for x in items]
    alignments = [x.alignment for x in items]
    best: list[int] = []
    best_end = 1 << 62
    for number, key in enumerate(ORDERS.values()):
        if best_end <= enough:
            break
        random = Random(number)
        order = sorted(range(len(items)), key=lambda i: (*key(items[i]), i))
        for _ in range(min(rounds, budget // len(ORDERS))):
            offsets = _first_fit(order, interferences, sizes, alignments, best_end)
            ends = [o + s for o, s in zip(offsets, sizes, strict=True)]
            if min(offsets, default=0) >= 0 and max(ends, default=0) < best_end:
                best, best_end = offsets, max(ends, default=0)
                if best_end <= goal:
                    return best
            order = _promoted(order, [i for i in order if offsets[i] >= 0 and ends[i] > goal], random)
    return best


def _promoted(order: list[int], late: list[int], random: Random) -> list[int]:
    """The order with the items `late` moved to random earlier positions."""
    rank: dict[int, float] = {i: float(n) for n, i in enumerate(order)}
    for i in late:
        rank[i] = rank[i] * random.random() * 0.9 - 0.5
    return sorted(order, key=lambda i: rank[i])


Box = tuple[int, int, int, int]
"""A live range as (first step, last step, start in the item, end in the item)."""
Interference = tuple[int, int, int]
"""Another item, and an interval of forbidden values of (own offset - its offset)."""


def _interference_graph(items: Sequence[Item], overlays: Overlays) -> list[list[Interference]]:
    """The interference graph: for each item those that it overlaps with in time, with forbidden distances."""
    forbidden: list[list[Interference]] = [[] for _ in items]
    boxes = [[(p.first, p.last, p.at, p.at + p.nbytes) for p in x.ranges] for x in items]
    order = sorted(range(len(items)), key=lambda i: items[i].first)
    last = [x.last for x in items]
    active: list[int] = []
    alone = [s[0][2:] if len(s) == 1 else None for s in boxes]
    for i in order:
        begin = items[i].first
        active = [j for j in active if last[j] >= begin]
        own = alone[i]
        for j in active:
            if own is not None and (other := alone[j]) is not None and (i, j) not in overlays:
                lo, hi = other[0] - own[1] + 1, other[1] - own[0] - 1
                forbidden[i].append((j, lo, hi))
                forbidden[j].append((i, -hi, -lo))
                continue
            for lo, hi in _forbidden(boxes[i], boxes[j], overlays.get((i, j), set())):
                forbidden[i].append((j, lo, hi))
                forbidden[j].append((i, -hi, -lo))
        active.append(i)
    return forbidden


def _forbidden(a: list[Box], b: list[Box], overlays: set[Pair]) -> list[tuple[int, int]]:
    """Values of (offset of a - offset of b) at which two items would collide, as disjoint intervals."""
    ranges = _collisions(a, b, overlays) if len(a) * len(b) < MANY_PAIRS else _many_collisions(a, b, overlays)
    merged: list[tuple[int, int]] = []
    for lo, hi in sorted(ranges):
        if merged and lo <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], hi))
        elif lo <= hi:
            merged.append((lo, hi))
    return merged


def _collisions(a: list[Box], b: list[Box], overlays: set[Pair]) -> Iterator[tuple[int, int]]:
    """The colliding distances of each pair of live ranges, in any order."""
    for i, (first, last, at, end) in enumerate(a):
        for j, (other_first, other_last, other_at, other_end) in enumerate(b):
            if first > other_last or other_first > last:
                continue
            lo, hi = other_at - end + 1, other_end - at - 1
            if (i, j) in overlays:
                same = other_at - at
                yield from ((lo, same - 1), (same + 1, hi))
            else:
                yield lo, hi


def _many_collisions(a: list[Box], b: list[Box], overlays: set[Pair]) -> Iterator[tuple[int, int]]:
    """The colliding distances of many live ranges, vectorized: of intervals with equal starts only the longest."""
    exchanged = [pair for pair in overlays if _meet(a[pair[0]], b[pair[1]])]
    for i, j in exchanged:
        yield from _collisions([a[i]], [b[j]], {(0, 0)})
    other_first, other_last, other_at, other_end = np.array(b).T[:, None]
    at_once = max(1, PAIRS_AT_ONCE // len(b))
    for begin in range(0, len(a), at_once):
        first, last, at, end = np.array(a[begin : begin + at_once]).T[:, :, None]
        meet = (first <= other_last) & (other_first <= last)
        for i, j in exchanged:
            if begin <= i < begin + at_once:
                meet[i - begin, j] = False
        lo, hi = (other_at - end + 1)[meet], (other_end - at - 1)[meet]
        order = np.lexsort((hi, lo))
        lo, hi = lo[order], hi[order]
        longest = np.append(lo[1:] != lo[:-1], True)[: len(lo)]
        yield from zip(lo[longest].tolist(), hi[longest].tolist(), strict=True)


def _meet(a: Box, b: Box) -> bool:
    """Whether two live ranges overlap in time."""
    return a[0] <= b[1] and b[0] <= a[1]


def _first_fit(
    order: Sequence[int], interferences: list[list[Interference]], sizes: list[int], alignments: list[int], limit: int
) -> list[int]:
    """Offsets by first fit: each item in turn at the lowest offset without collision. Gives up, with -1 for the
    remaining items, once an item ends at `limit` or above, as another order was better."""
    offsets = [-1] * len(interferences)
    for i in order:
        taken = [(o + lo, o + hi) for j, lo, hi in interferences[i] if (o := offsets[j]) >= 0]
        taken.sort()
        at, alignment = 0, alignments[i]
        for lo, hi in taken:
            if lo > at:
                break
            if hi >= at:
                at = (hi // alignment + 1) * alignment
        offsets[i] = at
        if at + sizes[i] >= limit:
            break
    return offsets
