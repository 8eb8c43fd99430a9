"""Marks for energy meters: runs that are measured ask for them, those that stop at steps do not."""

from __future__ import annotations

from mote.deploy.boards.execution import WANTS
from mote.deploy.boards.protocol import RunFlag
from mote.hardware.toolchain import Mode


def test_measured_runs_are_marked() -> None:
    marked = {mode for mode, wants in WANTS.items() if wants.flags & RunFlag.MARKS}
    assert marked == {Mode.MEASURE}
