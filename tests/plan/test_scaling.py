"""Planning grows with the network, and hardly faster: counted in calls of functions, which are the same everywhere."""

from __future__ import annotations

import pytest

import planning
from mote.api import compiler
from network import Net
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


def test_twice_the_width_is_about_twice_the_work() -> None:
    """One-dimensional layers are wide: 43,844 samples of sound, say."""

    def wide(columns: int) -> bytes:
        net = Net()
        return net.finish(net.conv(net.input(1, 1, columns, 1), 1, (1, 8)))

    small, large = (planning.work(wide(columns)) for columns in (512, 1024))
    assert large <= MOST_GROWTH * small, f"{small:,} calls for 512 columns, {large:,} for 1,024"


def test_large_models_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other options would give is told of models whose plans are quick to make."""
    net = Net()
    compiled = compiler.compile(net.finish(net.conv(net.input(1, 4, 4, 1), 2)))
    assert [a.option for a in compiler.alternatives(compiled)] == list(compiler.ALTERNATIVES)
    monkeypatch.setattr(compiler, "MOST_ROWS_COMPARED", 7)
    assert compiler.alternatives(compiled) == []
