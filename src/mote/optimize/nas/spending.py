"""Measures what a search spends: time, CPU seconds, and energy if the machine has a meter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from mote.base.progress import Say, duration

POWERCAP = Path("/sys/class/powercap")
"""Linux energy counters, one per processor package; usually readable by root only."""


@dataclass
class EnergyCounter:
    """A microjoule counter that wraps around to 0 after `range`."""

    file: Path
    range: int
    last: int
    joules: float = 0.0

    def read(self) -> None:
        """Adds the energy since the last call; must be called at least once per wrap-around."""
        now = int(self.file.read_text())
        self.joules += (now - self.last) % (self.range + 1) * 1e-6
        self.last = now


def energy_counters(root: Path = POWERCAP) -> list[EnergyCounter]:
    """Readable energy counters of all processor packages; counters of their subdomains are included in them."""
    counters = []
    for zone in sorted(root.glob("intel-rapl:*")):
        try:
            counter = zone / "energy_uj"
            if zone.name.count(":") == 1:
                counters.append(
                    EnergyCounter(counter, int((zone / "max_energy_range_uj").read_text()), int(counter.read_text()))
                )
        except (OSError, ValueError):
            continue
    return counters


@dataclass(frozen=True)
class Spending:
    """Time and energy that a search took."""

    seconds: float = 0.0
    """Wall-clock time."""
    cpu_seconds: float = 0.0
    """CPU seconds of this process and its worker processes; cluster nodes and GPUs are not counted."""
    joules: float | None = None
    """Energy of the machine's processors during the search, including other processes; None without a meter."""

    def __str__(self) -> str:
        energy = "" if self.joules is None else f", {self.joules / 3600:.3g} Wh of the processors"
        return f"{duration(self.seconds)} and {duration(self.cpu_seconds)} of processor cores{energy}"


def processor_seconds() -> float:
    """CPU seconds of this process and its terminated children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@dataclass
class SpendingMeter:
    """Measures time and energy since its creation."""

    began: float = field(default_factory=monotonic)
    cpu: float = field(default_factory=processor_seconds)
    counters: Sequence[EnergyCounter] = field(default_factory=energy_counters)

    @property
    def seconds(self) -> float:
        """Seconds since creation."""
        return monotonic() - self.began

    def metered(self, say: Say) -> Say:
        """Wraps a progress callback so that it also reads the energy counters, often enough to see every
        wrap-around."""

        def heard(text: str) -> None:
            self.spent()
            say(text)

        return heard

    def spent(self) -> Spending:
        """Time, CPU seconds and energy so far."""
        for counter in self.counters:
            counter.read()
        joules = sum(counter.joules for counter in self.counters) if self.counters else None
        return Spending(self.seconds, processor_seconds() - self.cpu, joules)
