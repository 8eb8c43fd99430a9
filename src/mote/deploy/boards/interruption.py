"""Interruptions: boards that were reset or lost during work, and what was rerun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Interruption:
    """A board that was reset or lost during work. Results are consistent nonetheless: all returned data come from one
    session."""

    reason: str
    """Reason as known to the session."""
    repeated: str = ""
    """Work that was rerun, such as `3 inferences`; empty if nothing had begun."""
    board: str = ""
    """Name or address of the board."""

    def __str__(self) -> str:
        again = f"; repeated: {self.repeated}" if self.repeated else ""
        return f"{self.reason}{again}"


def interruption_lines(interruptions: Sequence[Interruption]) -> list[str]:
    """A line of text for each board and kind of interruption."""
    counts = Counter(interruptions)
    return [f"{each.board} was interrupted {_times(count)}: {each}" for each, count in counts.items()]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
