"""Boards that were reset or lost in the middle of their work, and what was done again because of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Interruption:
    """A board that was reset or lost in the middle of its work. Results are whole nonetheless: all of what is returned
    came from one session."""

    reason: str
    """The reason, as the session knows it."""
    repeated: str = ""
    """What was done again, as `3 inferences`; empty where nothing had begun."""
    board: str = ""
    """The name or the address of the board."""

    def __str__(self) -> str:
        again = f"; repeated: {self.repeated}" if self.repeated else ""
        return f"{self.reason}{again}"


def interruption_lines(interruptions: Sequence[Interruption]) -> list[str]:
    """A line for each board and kind of interruption, for people."""
    counts = Counter(interruptions)
    return [f"{each.board} was interrupted {_times(count)}: {each}" for each, count in counts.items()]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
