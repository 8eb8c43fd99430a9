"""The table of kernels' costs of a core, fitted to layers that ran on a board.

A board measures cycles with waits for its memory; the same layers are traced on the emulated core, whose simulation of
the fitted memory says how many of them are waits, and how many bytes of constants are read.
"""

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
    """A table of costs, and how well it describes the layers that were measured."""

    table: str
    """The table as JSON."""
    error: float
    """Mean relative error of all layers."""
    families: dict[str, float]
    """Mean relative error of the layers of each family."""
    layers: int
    """Layers that were measured, each with each of its kernels."""


@dataclass(frozen=True, kw_only=True)
class BoardCore(CostCore):
    """A core on a board, with memory whose timing is known."""

    target: Target
    measurer: Measurer
    reads: Reads

    @cached_property
    def settings(self) -> Settings:
        """Settings for the target of the board."""
        return make_settings(self.target, optimize=self.level)

    def taken(self, compiled: Compiled) -> list[StepCost]:
        """The measured cycles of each step, less those that it waits for memory by the fitted timing."""
        subject, inputs = firmware(compiled), stimulus(compiled.plan.graph, None)[0]
        with temporary_folder() as folder:
            on = bench(replace(subject, target=with_reads(self.target, self.reads)), folder)
            modelled = marked_steps(on, inputs)
        measured = self.measurer.steps(subject, inputs)
        if len(measured) != len(modelled):
            raise MoteError(f"measured {len(measured)} steps of {len(modelled)}", where=self.measurer.title)
        waits = (each.waits.code + each.waits.constants for each in modelled)
        cycles = (max(taken - waited, 1) for taken, waited in zip(measured, waits, strict=True))
        return [StepCost(taken, each.waits.loaded) for taken, each in zip(cycles, modelled, strict=True)]


def fit_costs(
    measurer: Measurer,
    target: Target,
    reads: Reads,
    *,
    every: int = EVERY,
    only: Sequence[str] = (),
    say: Say = silent,
) -> CostFit:
    """Measures layers with each of their kernels and fits what the families of kernels cost. `only` measures some
    families, and keeps what the target's table says of all others; `every` takes every Nth layer with a choice."""
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
