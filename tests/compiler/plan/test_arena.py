"""Placement: nothing live shares a byte with anything else, and no simpler way would need less."""

from __future__ import annotations

from itertools import combinations
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.contract import ALIGNMENT, aligned
from mote.compiler.plan.memory import arena
from mote.compiler.plan.memory.arena import Item, LiveRange, Overlays, live_peak, place
from tests.helpers.support import examples


@st.composite
def items_of_rows(draw: st.DrawFn) -> Item:
    """Rows of one size that live and die on their own, some of them missing."""
    row = draw(st.integers(1, 40))
    ranges = []
    for y in range(draw(st.integers(1, 4))):
        first = draw(st.integers(-1, 12))
        if y == 0 or draw(st.integers(0, 4)):
            ranges.append(LiveRange(y * row, row, first, first + draw(st.integers(0, 6))))
    return Item(tuple(ranges))


def overlays_of(items: list[Item], every: int) -> Overlays:
    """Of the ranges that are born when another of their size dies, every so manieth may lie there."""
    found: Overlays = {}
    count = 0
    for a, b in combinations(range(len(items)), 2):
        for i, p in enumerate(items[a].ranges):
            for j, q in enumerate(items[b].ranges):
                if p.nbytes == q.nbytes and (p.first == q.last or q.first == p.last):
                    count += 1
                    if count % every == 0:
                        found.setdefault((a, b), set()).add((i, j))
                        found.setdefault((b, a), set()).add((j, i))
    return found


def end(items: list[Item], offsets: list[int]) -> int:
    return max(o + x.nbytes for o, x in zip(offsets, items, strict=True))


def together(p: LiveRange, q: LiveRange) -> bool:
    return p.first <= q.last and q.first <= p.last


def clash(items: list[Item], overlays: Overlays, a: int, b: int, at: int, bt: int) -> bool:
    """Whether two items at these offsets have live bytes in common that they may not have."""
    for i, p in enumerate(items[a].ranges):
        for j, q in enumerate(items[b].ranges):
            apart = at + p.at + p.nbytes <= bt + q.at or bt + q.at + q.nbytes <= at + p.at
            shared = (i, j) in overlays.get((a, b), set()) and at + p.at == bt + q.at
            if together(p, q) and not apart and not shared:
                return True
    return False


def greedy_by_size(items: list[Item]) -> int:
    """What TensorFlow Lite does: the largest first, each as low as it fits."""
    placed: dict[int, int] = {}
    for i in sorted(range(len(items)), key=lambda i: (-items[i].nbytes, items[i].first, i)):
        at = 0
        while any(clash(items, {}, i, j, at, there) for j, there in placed.items()):
            at += ALIGNMENT
        placed[i] = at
    return end(items, [placed[i] for i in range(len(items))])


def bound(items: list[Item], overlays: Overlays) -> int:
    """The most bytes live at a step, if everything lay over all that it may lie over."""
    best = 0
    for step in range(-1, 20):
        live = [(n, i, p) for n, x in enumerate(items) for i, p in enumerate(x.ranges) if p.first <= step <= p.last]
        saved = sum(p.nbytes for (a, i, p), (b, j, _) in combinations(live, 2) if (i, j) in overlays.get((a, b), set()))
        best = max(best, sum(p.nbytes for *_, p in live) - saved)
    return best


ITEMS = st.lists(items_of_rows(), min_size=1, max_size=12)


@given(ITEMS, st.integers(1, 3))
@settings(max_examples=examples(200), deadline=None)
def test_no_two_live_rows_share_a_byte(items: list[Item], every: int) -> None:
    overlays = overlays_of(items, every)
    offsets = place(items, overlays, live_peak(items), rounds=6)
    assert all(o >= 0 and o % ALIGNMENT == 0 for o in offsets)
    for a, b in combinations(range(len(items)), 2):
        assert not clash(items, overlays, a, b, offsets[a], offsets[b])
    assert end(items, offsets) >= bound(items, overlays)
    assert offsets == place(items, overlays, live_peak(items), rounds=6)


@given(ITEMS)
@settings(max_examples=100, deadline=None)
def test_never_worse_than_greedy_by_size(items: list[Item]) -> None:
    peak = live_peak(items)
    assert peak == bound(items, {})
    found = end(items, place(items, {}, peak, rounds=6))
    assert peak <= found <= aligned(greedy_by_size(items))


@given(st.lists(st.integers(1, 100), min_size=1, max_size=10))
@settings(max_examples=50, deadline=None)
def test_chains_lie_at_their_peak(sizes: list[int]) -> None:
    """Each is live with the next one only."""
    items = [Item((LiveRange(0, aligned(n), i, i + 1),)) for i, n in enumerate(sizes)]
    assert end(items, place(items, {}, live_peak(items))) == live_peak(items)


@given(items_of_rows(), items_of_rows(), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_many_rows_collide_as_few_do(a: Item, b: Item, every: int) -> None:
    """Items with many rows are looked at by NumPy, a part at a time."""
    rows = [[(p.first, p.last, p.at, p.at + p.nbytes) for p in item.ranges] for item in (a, b)]
    overlays = overlays_of([a, b], every).get((0, 1), set())
    found = []
    for many, at_once in ((1 << 30, 1), (0, 2), (0, 1 << 20)):
        with patch.multiple(arena, MANY_PAIRS=many, PAIRS_AT_ONCE=at_once):
            found.append(arena._forbidden(*rows, overlays))
    assert found[0] == found[1] == found[2]


def test_a_row_lies_where_its_source_dies() -> None:
    items = [Item((LiveRange(0, 20, -1, 0),)), Item((LiveRange(0, 20, 0, 1),))]
    overlays: Overlays = {(0, 1): {(0, 0)}, (1, 0): {(0, 0)}}
    assert place(items, overlays, 0) == [0, 0]
    assert place(items, {}, 0) == [0, 20]


def test_rows_use_what_is_dead_of_a_strip() -> None:
    tensor = Item(tuple(LiveRange(16 * y, 16, -1, y) for y in range(4)))
    rows = [Item((LiveRange(0, 16, y + 1, 9),)) for y in range(3)]
    assert end([tensor, *rows], place([tensor, *rows], {}, 0)) == 64


def test_an_item_lies_at_a_multiple_of_its_alignment() -> None:
    items = [Item((LiveRange(0, n, 0, 1),), alignment) for n, alignment in ((4, 4), (16, 8), (4, 4), (8, 8))]
    offsets = place(items, {}, live_peak(items))
    assert all(at % item.alignment == 0 for at, item in zip(offsets, items, strict=True))
    assert end(items, offsets) == 32
