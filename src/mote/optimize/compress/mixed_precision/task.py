"""Evaluation functions of a mixed-precision search: quantize with given precisions, score on labelled data, plan for a
target."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from math import isfinite
from typing import Any, TypedDict

import numpy as np

from mote.base.errors import BudgetError
from mote.bench.evaluation.score import rated, score
from mote.bench.execute import batch
from mote.bench.measure.run import run
from mote.bench.metrics import Score, noise
from mote.compiler.line import compile, planned
from mote.compiler.plan.selection.code_size_model import flash
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.settings import Settings
from mote.frontends import Source, read
from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.elementwise.activations import Logistic
from mote.ir.ops.reductions.softmax import Softmax
from mote.optimize.compress.quantize.encode import real_numbers
from mote.optimize.compress.quantize.noise import graph_inputs
from mote.optimize.compress.quantize.pipeline import CalibratedModel, Methods, finished, prepared
from mote.optimize.compress.quantize.post_training import MOST_SAMPLES, Quantized, checked, post_training, spread
from mote.optimize.compress.quantize.quantizer import Integers
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.compress.quantize.types.precision_units import PrecisionUnit, layers_of, units
from mote.optimize.compress.quantize.types.type_assignment import is_real
from mote.optimize.search import digest
from mote.optimize.search.choices import Choice

PROBED = 256
"""Samples per sensitivity probe; output noise needs fewer than accuracy does."""
SEARCHED = 1000
"""Samples on which candidates are scored; the best is verified on all."""


class PlannedCosts(TypedDict):
    """Planner's cost estimates of a model on the target."""

    instructions: int
    flash: int
    ram: int


class Probed(TypedDict):
    """Result of a probe: output noise in dB and metric with only one layer quantized, and the model's cost."""

    noise: float | None
    value: float
    costs: PlannedCosts | None


class RefusedPrecision(TypedDict):
    """Result of a probe of a layer that cannot have the precision, with the reason."""

    refused: str


class Tried(TypedDict):
    """Score and costs of a model."""

    metric: str
    value: float
    better: str
    samples: int
    context: str
    """The confidence interval of an accuracy and the share of the largest class, as a text."""
    noise: float | None
    """Signal-to-noise ratio in dB on the probe samples; None if equal to the float model."""
    costs: PlannedCosts | None


class Ran(TypedDict):
    """Measurements of a model on the emulated target, and the tools' names."""

    tools: str
    instructions: int | None
    flash: int
    ram: int


@dataclass(frozen=True)
class Probe:
    """A probe of one layer in a precision: noise is measured with all other layers float, cost with all others in
    precision `base`."""

    unit: int
    precision: str
    base: str


@dataclass(frozen=True)
class Trial:
    """Precisions of all layers to score, on the search's samples or (`whole`) on all; empty for the float model."""

    precisions: Choice
    whole: bool = False


