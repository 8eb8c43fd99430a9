"""Choose one option for each of several things, where every option has a price and does some harm.

Prices and harms of the things are taken to add up, which is about right for many searches, and says what is worth being
evaluated: it is the evaluation that decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Choice = tuple[str, ...]
"""An option for each thing."""


@dataclass(frozen=True)
class Option:
    """What an option adds to the price of all, and to the harm."""

    price: float
    harm: float


Table = Sequence[Mapping[str, Option]]
"""The options of each thing, by name."""


def price(table: Table, choice: Choice) -> float:
    return sum(options[name].price for options, name in zip(table, choice, strict=True))


def harm(table: Table, choice: Choice) -> float:
    return sum(options[name].harm for options, name in zip(table, choice, strict=True))


def path(table: Table) -> list[Choice]:
    """From the cheapest choice to the least harmful one: of all choices, those for which no other has less harm at the
    same price, as far as they are had by taking the step that buys most for its price, one thing at a time."""
    hulls = [_hull(options) for options in table]
    choice = [hull[0] for hull in hulls]
    steps = [(_rate(table[i], a, b), i, k) for i, hull in enumerate(hulls) for k, (a, b) in enumerate(pairwise(hull))]
    found = [tuple(choice)]
    for _, i, k in sorted(steps):
        choice[i] = hulls[i][k + 1]
        found.append(tuple(choice))
    return found


def _hull(options: Mapping[str, Option]) -> list[str]:
    """The options from the cheapest to the least harmful, without those that cost more than what lies between two
    others."""
    hull: list[str] = []
    for name in sorted(options, key=lambda x: (options[x].price, options[x].harm, x)):
        if hull and options[name].harm >= options[hull[-1]].harm:
            continue
        while len(hull) > 1 and _rate(options, hull[-1], name) <= _rate(options, hull[-2], hull[-1]):
            hull.pop()
        hull.append(name)
    return hull


def _rate(options: Mapping[str, Option], one: str, other: str) -> float:
    """What less harm costs, from one option to another that does less."""
    return (options[other].price - options[one].price) / (options[one].harm - options[other].harm)


def neighbours(table: Table, choice: Choice) -> list[Choice]:
    """Choices that should be cheaper than this one: another option for one thing, or for two, of which one gets dearer
    and does less harm. Those that do no more harm come first, then those that save most for the harm that they do."""
    changes = [(i, name) for i, options in enumerate(table) for name in options if name != choice[i]]
    pairs = [
        (one, other)
        for one in changes
        for other in changes
        if one[0] != other[0] and _saves(table, choice, one) > 0 > _saves(table, choice, other)
    ]
    found = [_changed(choice, one) for one in changes] + [_changed(choice, one, other) for one, other in pairs]
    before, done = price(table, choice), harm(table, choice)

    def worth(other: Choice) -> tuple[float, float, Choice]:
        saved, added = before - price(table, other), harm(table, other) - done
        return (-1.0, -saved, other) if added <= 0 else (0.0, -saved / added, other)

    return sorted((other for other in found if price(table, other) < before), key=worth)


def _saves(table: Table, choice: Choice, change: tuple[int, str]) -> float:
    i, name = change
    return table[i][choice[i]].price - table[i][name].price


def _changed(choice: Choice, *changes: tuple[int, str]) -> Choice:
    found = list(choice)
    for i, name in changes:
        found[i] = name
    return tuple(found)


def first_good(count: int, at_once: int, good: Callable[[Sequence[int]], Sequence[bool]]) -> int | None:
    """The first of so many numbers that is good, where all behind a good one are: `good` is asked for a few at once,
    by which the rest is divided. None where none is good."""
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
