"""Offsets for buffers with known lifetimes: several greedy orders, the best improved by promotion.

Never worse than greedy-by-size (the placement that TensorFlow Lite uses), because that is one of the orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mote.plan.plan import ALIGNMENT, Buffer

PROMOTIONS = 200
"""Rounds of improvement: a buffer that ends at the peak is placed earlier in the next round."""

ORDERS: dict[str, Callable[[Buffer], tuple[int, ...]]] = {
    "size": lambda b: (-b.nbytes, b.first),
    "lifetime": lambda b: (b.first - b.last, -b.nbytes, b.first),
    "area": lambda b: (-b.nbytes * (b.last - b.first + 1), b.first),
    "birth": lambda b: (b.first, -b.nbytes),
}


def lower_bound(buffers: Sequence[Buffer]) -> int:
    """The most bytes that are live at one step: no placement needs less."""
    steps = {b.first for b in buffers}
    return max((sum(aligned(b.nbytes) for b in buffers if b.first <= s <= b.last) for s in steps), default=0)


def place(buffers: Sequence[Buffer]) -> list[Buffer]:
    """The same buffers, in the same order, with offsets."""
    bound = lower_bound(buffers)
    best: list[int] = []
    best_peak = -1
    for key in ORDERS.values():
        order = _sorted(buffers, key)
        for _ in range(PROMOTIONS):
            offsets = _first_fit(buffers, order)
            peak = max((o + aligned(b.nbytes) for o, b in zip(offsets, buffers, strict=True)), default=0)
            if best_peak < 0 or peak < best_peak:
                best, best_peak = offsets, peak
            if best_peak == bound:
                return [b.at(o) for b, o in zip(buffers, best, strict=True)]
            highest = max(order, key=lambda i: (offsets[i] + aligned(buffers[i].nbytes), i))
            position = order.index(highest)
            if position == 0:
                break
            order.insert(position // 2, order.pop(position))
    return [b.at(o) for b, o in zip(buffers, best, strict=True)]


def greedy_by_size(buffers: Sequence[Buffer]) -> int:
    """The peak of the plain greedy-by-size placement, to compare with."""
    offsets = _first_fit(buffers, _sorted(buffers, ORDERS["size"]))
    return max((o + aligned(b.nbytes) for o, b in zip(offsets, buffers, strict=True)), default=0)


def _sorted(buffers: Sequence[Buffer], key: Callable[[Buffer], tuple[int, ...]]) -> list[int]:
    return sorted(range(len(buffers)), key=lambda i: (*key(buffers[i]), i))


def _first_fit(buffers: Sequence[Buffer], order: Sequence[int]) -> list[int]:
    """Place each buffer in turn at the lowest offset that is free during its whole life."""
    offsets = [0] * len(buffers)
    placed: list[int] = []
    for i in order:
        taken = sorted((offsets[j], aligned(buffers[j].nbytes)) for j in placed if buffers[j].meets(buffers[i]))
        at = 0
        for start, size in taken:
            if start - at >= aligned(buffers[i].nbytes):
                break
            at = max(at, start + size)
        offsets[i] = at
        placed.append(i)
    return offsets


def aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