@dataclass(frozen=True, eq=False)
class MixedPrecisionTask:
    """Shared input of all evaluations, sent to each worker once."""

    model: Source
    calibration: Dataset
    test: Dataset
    metric: str
    methods: Methods
    io: str
    settings: Settings
    samples: int = MOST_SAMPLES
    """Maximum number of calibration samples; 0 for all."""
    compiler: str | None = None
    emulator: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Pickles the fields without cached properties, which are large and can be recomputed."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def key(self) -> str:
        """Digest of everything that results depend on, except the evaluated item."""
        return digest(self)

    @cached_property
    def graph(self) -> Graph:
        """The float model in normal form."""
        return checked(read(self.model).graph(), Scheme())

    @cached_property
    def units(self) -> list[PrecisionUnit]:
        return units(self.graph)

    @cached_property
    def prepared(self) -> CalibratedModel:
        return prepared(self.graph, spread(self.calibration.cases(self.graph), self.samples), self.methods)

    def integers_of(self, precisions: Choice) -> Integers:
        """Quantizes the model with these precisions."""
        scheme = Scheme(Precision.INT8, layers_of(self.units, precisions))
        return finished(self.prepared, scheme, io=self.io).integers

    def labelled(self, most: int) -> Dataset:
        """At most `most` labelled samples, evenly spaced."""
        count = len(self.test)
        return self.test if count <= most else self.test.take(np.arange(most, dtype=np.int64) * count // most)

    @cached_property
    def probed_tensor(self) -> int:
        """Tensor whose noise measures the loss: the first float output before a softmax or sigmoid; if all outputs are
        integers, the float tensor that they are computed from."""
        graph = self.graph
        tensor = next((t for t in graph.outputs if is_real(graph, t)), graph.outputs[0])
        while not is_real(graph, tensor):
            tensor = graph.producers[tensor].inputs[0]
        last = graph.producers[tensor]
        return last.inputs[0] if isinstance(last, Softmax | Logistic) else tensor

    @cached_property
    def exact(self) -> Array:
        """Values of the probed tensor in the float model on the probe samples."""
        return self._values(self.graph, self.labelled(PROBED))[0]

    def _values(self, graph: Graph, data: Dataset) -> tuple[Array, Array]:
        """Dequantized values of the probed tensor, and the first output."""
        cases = [graph_inputs(graph, case) for case in data.cases(self.graph)]
        output = graph.outputs[0]
        batches = list(batch.evaluate(graph, cases, {self.probed_tensor, output}))
        arrays = [np.concatenate([values[t] for values in batches]) for t in (self.probed_tensor, output)]
        return real_numbers(arrays[0], graph.tensors[self.probed_tensor].quant), arrays[1]

    def probed_noise(self, graph: Graph) -> tuple[float, Score]:
        """Signal-to-noise ratio in dB at the probed tensor, and the score on the same samples."""
        data = self.labelled(PROBED)
        probed_values, answers = self._values(graph, data)
        shape = (len(data), *graph.tensors[graph.outputs[0]].shape[1:])
        return noise(self.exact, probed_values), rated(
            self.metric, graph, answers.reshape(shape), data.cases(graph), data
        )

    def costs(self, graph: Graph) -> PlannedCosts | None:
        """Planner's cost estimates of a model, or None if it does not fit the target."""
        s = self.settings
        try:
            plan = planned(graph, s, self.model.where)
        except BudgetError:
            return None
        return {
            "instructions": round(estimate(s.costs, plan)),
            "flash": round(flash(steps[0].kernel for _, steps in plan.works)),
            "ram": plan.ram,
        }


def probed(task: MixedPrecisionTask, probe: Probe) -> Probed | RefusedPrecision:
    """Evaluation function of a probe: noise, score and cost, or why the layer cannot have the precision."""
    count = len(task.units)
    alone = task.integers_of(_one_other(Precision.FLOAT32, count, probe))
    if alone.precisions[task.units[probe.unit].layer] != probe.precision:
        return {"refused": alone.refused.get(task.units[probe.unit].layer, "")}
    decibels, rating = task.probed_noise(alone.graph)
    with_base = task.integers_of(_one_other(probe.base, count, probe))
    return {
        "noise": decibels if isfinite(decibels) else None,
        "value": rating.value,
        "costs": task.costs(with_base.graph),
    }


def _one_other(base: str, count: int, probe: Probe) -> Choice:
    return tuple(probe.precision if i == probe.unit else str(base) for i in range(count))


def tried(task: MixedPrecisionTask, trial: Trial) -> Tried:
    """Evaluation function of a trial: score and cost of a model."""
    graph = task.integers_of(trial.precisions).graph if trial.precisions else task.graph
    rating = score(graph, task.test if trial.whole else task.labelled(SEARCHED), task.metric)
    return {
        "metric": rating.metric,
        "value": rating.value,
        "better": rating.better,
        "samples": rating.samples,
        "context": rating.context,
        "noise": decibels if trial.precisions and isfinite(decibels := task.probed_noise(graph)[0]) else None,
        "costs": task.costs(graph),
    }


def ran(task: MixedPrecisionTask, precisions: Choice) -> Ran:
    """Evaluation function that runs a model on the emulated target."""
    exact = set(precisions) == {Precision.FLOAT32}
    compiled = compile(task.model if exact else file_of(task, precisions).source, task.settings)
    measured = run(compiled, compiler=task.compiler, emulator=task.emulator, layers=False)
    return {
        "tools": f"{measured.emulator}, {measured.compiler}",
        "instructions": measured.instructions,
        "flash": measured.flash.total,
        "ram": measured.ram.arena + (measured.ram.static or 0),
    }


def file_of(task: MixedPrecisionTask, precisions: Choice) -> Quantized:
    """The quantized model, as `mote quantize` writes it."""
    return post_training(
        task.model,
        task.calibration,
        precision=Precision.INT8,
        layers={i: str(p) for i, p in layers_of(task.units, precisions).items()},
        **asdict(task.methods),
        io=task.io,
        samples=task.samples,
    )
