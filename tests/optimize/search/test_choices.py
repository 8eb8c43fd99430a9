"""Choices by prices and harms that add up: what is proposed is never worse than what it is proposed instead of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from mote.optimize.search.choices import PricedOption, first_good, harm, neighbours, path, price

OPTIONS = st.builds(PricedOption, st.integers(0, 20), st.integers(0, 20))
TABLES = st.lists(st.dictionaries(st.sampled_from("abcd"), OPTIONS, min_size=1), min_size=1, max_size=4)


@settings(max_examples=60)
@given(TABLES)
def test_the_path_goes_from_the_cheapest_to_the_least_harmful(table: list[dict[str, PricedOption]]) -> None:
    found = path(table)
    every = list(product(*table))
    prices, harms = [price(table, c) for c in found], [harm(table, c) for c in found]
    assert prices[0] == min(price(table, c) for c in every) and harms[-1] == min(harm(table, c) for c in every)
    assert prices == sorted(prices) and harms == sorted(harms, reverse=True)
    for choice in found:
        worse = [c for c in every if price(table, c) <= price(table, choice) and harm(table, c) < harm(table, choice)]
        assert not worse, "a choice of the path is on the front of all choices"


@settings(max_examples=60)
@given(TABLES, st.data())
def test_neighbours_are_cheaper(table: list[dict[str, PricedOption]], data: st.DataObject) -> None:
    choice = tuple(data.draw(st.sampled_from(sorted(options))) for options in table)
    found = neighbours(table, choice)
    assert len(found) == len(set(found))
    for other in found:
        assert price(table, other) < price(table, choice)
        assert sum(a != b for a, b in zip(choice, other, strict=True)) <= 2
    added = [harm(table, other) > harm(table, choice) for other in found]
    assert added == sorted(added), "what does no more harm comes first"
    single = {(*choice[:i], name, *choice[i + 1 :]) for i, options in enumerate(table) for name in options}
    assert {c for c in single if price(table, c) < price(table, choice)} <= set(found)


@given(st.integers(0, 50), st.integers(0, 60), st.integers(1, 5))
def test_the_first_good_one_is_found(count: int, first: int, at_once: int) -> None:
    asked: list[int] = []

    def good(numbers: Sequence[int]) -> list[bool]:
        assert 1 <= len(numbers) <= at_once
        asked.extend(numbers)
        return [number >= first for number in numbers]

    assert first_good(count, at_once, good) == (first if first < count else None)
    assert len(set(asked)) == len(asked), "nothing is asked twice"
