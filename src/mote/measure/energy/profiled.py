"""The measured energy of a model whose profile is known."""

from __future__ import annotations

from collections import Counter

import numpy as np

from mote.lower.program import program
from mote.measure.energy.alignment import Turns
from mote.measure.energy.capture import Capture
from mote.measure.energy.layers import MeasuredEnergy, measured_energy
from mote.measure.profiler.costs import Profile
from mote.plan.plan import Plan


def energy_of(
    profile: Profile,
    plan: Plan,
    capture: Capture,
    *,
    mark: str | None = None,
    subtract_idle: bool = False,
    inferences: int | None = None,
) -> MeasuredEnergy:
    """The energy of each layer of a plan, by the marks of its turns. Turns of a layer are taken to be equally long."""
    schedule = program(plan).schedule
    times = Counter(schedule)
    cycles = np.array([profile.layers[work].cycles / times[work] for work in schedule], np.float64)
    turns = Turns(tuple(schedule), cycles, profile.clock_hz)
    numbers = [layer.number for layer in profile.layers]
    return measured_energy(capture, turns, numbers, pin=mark, subtract_idle=subtract_idle, count=inferences)
