"""Measures cycles of a firmware's steps: on an emulated board with known memory timing, or on a real board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.bench.measure.profiler.costs import marked_steps
from mote.bench.measure.runner import Bench, bench
from mote.compiler.firmware import Firmware
from mote.hardware.targets import Target
from mote.hardware.toolchain import Mode

TIMES = 3
"""Number of runs, of which the minimum counts, since interrupts only add cycles."""


class Measurer(Protocol):
    """Runs firmware and counts the cycles of each step in a run from cold caches."""

    @property
    def title(self) -> str:
        """Name in messages and files."""
        ...

    def steps(self, firmware: Firmware, inputs: Sequence[bytes] = ()) -> list[int]:
        """Cycles of each step."""
        ...


@dataclass(frozen=True)
class EmulatedMeasurer:
    """Measures on the emulated core with a part's memories: predicts what a board with that part would measure."""

    part: Target

    @property
    def title(self) -> str:
        return f"an emulated {self.part.name}"

    def steps(self, firmware: Firmware, inputs: Sequence[bytes] = ()) -> list[int]:
        """Cycles of each step, by the profiler."""
        with temporary_folder() as folder:
            on = bench(replace(firmware, target=self.part), folder)
            return [cost.cycles for cost in marked_steps(on, list(inputs))]


@dataclass(frozen=True)
class BoardMeasurer:
    """Measures on a board with an agent, which is flashed with the firmware."""

    board: str
    """Address of the board, or its name in boards.toml."""

    @property
    def title(self) -> str:
        return f"the board {self.board}"

    def steps(self, firmware: Firmware, inputs: Sequence[bytes] = ()) -> list[int]:
        """Cycles of each step by the board's counter: the minimum of several runs."""
        with temporary_folder() as folder, bench(firmware, folder, board=self.board) as on:
            self._check(on)
            runs = on.execute(Mode.PROFILE, [list(inputs)] * TIMES).steps
        if not runs:
            raise MoteError(
                "counts no cycles of steps",
                where=self.title,
                remedy="build its agent with a counter and MOTE_AGENT_STEPS",
            )
        return [min(each) for each in zip(*runs, strict=True)]

    def _check(self, on: Bench) -> None:
        """Raises an error for boards whose cycles do not reflect the part's memory."""
        if on.counts != "cycles":
            raise MoteError(
                f"counts {on.counts}, not cycles",
                where=self.title,
                remedy="calibrate on a real board, or with --emulated PART on the profiler's model of one",
            )
        assert on.board is not None
        if "to RAM" in on.board.placed:
            raise MoteError(
                "runs programs from RAM, which says nothing about its flash",
                where=self.title,
                remedy="state how it is flashed in boards.toml ([boards.NAME.flash])",
            )
