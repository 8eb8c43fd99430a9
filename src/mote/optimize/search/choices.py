"""Multiple-choice knapsack: choose one option per item, where every option has a price and a harm.

Prices and harms are assumed to be additive: a heuristic for what to evaluate next; the evaluation decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Choice = tuple[str, ...]
"""One option per item."""


@dataclass(frozen=True)
class PricedOption:
    """An option with its contribution to the total price and harm."""

    price: float
    harm: float


Table = Sequence[Mapping[str, PricedOption]]
"""The options of each item, by name."""


def price(table: Table, choice: Choice) -> float:
    return sum(options[name].price for options, name in zip(table, choice, strict=True))


def harm(table: Table, choice: Choice) -> float:
    return sum(options[name].harm for options, name in zip(table, choice, strict=True))


def path(table: Table) -> list[Choice]:
    """Choices from the cheapest to the least harmful along the convex hull: one item changes at a time, best exchange
    rate first."""
    hulls = [_hull(options) for options in table]
    choice = [hull[0] for hull in hulls]
    steps = [(_rate(table[i], a, b), i, k) for i, hull in enumerate(hulls) for k, (a, b) in enumerate(pairwise(hull))]
    choices = [tuple(choice)]
    for _, i, k in sorted(steps):
        choice[i] = hulls[i][k + 1]
        choices.append(tuple(choice))
    return choices


def _hull(options: Mapping[str, PricedOption]) -> list[str]:
    """Options on the lower convex hull of price and harm, from the cheapest to the least harmful."""
    hull: list[str] = []
    for name in sorted(options, key=lambda x: (options[x].price, options[x].harm, x)):
        if hull and options[name].harm >= options[hull[-1]].harm:
            continue
        while len(hull) > 1 and _rate(options, hull[-1], name) <= _rate(options, hull[-2], hull[-1]):
            hull.pop()
        hull.append(name)
    return hull


def _rate(options: Mapping[str, PricedOption], one: str, other: str) -> float:
    """Price per unit of harm avoided when switching from one option to another."""
    return (options[other].price - options[one].price) / (options[one].harm - options[other].harm)


def neighbours(table: Table, choice: Choice) -> list[Choice]:
    """Choices that should be cheaper, by changing one item, or two of which one gets more expensive and less harmful.
    Those without additional harm come first, then by saving per added harm."""
    changes = [(i, name) for i, options in enumerate(table) for name in options if name != choice[i]]
    pairs = [
        (one, other)
        for one in changes
        for other in changes
        if one[0] != other[0] and _saves(table, choice, one) > 0 > _saves(table, choice, other)
    ]
    candidates = [_changed(choice, one) for one in changes] + [_changed(choice, one, other) for one, other in pairs]
    before, done = price(table, choice), harm(table, choice)

    def worth(other: Choice) -> tuple[float, float, Choice]:
        saved, added = before - price(table, other), harm(table, other) - done
        return (-1.0, -saved, other) if added <= 0 else (0.0, -saved / added, other)

    return sorted((other for other in candidates if price(table, other) < before), key=worth)


def _saves(table: Table, choice: Choice, change: tuple[int, str]) -> float:
    i, name = change
    return table[i][choice[i]].price - table[i][name].price


def _changed(choice: Choice, *changes: tuple[int, str]) -> Choice:
    changed = list(choice)
    for i, name in changes:
        changed[i] = name
    return tuple(changed)


def first_good(count: int, at_once: int, good: Callable[[Sequence[int]], Sequence[bool]]) -> int | None:
    """First index for which `good` holds, by k-ary search; assumes that all later indices are good too. `good`
    evaluates several indices at once. None if none is good."""
    bad, best = -1, count
    while best - bad > 1:
        asked = sorted({bad + (best - bad) * k // (at_once + 1) for k in range(1, at_once + 1)} - {bad})
        asked = asked or [bad + 1]
        for number, is_good in zip(asked, good(asked), strict=True):
            if is_good:
                best = number
                break
            bad = number
    return best if best < count else None
