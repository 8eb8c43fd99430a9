"""Energy of each layer between marks, averaged over inferences with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from mote.base.errors import MoteError
from mote.bench.measure.energy.alignment import Inference, Turns, inferences
from mote.bench.measure.energy.capture import Capture, Reals

_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
"""Quantiles of Student's t for two-sided 95% intervals, by degrees of freedom from 1."""
_NORMAL = 1.96


@dataclass(frozen=True)
class LayerEnergy:
    """Energy of a layer, or of layers that the capture cannot separate."""

    layers: tuple[str, ...]
    """Layer numbers in the model."""
    microjoules: float
    """Mean of an inference."""
    interval: float | None
    """Half of the width of the 95% confidence interval of the mean, in microjoules; None for one inference."""
    seconds: float
    """Mean time of an inference."""


@dataclass(frozen=True)
class MeasuredEnergy:
    """Measured energy of an inference."""

    capture: str
    """Name of the capture file."""
    meter: str
    """Kind of meter."""
    inferences: int
    """Number of averaged inferences."""
    microjoules: float
    """Mean of an inference."""
    interval: float | None
    """Half of the width of the 95% confidence interval of the mean, in microjoules; None for one inference."""
    seconds: float
    """Mean time of an inference."""
    sample_hz: float
    """Sample rate in Hz."""
    idle_milliwatts: float | None
    """Mean power between inferences; None if there are no pauses."""
    idle_subtracted: bool
    """Whether idle power is subtracted from the energies."""
    layers: tuple[LayerEnergy, ...]
    """Energy of each layer; empty without marks."""
    left_out: int = 0
    """Number of inferences left out because marks or samples are missing."""

    @property
    def together(self) -> tuple[LayerEnergy, ...]:
        """Groups of layers that are too short to be separated from their neighbours."""
        return tuple(each for each in self.layers if len(each.layers) > 1)


def measured_energy(
    capture: Capture,
    turns: Turns,
    numbers: Sequence[str],
    *,
    pin: str | None = None,
    subtract_idle: bool = False,
    count: int | None = None,
) -> MeasuredEnergy:
    """Measures the energy of each layer; `numbers` are the layer numbers of the plan's works. With `count`, the capture
    consists of exactly this many inferences, and marks are neither needed nor used."""
    if count is not None:
        return _unmarked(capture, count, subtract_idle)
    seen, left_out = inferences(capture, turns, pin)
    borders, joules = capture.borders, capture.joules
    idle = _idle_watts(seen, borders, joules)
    if subtract_idle and idle is None:
        raise MoteError(
            "has no time outside of inferences that could be subtracted as idle",
            where=capture.file,
            remedy="capture some idle time before the first inference, or omit --subtract-idle",
        )
    seconds = np.array([borders[each[-1].end] - borders[each[0].begin] for each in seen])
    taken = (idle or 0.0) if subtract_idle else 0.0
    whole = np.array([joules[each[-1].end] - joules[each[0].begin] for each in seen]) - taken * seconds
    layers = _layers(seen, turns, numbers, borders, joules, taken)
    return MeasuredEnergy(
        capture.file,
        capture.meter,
        len(seen),
        float(1e6 * whole.mean()),
        _interval(1e6 * whole),
        float(seconds.mean()),
        1 / capture.period,
        None if idle is None else 1e3 * idle,
        subtract_idle,
        tuple(layers),
        left_out,
    )


def _unmarked(capture: Capture, count: int, subtract_idle: bool) -> MeasuredEnergy:
    if count < 1:
        raise MoteError(f"must be a positive number, not {count}", where="option inferences")
    if subtract_idle:
        raise MoteError("needs marks: a capture of inferences alone has no idle time", where="option subtract-idle")
    seconds = float(capture.borders[-1] - capture.borders[0]) / count
    each = float(1e6 * capture.joules[-1] / count)
    return MeasuredEnergy(capture.file, capture.meter, count, each, None, seconds, 1 / capture.period, None, False, ())


def _idle_watts(seen: Sequence[Inference], borders: Reals, joules: Reals) -> float | None:
    """Mean power before, between and after inferences."""
    edges = [0, *(place for each in seen for place in (each[0].begin, each[-1].end)), len(borders) - 1]
    outside = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]
    seconds = sum(borders[b] - borders[a] for a, b in outside)
    return float(sum(joules[b] - joules[a] for a, b in outside) / seconds) if seconds > 0 else None


def _layers(
    seen: Sequence[Inference], turns: Turns, numbers: Sequence[str], borders: Reals, joules: Reals, idle: float
) -> list[LayerEnergy]:
    """Energies of layers; those that could not always be separated are grouped with their neighbours."""
    ends = sorted(set.intersection(*({interval.last for interval in each} for each in seen)))
    starts = [0, *(end + 1 for end in ends[:-1])]
    at = {(n, i.last): i.end for n, each in enumerate(seen) for i in each}
    at |= {(n, -1): each[0].begin for n, each in enumerate(seen)}
    group_of = _joined([{turns.works[t] for t in range(a, b + 1)} for a, b in zip(starts, ends, strict=True)])
    micro = {group: np.zeros(len(seen)) for group in dict.fromkeys(group_of.values())}
    seconds = {group: np.zeros(len(seen)) for group in micro}
    for start, end in zip(starts, ends, strict=True):
        group = group_of[turns.works[start]]
        for n in range(len(seen)):
            begin, finish = at[n, start - 1], at[n, end]
            spent = borders[finish] - borders[begin]
            seconds[group][n] += spent
            micro[group][n] += 1e6 * (joules[finish] - joules[begin] - idle * spent)
    return [
        LayerEnergy(
            tuple(numbers[work] for work in sorted(group)),
            float(micro[group].mean()),
            _interval(micro[group]),
            float(seconds[group].mean()),
        )
        for group in sorted(micro, key=min)
    ]


def _joined(sets: Sequence[set[int]]) -> dict[int, frozenset[int]]:
    """For each layer the group it is measured with: overlapping sets are merged."""
    group_of: dict[int, frozenset[int]] = {}
    for works in sets:
        group = frozenset(works).union(*(group_of[work] for work in works if work in group_of))
        group_of |= dict.fromkeys(group, group)
    return group_of


def _interval(values: Reals) -> float | None:
    """Half width of the confidence interval of the mean."""
    if len(values) < 2:
        return None
    freedom = len(values) - 1
    factor = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL + 2.5 / freedom
    return float(factor * values.std(ddof=1) / sqrt(len(values)))
