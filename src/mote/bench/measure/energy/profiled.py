"""Measured energy of the layers of a profiled model."""

from __future__ import annotations

from collections import Counter

import numpy as np

from mote.bench.measure.energy.alignment import Turns
from mote.bench.measure.energy.capture import Capture
from mote.bench.measure.energy.layers import MeasuredEnergy, measured_energy
from mote.bench.measure.profiler.result import Profile
from mote.compiler.lower.program import program
from mote.compiler.plan.plan import Plan
from mote.deploy.boards.facts import CYCLES


def energy_of(
    profile: Profile,
    plan: Plan,
    capture: Capture,
    *,
    mark: str | None = None,
    subtract_idle: bool = False,
    inferences: int | None = None,
) -> MeasuredEnergy:
    """Energy of each layer of a plan by the marks of its turns, whose expected durations are board counts or else the
    profile's. Turns of a layer are assumed to be equally long."""
    schedule = program(plan).schedule
    times = Counter(schedule)
    on = profile.board if profile.board is not None and profile.board.facts.unit == CYCLES else None
    layers = [(None if on is None else layer.measured) or layer.cycles for layer in profile.layers]
    cycles = np.array([layers[work] / times[work] for work in schedule], np.float64)
    turns = Turns(tuple(schedule), cycles, (None if on is None else on.facts.clock_hz) or profile.clock_hz)
    numbers = [layer.number for layer in profile.layers]
    return measured_energy(capture, turns, numbers, pin=mark, subtract_idle=subtract_idle, count=inferences)
