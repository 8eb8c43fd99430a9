"""Locates the steps of inferences in a capture by the marks that the device made.

A pin toggled at the start of an inference and after each turn (executed step) of the plan gives one more edge than
turns. An interval between edges is a turn, a pause between inferences, or several turns if some are shorter than a
sample: the two edges of a very short turn cancel. The durations that the profile predicts decide; the best
interpretation of all edges is a shortest path. If none is good the marks do not belong to this model, which is an
error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.bench.measure.energy.capture import IDLE, Capture, Reals, Whole

MODEL_ERROR = 0.2
"""Relative uncertainty of the profile's duration of a turn."""
SHORT = 1.5
"""Turns of fewer samples than this may be invisible."""
MERGED = 6
"""Maximum number of consecutive invisible turns in one interval."""
MISFIT = 4.0
"""Mean squared normalized deviation above which marks do not match the model."""
FARTHEST = 4.0
"""Normalized deviation above which an interval cannot be a given turn."""
AGREEMENT = 0.3
"""Relative tolerance between inferences for the duration of a turn, if the clock is unknown."""
LATE_START = 3.0
"""Penalty of interpretations that do not begin with an inference."""
MERGING = 2.0
"""Penalty of interpreting an interval as three turns instead of one."""
GAP = 4.0
"""Inferences with gaps of more samples than this are left out."""


@dataclass(frozen=True)
class Turns:
    """The turns (executed steps) of a plan in one inference, in order."""

    works: tuple[int, ...]
    """Index in the plan of the layer that each turn computes."""
    cycles: Reals
    """Cycles of each turn by its profile."""
    clock_hz: float | None = None

    @property
    def seconds(self) -> Reals | None:
        return None if self.clock_hz is None else self.cycles / self.clock_hz


@dataclass(frozen=True)
class MarkedInterval:
    """Turns `first` to `last`, between two sample borders."""

    first: int
    last: int
    begin: int
    end: int


Inference = tuple[MarkedInterval, ...]
"""Intervals that cover all turns of an inference, in order."""


def inferences(capture: Capture, turns: Turns, pin: str | None = None) -> tuple[list[Inference], int]:
    """All complete inferences of a capture, and the number left out because of missing marks or samples."""
    numbered = capture.steps is not None and pin is None
    seen, marked = _by_steps(capture, turns) if numbered else _by_pin(capture, turns, pin)
    gaps = np.flatnonzero(np.diff(capture.times) > GAP * capture.period)
    whole = [each for each in seen if not np.any((gaps >= each[0].begin) & (gaps + 1 < each[-1].end))]
    if seen and not whole:
        raise MoteError("samples are missing in every inference", where=capture.file, remedy="capture it anew")
    return whole, max(marked - len(whole), 0)


def _by_pin(capture: Capture, turns: Turns, pin: str | None) -> tuple[list[Inference], int]:
    """Inferences by the marks of a pin: those that are complete, and the number of all."""
    edges = np.flatnonzero(np.diff(capture.level(pin))) + 1
    if len(edges) > len(turns.works):
        spans = np.diff(capture.borders[edges])
        for read in (_expected(spans, turns, capture.period), _counted(spans, turns, capture.period)):
            seen = [] if read is None else list(_inferences(read, edges, len(turns.works)))
            marked = round(len(edges) / (len(turns.works) + 1))
            if seen and 2 * len(seen) >= marked:
                return seen, marked
    raise _mismatch(capture, turns, len(edges))


def _mismatch(capture: Capture, turns: Turns, seen: int) -> MoteError:
    each = len(turns.works) + 1
    shortest = "" if turns.seconds is None else f", and the shortest step about {1e6 * turns.seconds.min():.3g}"
    return MoteError(
        f"has {seen:,} marks, which are not those of this model: an inference has {each:,}, one at its start and one"
        f" behind each of {each - 1:,} steps",
        where=capture.file,
        remedy="give the model and the options that the firmware was made with; let the capture begin and end between"
        f" inferences; sample faster (a sample takes {1e6 * capture.period:.3g} µs{shortest})",
    )


Read = list[tuple[int, int]]
"""Interpretation of marks: for each interval its first position and number of turns. Position 0 is the pause before an
inference, 1 its first turn."""


def _expected(spans: Reals, turns: Turns, period: float) -> Read | None:
    """Best interpretation by expected durations (shortest path); None without clock or if it is a bad fit."""
    if turns.seconds is None:
        return None
    ways = _Ways(turns.seconds, period)
    costs = np.full(ways.count, LATE_START)
    costs[1 % ways.count] = 0.0
    came = np.zeros((len(spans), ways.count), np.int8)
    for n, span in enumerate(spans):
        reached = np.full(ways.count, np.inf)
        for merged in range(len(ways.lengths)):
            ahead = np.roll(costs + ways.cost(span, merged), 2 * merged + 1)
            better = ahead < reached
            reached = np.where(better, ahead, reached)
            came[n, better] = merged
        costs = reached
    at = int(costs.argmin())
    if not costs[at] <= MISFIT * len(spans):
        return None
    read: Read = []
    for n in reversed(range(len(spans))):
        taken = 2 * int(came[n, at]) + 1
        at = (at - taken) % ways.count
        read.append((at, taken))
    return read[::-1]


