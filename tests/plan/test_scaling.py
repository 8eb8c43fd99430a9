"""Planning grows with the network, and hardly faster: counted in calls of functions, which are the same everywhere."""

from __future__ import annotations

import pytest

import planning
from support import soaked

SIDE = 4
"""Pixels: growth shows in small images too."""
MOST_GROWTH = 2.5
"""How many times the work twice the layers may take."""
LAYERS = {"step": 32}
"""How many layers the smaller network has, 16 elsewhere: segments of small steps get longer until there are so many."""


CASES = [
    *(("chain", mode) for mode in planning.MODES),
    *(("residuals", mode) for mode in ("balanced", "ram min", "input rows")),
]


USUAL = [("chain", "balanced"), ("residuals", "input rows")]


@pytest.mark.parametrize(("family", "mode"), soaked(CASES, USUAL))
def test_twice_the_layers_is_about_twice_the_work(family: str, mode: str) -> None:
    few = LAYERS.get(mode, 16)
    small, large = (planning.work(planning.FAMILIES[family](n, SIDE), **planning.MODES[mode]) for n in (few, 2 * few))
    assert large <= MOST_GROWTH * small, f"{small:,} calls for {few} layers, {large:,} for {2 * few}"
