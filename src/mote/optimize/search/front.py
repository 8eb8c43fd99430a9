"""Selection of Pareto fronts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isnan
from typing import TypeVar

Point = TypeVar("Point")


def front(points: Iterable[Point], *axes: Callable[[Point], float]) -> list[Point]:
    """The non-dominated points, in their original order.

    Lower is better on every axis. A point dominates another if it is nowhere worse and somewhere better; of equal
    points the first one is kept. Points with NaN are omitted."""
    rated = [(tuple(axis(point) for axis in axes), i, point) for i, point in enumerate(points)]
    best: list[tuple[tuple[float, ...], int, Point]] = []
    for values, i, point in sorted(rated, key=lambda x: x[:2]):
        # What dominates a point sorts before it.
        if not any(map(isnan, values)) and not any(_as_good(other, values) for other, _, _ in best):
            best.append((values, i, point))
    return [point for _, _, point in sorted(best, key=lambda x: x[1])]


def _as_good(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))
