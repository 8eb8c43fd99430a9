"""A capture of a meter as data: power over time, and marks that the device gave meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.base.text import did_you_mean

Reals = NDArray[np.float64]
Whole = NDArray[np.int64]

IDLE = -1
"""The step number of samples outside of inferences."""


@dataclass(frozen=True)
class Capture:
    """Samples in order of time. Each stands for the time from the middle between it and the sample before it to the
    middle between it and the next."""

    file: str
    meter: str
    times: Reals
    """Seconds, ascending."""
    watts: Reals
    pins: Mapping[str, Whole] = field(default_factory=dict)
    """Levels of digital inputs, 0 or 1."""
    steps: Whole | None = None
    """The number of the step that runs; `IDLE` outside of inferences."""
    volts: float | None = None
    """The supply voltage, where it is constant."""

    @property
    def period(self) -> float:
        """Seconds from one sample to the next, in the median."""
        return float(np.median(np.diff(self.times)))

    @property
    def borders(self) -> Reals:
        """The times where one sample's share begins, and where the last one's ends."""
        middles = (self.times[1:] + self.times[:-1]) / 2
        half = self.period / 2
        return np.concatenate([[self.times[0] - half], middles, [self.times[-1] + half]])

    @property
    def joules(self) -> Reals:
        """Energy from the first sample on, at each of `borders`."""
        return np.concatenate([[0.0], np.cumsum(self.watts * np.diff(self.borders))])

    def level(self, pin: str | None) -> Whole:
        """The levels of the named pin, or of the only one that changes."""
        if pin is not None:
            if pin not in self.pins:
                guess = did_you_mean(pin, list(self.pins))
                there = f"{guess}there are: {', '.join(self.pins)}" if self.pins else "it has none"
                raise MoteError(f"has no digital input '{pin}'", where=self.file, remedy=there)
            return self.pins[pin]
        moving = {name: levels for name, levels in self.pins.items() if np.any(np.diff(levels))}
        if len(moving) > 1:
            raise MoteError(
                f"has {len(moving)} digital inputs that change: {', '.join(moving)}",
                where=self.file,
                remedy=f"name the one that the device marks steps with: --mark {next(iter(moving))}",
            )
        if not moving:
            raise MoteError(
                "has no marks: no digital input changes, and there is no column of steps",
                where=self.file,
                remedy="connect the pin that mote_port_mark toggles, or say how many inferences it holds, and nothing"
                " else: --inferences N",
            )
        return next(iter(moving.values()))


def checked(capture: Capture) -> Capture:
    """Refuses samples that are out of order or too few, and leaves out those that the meter has lost."""
    kept = ~(np.isnan(capture.watts) | np.isnan(capture.times))
    times, watts = capture.times[kept], capture.watts[kept]
    if len(times) < 2:
        raise MoteError(f"has {len(times)} samples, too few for any energy", where=capture.file)
    if not np.all(np.isfinite(times)) or not np.all(np.isfinite(watts)):
        raise MoteError("has samples that are infinite", where=capture.file, remedy="export it anew")
    back = np.flatnonzero(np.diff(times) <= 0)
    if len(back):
        at = int(back[0]) + 1
        raise MoteError(
            f"the time of sample {at + 1} is {times[at]:g} s, not after the {times[at - 1]:g} s of the one before it",
            where=capture.file,
            remedy="export it with times that ascend, and with enough digits",
        )
    pins = {name: levels[kept] for name, levels in capture.pins.items()}
    steps = None if capture.steps is None else capture.steps[kept]
    return Capture(capture.file, capture.meter, times, watts, pins, steps, capture.volts)
