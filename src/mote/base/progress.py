"""Progress of long work: callbacks for text and counts, and how much is left, in words."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

Say = Callable[[str], None]
"""A callback for a line of text that says how long work gets on."""
Done = Callable[[int, int], None]
"""A callback for how many of how many pieces of work have been done."""
SOON, OFTEN = 2.0, 0.25
"""Seconds before anything is said of what is left, since sooner nobody knows, and until it is said again."""
MINUTE, HOUR = 60, 3600


def silent(_: str) -> None:
    """The callback of who wants no text."""


def nobody(done: int, of: int) -> None:
    """The callback of who wants no count."""


def counted(say: Say, what: str, clock: Callable[[], float] = monotonic) -> Done:
    """Says how many of the pieces have been done and about how long the others will take, judged by those."""
    began = clock()
    due = SOON

    def done(count: int, of: int) -> None:
        nonlocal due
        taken = clock() - began
        if taken >= due and count:
            due = taken + OFTEN
            say(f"{what}: {count:,} of {of:,}, about {duration(taken / count * (of - count))} left")

    return done


def duration(seconds: float) -> str:
    """About so long, in the unit that a person would use."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 2 * HOUR else f"{seconds / HOUR:.1f} h"
