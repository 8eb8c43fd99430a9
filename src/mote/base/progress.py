"""Progress of long work: callbacks for text and counts, and estimates of the remaining time."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

Say = Callable[[str], None]
"""Callback for a line of text about the progress."""
Done = Callable[[int, int], None]
"""Callback for progress: the number of pieces done, and the total."""
SOON, OFTEN = 2.0, 0.25
"""Seconds before the first estimate of the remaining time, and between two estimates."""
MINUTE, HOUR = 60, 3600


def silent(_: str) -> None:
    """A `Say` that ignores the text."""


def nobody(done: int, of: int) -> None:
    """A `Done` that ignores the counts."""


def counted(say: Say, what: str, clock: Callable[[], float] = monotonic) -> Done:
    """A `Done` that reports the count and the remaining time, extrapolated from the pieces done, to `say`."""
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
    """A duration as text, rounded to seconds, minutes or hours."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 2 * HOUR else f"{seconds / HOUR:.1f} h"
