"""Pareto fronts: of many points, those that no other one beats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isnan
from typing import TypeVar

Point = TypeVar("Point")


def front(points: Iterable[Point], *axes: Callable[[Point], float]) -> list[Point]:
    """The points that no other dominates, in the order in which they come.

    Each axis gives a number of which less is better. A point dominates another that is nowhere better and somewhere
    worse; of points that are equal everywhere the first stays. A point without a number (NaN) on some axis is left out:
    nobody knows how good it is.
    """
    found = [(tuple(axis(point) for axis in axes), i, point) for i, point in enumerate(points)]
    best: list[tuple[tuple[float, ...], int, Point]] = []
    for values, i, point in sorted(found, key=lambda x: x[:2]):
        # What dominates a point sorts before it.
        if not any(map(isnan, values)) and not any(_as_good(other, values) for other, _, _ in best):
            best.append((values, i, point))
    return [point for _, _, point in sorted(best, key=lambda x: x[1])]


def _as_good(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))
