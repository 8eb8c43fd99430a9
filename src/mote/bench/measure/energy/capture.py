"""A meter capture: power over time, with marks made by the device."""

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
"""Step number of samples outside of inferences."""


@dataclass(frozen=True)
class Capture:
    """Power samples in time order. Each represents the interval between the midpoints to its neighbours."""

    file: str
    meter: str
    times: Reals
    """Sample times in seconds, ascending."""
    watts: Reals
    pins: Mapping[str, Whole] = field(default_factory=dict)
    """Levels (0 or 1) of digital inputs by name."""
    steps: Whole | None = None
    """Number of the running step for each sample; `IDLE` outside of inferences."""
    volts: float | None = None
    """Supply voltage, if constant."""

    @property
    def period(self) -> float:
        """Median seconds between samples."""
        return float(np.median(np.diff(self.times)))

    @property
    def borders(self) -> Reals:
        """Times of the borders between samples' intervals."""
        middles = (self.times[1:] + self.times[:-1]) / 2
        half = self.period / 2
        return np.concatenate([[self.times[0] - half], middles, [self.times[-1] + half]])

    @property
    def joules(self) -> Reals:
        """Accumulated energy in joules at each of `borders`."""
        return np.concatenate([[0.0], np.cumsum(self.watts * np.diff(self.borders))])

    def level(self, pin: str | None) -> Whole:
        """Levels of the named digital input, or of the only one that changes."""
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
    """Raises an error for unordered or too few samples; drops samples that the meter lost."""
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
