"""Fits a core's kernel cost table to layers measured on a board.

A board measures cycles including memory waits. The same layers are traced on the emulated core, where a simulation of
the fitted memory tells the waits and the bytes of constants that are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean

from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.base.progress import Say, silent
from mote.bench.measure.profiler.costs import marked_steps
from mote.bench.measure.run import stimulus
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import firmware
from mote.compiler.kernels import cost
from mote.compiler.kernels.contract import SIGNAL
from mote.compiler.settings import Settings, make_settings
from mote.hardware import toolchain
from mote.hardware.targets import Reads, Target
from mote.optimize.tune.calibration.cost_fit import (
    EVERY,
    CostCore,
    CostTables,
    StepCost,
    families,
    fit,
    keep,
    known,
    known_levels,
    layers_of,
    measure_model,
    merged,
    predicted,
    signals,
    sliding,
    table_text,
)
from mote.optimize.tune.calibration.measurer import Measurer
from mote.optimize.tune.calibration.memory_fit import with_reads


@dataclass(frozen=True)
class CostFit:
    """A fitted cost table and its errors."""

    table: str
    """The cost table as JSON text."""
    error: float
    """Mean relative error over all layers."""
    families: dict[str, float]
    """Mean relative error of each kernel family."""
    layers: int
    """Number of measurements, one per layer and kernel."""


@dataclass(frozen=True, kw_only=True)
class BoardCore(CostCore):
    """A core on a board whose memory timing is known."""

    target: Target
    measurer: Measurer
    reads: Reads

    @cached_property
    def settings(self) -> Settings:
        """Compiler settings for the board's target."""
        return make_settings(self.target, optimize=self.level)

    def step_costs(self, compiled: Compiled) -> list[StepCost]:
        """Measured cycles of each step, minus memory waits according to the fitted timing."""
        subject, inputs = firmware(compiled), stimulus(compiled.plan.graph, None)[0]
        with temporary_folder() as folder:
            on = bench(replace(subject, target=with_reads(self.target, self.reads)), folder)
            modelled = marked_steps(on, inputs)
        measured = self.measurer.steps(subject, inputs)
        if len(measured) != len(modelled):
            raise MoteError(f"measured {len(measured)} steps of {len(modelled)}", where=self.measurer.title)
        waits = (each.waits.code + each.waits.constants for each in modelled)
        cycles = (max(total - waited, 1) for total, waited in zip(measured, waits, strict=True))
        return [StepCost(own, each.waits.loaded) for own, each in zip(cycles, modelled, strict=True)]


def fit_costs(
    measurer: Measurer, target: Target, reads: Reads, *, every: int = EVERY, only: Sequence[str] = (), say: Say = silent
) -> CostFit:
    """Measures layers with each of their kernels and fits the costs of kernel families. `only`: measure these families,
    and keep the target's costs of others; `every`: take every Nth layer that has several kernels."""
    core = BoardCore(name=target.name, only=frozenset(only), target=target, measurer=measurer, reads=reads)
    parts = layers_of(core, every)
    samples = []
    for n, part in enumerate(parts, 1):
        say(f"measuring layers on {measurer.title}: part {n} of {len(parts)}")
        samples += measure_model(core, part)
    samples = merged(samples)
    if not samples:
        raise MoteError(f"no layer has kernels of {', '.join(only)}", remedy="name families of the target's table")
    tables = fit(samples, known(core) if only else CostTables({}, {}, known_levels(core)))
    if not only:
        tables.cycles[SIGNAL] = signals(core)
        tables.cycles[cost.SLIDE] = sliding(core)
        keep(core, tables)
    errors = {
        family: mean(abs(predicted(tables.cycles, s) / s.cycles - 1) for s in own)
        for family, own in sorted(families(samples).items())
    }
    error = mean(abs(predicted(tables.cycles, s) / s.cycles - 1) for s in samples)
    compiler = toolchain.find_compiler(target)
    measured = f"{compiler.kind} {compiler.version}, {measurer.title}"
    return CostFit(table_text(tables, measured), error, errors, len(samples))
