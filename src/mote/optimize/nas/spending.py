"""What a search spends: time, seconds of processors, and energy where the machine has a meter of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from mote.base.progress import Say, duration

POWERCAP = Path("/sys/class/powercap")
"""The energy counters of processors in Linux, one for each package; most systems let only the superuser read them."""


@dataclass
class EnergyCounter:
    """A counter of microjoules that begins again at 0 after a largest number."""

    file: Path
    range: int
    last: int
    joules: float = 0.0

    def read(self) -> None:
        """Adds what was used since the last time; more than one turn of the counter in between is not seen."""
        now = int(self.file.read_text())
        self.joules += (now - self.last) % (self.range + 1) * 1e-6
        self.last = now


def energy_counters(root: Path = POWERCAP) -> list[EnergyCounter]:
    """The counters of all processor packages that may be read; those of their parts are contained in them."""
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
    """What a search took."""

    seconds: float = 0.0
    """Time from begin to end."""
    cpu_seconds: float = 0.0
    """Seconds of processor cores, of this process and of worker processes that it began; those of a cluster and of a
    GPU are not counted."""
    joules: float | None = None
    """Energy of the machine's processors in that time, whatever else they did; None without a meter."""

    def __str__(self) -> str:
        energy = "" if self.joules is None else f", {self.joules / 3600:.3g} Wh of the processors"
        return f"{duration(self.seconds)} and {duration(self.cpu_seconds)} of processor cores{energy}"


def processor_seconds() -> float:
    """Seconds of processor cores of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@dataclass
class SpendingMeter:
    """Measures from its making on."""

    began: float = field(default_factory=monotonic)
    cpu: float = field(default_factory=processor_seconds)
    counters: Sequence[EnergyCounter] = field(default_factory=energy_counters)

    @property
    def seconds(self) -> float:
        """Time since the begin."""
        return monotonic() - self.began

    def metered(self, say: Say) -> Say:
        """A callback that reads the meters, too: progress is said of more often than counters turn."""

        def heard(text: str) -> None:
            self.spent()
            say(text)

        return heard

    def spent(self) -> Spending:
        """All that was spent so far."""
        for counter in self.counters:
            counter.read()
        joules = sum(counter.joules for counter in self.counters) if self.counters else None
        return Spending(self.seconds, processor_seconds() - self.cpu, joules)
