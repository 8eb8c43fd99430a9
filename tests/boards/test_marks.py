"""Marks for energy meters: runs that are measured ask for them, those that stop at steps do not."""

from __future__ import annotations

from mote.boards.execution import WANTS
from mote.boards.protocol import RunFlag
from mote.toolchain import Mode


def test_measured_runs_are_marked() -> None:
    marked = {mode for mode, wants in WANTS.items() if wants.flags & RunFlag.MARKS}
    assert marked == {Mode.MEASURE}
