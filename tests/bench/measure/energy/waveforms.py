"""Captures that are computed: inferences whose turns take a known power for a known time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.bench.measure.energy.alignment import Turns
from mote.bench.measure.energy.capture import IDLE, Capture

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Waveform:
    """Turns of so many seconds and watts, in inferences with pauses around them."""

    seconds: tuple[float, ...]
    watts: tuple[float, ...]
    works: tuple[int, ...]
    pause: float = 2e-3
    idle: float = 5e-3
    count: int = 10
    jitter: float = 0.0
    """Share by which each turn is longer or shorter, at random."""
    seed: int = 0

    def events(self) -> tuple[Reals, Reals, NDArray[np.int64]]:
        """The times where turns and pauses begin, their powers, and their places: 0 is a pause, n the turn n - 1."""
        random = np.random.default_rng(self.seed)
        times, watts, places, now = [0.0], [self.idle], [0], self.pause
        for _ in range(self.count):
            for n, (seconds, power) in enumerate(zip(self.seconds, self.watts, strict=True), 1):
                times.append(now)
                watts.append(power)
                places.append(n)
                now += seconds * (1 + self.jitter * random.uniform(-1, 1))
            times.append(now)
            watts.append(self.idle)
            places.append(0)
            now += self.pause * random.uniform(0.9, 1.1)
        times.append(now)
        return np.array(times), np.array(watts), np.array(places)

    def capture(self, rate: float, *, phase: float = 0.37, noise: float = 0.0, steps: bool = False) -> Capture:
        """Sampled so many times a second: each sample is the mean power of its time, as meters integrate it."""
        begins, watts, places = self.events()
        times = np.arange(phase / rate, begins[-1] - 1 / rate, 1 / rate)
        joules = np.concatenate([[0.0], np.cumsum(watts * np.diff(begins))])
        edges = np.append(times, times[-1] + 1 / rate) - 0.5 / rate
        power = np.diff(np.interp(edges, begins, joules)) * rate
        power *= 1 + noise * np.random.default_rng(self.seed + 1).standard_normal(len(power))
        which = np.searchsorted(begins, times, "right") - 1
        if steps:
            numbers = np.array([IDLE, *self.works])[places[which]]
            return Capture("computed", "csv", times, power, steps=numbers)
        return Capture("computed", "csv", times, power, {"D0": which % 2})

    def turns(self, clock_hz: float | None = 1e8, error: float = 0.0) -> Turns:
        """What a profile expects, with an error of its durations."""
        factors = 1 + error * np.random.default_rng(self.seed + 2).uniform(-1, 1, len(self.seconds))
        return Turns(self.works, np.array(self.seconds) * 1e8 * factors, clock_hz)

    def microjoules(self, works: Sequence[int]) -> float:
        """The energy of layers in one inference."""
        each = zip(self.works, self.seconds, self.watts, strict=True)
        return 1e6 * sum(seconds * watts for work, seconds, watts in each if work in works)


def layers(*seconds: float, **changes: object) -> Waveform:
    """A layer for each duration, with powers that differ."""
    watts = tuple(0.02 + 0.013 * ((7 * n) % 5) for n in range(len(seconds)))
    return Waveform(seconds, watts, tuple(range(len(seconds))), **changes)  # type: ignore[arg-type]