class _Ways:
    """Possible interpretations of one interval: starting at any position, one turn or more."""

    def __init__(self, seconds: Reals, period: float) -> None:
        around = np.concatenate([[0.0], seconds])
        self.count = len(around)
        self.period = period
        short = np.concatenate([[True], seconds < SHORT * period])
        pause = np.concatenate([[True], np.zeros(len(seconds), bool)])
        self.lengths: list[Reals] = []
        self.pauses: list[NDArray[np.bool_]] = []
        self.allowed: list[NDArray[np.bool_]] = []
        length, paused, allowed = around, pause, np.ones(self.count, bool)
        for merged in range(MERGED + 1):
            self.lengths.append(length)
            self.pauses.append(paused)
            self.allowed.append(allowed)
            if 2 * merged + 3 > self.count:
                break
            hidden, following = (np.arange(self.count, dtype=np.int64) + 2 * merged + n for n in (1, 2))
            hidden, following = hidden % self.count, following % self.count
            allowed = allowed & short[hidden]
            length = length + around[hidden] + around[following]
            paused = paused | pause[hidden] | pause[following]

    def cost(self, span: float, merged: int) -> Reals:
        """Squared deviation from the expected duration in units of its uncertainty, per start position; a pause may
        have any length."""
        length = self.lengths[merged]
        deviation = (span - length) / np.hypot(self.period, MODEL_ERROR * length)
        deviation = np.where(self.pauses[merged], np.minimum(deviation, 0.0), deviation)
        free = np.where(self.pauses[merged], 1.0, 0.0)
        possible = self.allowed[merged] & (np.abs(deviation) <= FARTHEST)
        return np.where(possible, deviation**2 + free + MERGING * merged, np.inf)


def _counted(spans: Reals, turns: Turns, period: float) -> Read | None:
    """Interpretation by the number of marks alone, if they form complete inferences with repeatable durations."""
    each = len(turns.works) + 1
    if (len(spans) + 1) % each:
        return None
    table = np.append(spans, 0.0).reshape(-1, each)[:, :-1]
    usual = np.median(table, axis=0)
    if np.any(np.abs(table - usual) > np.maximum(2.5 * period, AGREEMENT * usual)):
        return None
    if len(table) == 1 and turns.seconds is not None:
        return None
    return [((n + 1) % each, 1) for n in range(len(spans))]


def _inferences(read: Read, edges: Whole, turns: int) -> Iterator[Inference]:
    """Inferences whose start and end are both edges."""
    current: list[MarkedInterval] = []
    for n, (position, taken) in enumerate(read):
        last = position + taken - 1
        if position == 1:
            current = []
        elif position == 0 or not current or current[-1].last != position - 2:
            current = []
            continue
        if last > turns:
            current = []
            continue
        current.append(MarkedInterval(position - 1, last - 1, int(edges[n]), int(edges[n + 1])))
        if last == turns:
            yield tuple(current)
            current = []


def _by_steps(capture: Capture, turns: Turns) -> tuple[list[Inference], int]:
    """Inferences by recorded step numbers; consecutive turns of one step are merged."""
    assert capture.steps is not None
    order = [n for n, work in enumerate(turns.works) if not n or turns.works[n - 1] != work]
    ends = [*(n - 1 for n in order[1:]), len(turns.works) - 1]
    numbers = [turns.works[n] for n in order]
    borders = [0, *(np.flatnonzero(np.diff(capture.steps)) + 1).tolist(), len(capture.steps)]
    seen: list[Inference] = []
    current: list[MarkedInterval] = []
    at = 0
    for begin, end in pairwise(borders):
        step = int(capture.steps[begin])
        if step == IDLE:
            current, at = [], 0
            continue
        if step not in numbers:
            raise MoteError(
                f"has step {step} at {capture.times[begin]:g} s: the plan has {len(numbers)} steps, and no such one",
                where=capture.file,
                remedy=f"number steps from 0 to {max(numbers)}, and samples outside of inferences {IDLE}",
            )
        if step not in numbers[at:]:
            current, at = [], 0
        place = numbers.index(step, at)
        _check_hidden(capture, turns, order, ends, (at, place))
        if place > at and current:
            before = current.pop()
            current.append(MarkedInterval(before.first, ends[place], before.begin, end))
        else:
            current.append(MarkedInterval(order[at], ends[place], begin, end))
        at = place + 1
        if at == len(numbers):
            if begin > 0:
                seen.append(tuple(current))
            current, at = [], 0
    if not seen:
        raise MoteError(
            f"no inference is whole: steps 0 to {max(numbers)} were not all seen in order",
            where=capture.file,
            remedy="give the model and the options that the firmware was made with, and sample faster",
        )
    return seen, len(seen)


def _check_hidden(
    capture: Capture, turns: Turns, order: Sequence[int], ends: Sequence[int], skipped: tuple[int, int]
) -> None:
    """Raises an error if a step is missing that is too long to be missed."""
    if turns.seconds is None:
        return
    for place in range(*skipped):
        taken = float(turns.seconds[order[place] : ends[place] + 1].sum())
        if taken > 2 * SHORT * capture.period:
            raise MoteError(
                f"step {turns.works[order[place]]} is missing in an inference, though it should take"
                f" {1e6 * taken:.3g} µs, {taken / capture.period:.0f} samples",
                where=capture.file,
                remedy="give the model and the options that the firmware was made with",
            )
