"""Fronts: what no other point dominates, whatever the number of axes."""

from __future__ import annotations

from math import inf, nan
from operator import itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.optimize.search import front

VALUES = st.one_of(st.integers(-3, 3), st.sampled_from([-inf, inf, 0.5]))


def dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and one != other


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_what_is_left_out_is_dominated_and_what_is_left_is_not(count: int) -> None:
    @settings(max_examples=40)
    @given(st.lists(st.tuples(*[VALUES] * count), max_size=12))
    def check(points: list[tuple[float, ...]]) -> None:
        best = front(points, *map(itemgetter, range(count)))
        for i, point in enumerate(points):
            first = points.index(point) == i
            assert (point in best) == (not any(dominates(other, point) for other in points))
            assert not first or best.count(point) == (point in best)
        assert best == [p for i, p in enumerate(points) if p in best and points.index(p) == i]

    check()


@settings(max_examples=40)
@given(st.lists(st.tuples(VALUES, VALUES), max_size=10), st.randoms(use_true_random=False))
def test_the_order_of_points_does_not_matter(points: list[tuple[float, float]], random: object) -> None:
    mixed = list(points)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    axes = (itemgetter(0), itemgetter(1))
    assert sorted(front(mixed, *axes)) == sorted(front(points, *axes))


def test_the_first_of_equal_points_stays() -> None:
    assert front(["b1", "a1", "c0"], lambda p: int(p[1])) == ["c0"]
    assert front(["b1", "a1"], lambda p: int(p[1])) == ["b1"]


def test_a_point_without_a_number_is_left_out() -> None:
    assert front([(1.0, nan), (2.0, 3.0)], itemgetter(0), itemgetter(1)) == [(2.0, 3.0)]


def test_nothing_has_an_empty_front() -> None:
    assert front([], itemgetter(0)) == []
