"""Placement: no two live buffers share a byte, never worse than greedy-by-size, never below the bound."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from mote.plan import arena
from mote.plan.plan import ALIGNMENT, Buffer


@st.composite
def buffers(draw: st.DrawFn, most: int = 24) -> list[Buffer]:
    count = draw(st.integers(1, most))
    found = []
    for i in range(count):
        first = draw(st.integers(-1, 20))
        found.append(Buffer((i,), draw(st.integers(1, 400)), first, first + draw(st.integers(0, 8))))
    return found


def peak(placed: list[Buffer]) -> int:
    return max(b.offset + arena.aligned(b.nbytes) for b in placed)


@given(buffers())
@settings(max_examples=300, deadline=None)
def test_placement_is_valid_and_good(found: list[Buffer]) -> None:
    placed = arena.place(found)
    assert [b.at(0) for b in placed] == [b.at(0) for b in found]
    for i, a in enumerate(placed):
        assert a.offset % ALIGNMENT == 0
        for b in placed[i + 1 :]:
            assert not a.meets(b) or a.end <= b.offset or b.end <= a.offset
    assert arena.lower_bound(found) <= peak(placed) <= arena.greedy_by_size(found)


@given(buffers(most=5))
@settings(max_examples=100, deadline=None)
def test_no_order_of_first_fit_is_much_better_on_small_sets(found: list[Buffer]) -> None:
    best = min(
        max(o + arena.aligned(b.nbytes) for o, b in zip(arena._first_fit(found, order), found, strict=True))
        for order in permutations(range(len(found)))
    )
    assert best <= peak(arena.place(found)) <= best * 1.25


def test_placement_is_deterministic() -> None:
    found = [Buffer((i,), 10 + 37 * i % 91, i % 7, i % 7 + i % 4) for i in range(40)]
    assert arena.place(found) == arena.place(found)
