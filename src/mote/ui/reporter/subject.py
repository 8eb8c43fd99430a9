"""A model on one target, compiled and measured: what the sections of a report are made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mote.base.errors import BoardError, MoteError
from mote.bench.evaluation.result import Evaluation
from mote.bench.measure.energy.capture import Capture
from mote.bench.measure.energy.meters import read_capture
from mote.bench.measure.energy.profiled import energy_of
from mote.bench.measure.profiler import Profile, profile
from mote.bench.measure.profiler.costs import check_cycles
from mote.bench.measure.run import RunResult, run
from mote.bench.measure.runner import missing_tools
from mote.bench.pictures.memory import MemoryMap
from mote.compiler.compiled import Compiled, kernel_label
from mote.compiler.plan.plan import Step
from mote.frontends.data.dataset import Dataset
from mote.ir.graph import Op
from mote.ir.graph.io_order import model_shape
from mote.ir.graph.region import Region
from mote.optimize.search.explorer import Front


@dataclass(frozen=True)
class PlannedLayer:
    """A layer of a plan: operators that one kernel computes. Every section calls it by its number."""

    number: str
    """Its number in `mote plan`: 3, or 3+4 for operators that are computed together."""
    short: str
    """A short name that no other layer has."""
    name: str
    op: str
    kernel: str
    macs: int
    constants: int
    """Bytes of flash."""
    shape: tuple[int, ...]
    dtype: str
    instructions: int | None = None
    cycles: int | None = None
    """Of one inference, where they were counted."""


LayerWork = tuple[PlannedLayer, Op, tuple[Step, ...]]
"""A layer, its operators as one, and the steps that compute it."""


def members(op: Op) -> tuple[Op, ...]:
    """The operators that a kernel computes together: mostly one."""
    return op.ops if isinstance(op, Region) else (op,)


@dataclass(frozen=True)
class Subject:
    """A model compiled for one target, with its measurements."""

    compiled: Compiled
    front: Front | None = None
    profile: Profile | None = None
    ran: RunResult | None = None
    reason: str = ""
    """Why instructions or cycles are not known, where they are not."""

    @property
    def target(self) -> str:
        return self.compiled.settings.target.name

    @cached_property
    def memory(self) -> MemoryMap:
        return MemoryMap(self.compiled.plan)

    @property
    def layers(self) -> tuple[PlannedLayer, ...]:
        return tuple(layer for layer, _, _ in self.works)

    @cached_property
    def works(self) -> tuple[LayerWork, ...]:
        """Layers in the order in which they run, inputs that are handed over row by row left out."""
        plan = self.compiled.plan
        planned = [(i, op, steps) for i, (op, steps) in enumerate(plan.works) if plan.number(steps[0])]
        return tuple((self._layer(i, op, steps[0]), op, steps) for i, op, steps in planned)

    def _layer(self, index: int, op: Op, step: Step) -> PlannedLayer:
        graph = self.compiled.plan.graph
        output = graph.tensors[op.outputs[0]]
        return PlannedLayer(
            self.compiled.plan.number(step),
            graph.short_name(op),
            op.name,
            op.kind,
            kernel_label(self.compiled, index),
            op.macs(graph),
            step.kernel.constants,
            tuple(model_shape(output)),
            str(output.dtype),
            *self._costs.get(self.compiled.plan.number(step), (None, None)),
        )

    @cached_property
    def _costs(self) -> dict[str, tuple[int | None, int]]:
        """Instructions and cycles by the number of the layer."""
        layers = self.profile.layers if self.profile is not None else []
        return {layer.number: (layer.instructions, layer.cycles) for layer in layers}


@dataclass(frozen=True)
class Subjects:
    """The subject of a report: a model on one or several targets, its accuracy, and what it is compared with."""

    targets: tuple[Subject, ...]
    data: Dataset | None = None
    evaluation: Evaluation | None = None
    against: dict[str, Any] | None = None
    """Another model, or an earlier report, to compare with: `title`, and `target` as in the data of a report."""

    @property
    def first(self) -> Subject:
        return self.targets[0]


def measured(compiled: Compiled) -> Subject:
    """Measures a compiled model on its target, as far as the tools that are installed can."""
    target = compiled.settings.target
    obstacle = missing_tools(target)
    if obstacle is not None:
        return Subject(compiled, reason=_said(obstacle))
    try:
        ran = run(compiled, layers=False)
    except BoardError as error:
        return Subject(compiled, reason=_said(error))
    try:
        check_cycles(target)
    except MoteError as error:
        return Subject(compiled, ran=ran, reason=_said(error))
    try:
        return Subject(compiled, profile=profile(compiled), ran=ran)
    except BoardError as error:  # the profiled firmware is larger
        return Subject(compiled, ran=ran, reason=_said(error))


def metered(subject: Subject, capture: Capture | str | Path, volts: float | None) -> Subject:
    """The subject with the energy of a meter's capture."""
    if subject.profile is None:
        raise MoteError(f"needs a profile: {subject.reason}", where="option capture", remedy="omit it")
    plan, target = subject.compiled.plan, subject.compiled.settings.target
    given = capture if isinstance(capture, Capture) else read_capture(capture, volts=volts or target.volts)
    return replace(subject, profile=replace(subject.profile, measured=energy_of(subject.profile, plan, given)))


def _said(error: MoteError) -> str:
    """An error in one line."""
    return "; ".join(part for part in (error.reason, error.remedy) if part)
