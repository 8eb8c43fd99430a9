"""Evaluations of a mixed-precision search: builds models with given precisions, scores them on labelled data and plans
them for a target."""

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
from mote.optimize.compress.quantize.noise import given
from mote.optimize.compress.quantize.pipeline import CalibratedModel, Methods, finished, prepared
from mote.optimize.compress.quantize.post_training import MOST_SAMPLES, Quantized, checked, post_training, spread
from mote.optimize.compress.quantize.quantizer import Integers
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.compress.quantize.types.precision_units import PrecisionUnit, layers_of, units
from mote.optimize.compress.quantize.types.type_assignment import is_real
from mote.optimize.search import digest
from mote.optimize.search.choices import Choice

PROBED = 256
"""Samples for the sensitivity of layers: noise at an output needs fewer samples than accuracy."""
SEARCHED = 1000
"""Samples on which candidates are scored; the best one is verified on all."""


class PlannedCosts(TypedDict):
    """The planner's estimates for a model on the target."""

    instructions: int
    flash: int
    ram: int


class Probed(TypedDict):
    """The loss of one layer alone, in dB and in the metric, and what the model costs."""

    noise: float | None
    value: float
    costs: PlannedCosts | None


class RefusedPrecision(TypedDict):
    """The reason why a layer cannot have a precision."""

    refused: str


class Tried(TypedDict):
    """The score and the costs of a model."""

    metric: str
    value: float
    better: str
    samples: int
    context: str
    """The confidence interval of an accuracy and the share of the largest class, as a text."""
    noise: float | None
    """Signal-to-noise ratio in dB on the samples of probes; None where nothing differs from the float model."""
    costs: PlannedCosts | None


class Ran(TypedDict):
    """Measurements of a model on the emulated target, and the tools that made them."""

    tools: str
    instructions: int | None
    flash: int
    ram: int


@dataclass(frozen=True)
class Probe:
    """One layer alone in a precision, all others float; its cost is measured with all others in the base precision."""

    unit: int
    precision: str
    base: str


@dataclass(frozen=True)
class Trial:
    """Precisions of all layers, scored on the search's samples or on all; without precisions: the float model."""

    precisions: Choice
    whole: bool = False


@dataclass(frozen=True, eq=False)
class MixedPrecisionTask:
    """The shared state of a search, sent to each worker once."""

    model: Source
    calibration: Dataset
    test: Dataset
    metric: str
    methods: Methods
    io: str
    settings: Settings
    samples: int = MOST_SAMPLES
    """The most inferences that calibrate; 0: all."""
    compiler: str | None = None
    emulator: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Omits cached properties, which are large and can be computed again."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def key(self) -> str:
        """Digest of everything that results depend on, except the item."""
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

    def made(self, precisions: Choice) -> Integers:
        """Quantizes the model with these precisions."""
        scheme = Scheme(Precision.INT8, layers_of(self.units, precisions))
        return finished(self.prepared, scheme, io=self.io).integers

    def labelled(self, most: int) -> Dataset:
        """A subset of the labelled samples, evenly spread."""
        count = len(self.test)
        return self.test if count <= most else self.test.take(np.arange(most, dtype=np.int64) * count // most)

    @cached_property
    def heard(self) -> int:
        """The tensor whose noise measures the loss: the first float output, before a softmax or sigmoid; where all
        outputs are integers, the tensor that they are computed from."""
        graph = self.graph
        tensor = next((t for t in graph.outputs if is_real(graph, t)), graph.outputs[0])
        while not is_real(graph, tensor):
            tensor = graph.producers[tensor].inputs[0]
        last = graph.producers[tensor]
        return last.inputs[0] if isinstance(last, Softmax | Logistic) else tensor

    @cached_property
    def exact(self) -> Array:
        """The values of that tensor in the float model, for the samples of probes."""
        return self._values(self.graph, self.labelled(PROBED))[0]

    def _values(self, graph: Graph, data: Dataset) -> tuple[Array, Array]:
        """The probed tensor, dequantized, and the first output."""
        cases = [given(graph, case) for case in data.cases(self.graph)]
        output = graph.outputs[0]
        batches = list(batch.evaluate(graph, cases, {self.heard, output}))
        arrays = [np.concatenate([values[t] for values in batches]) for t in (self.heard, output)]
        return real_numbers(arrays[0], graph.tensors[self.heard].quant), arrays[1]

    def heard_noise(self, graph: Graph) -> tuple[float, Score]:
        """Signal-to-noise ratio in dB, and the score on the same samples."""
        data = self.labelled(PROBED)
        heard, answers = self._values(graph, data)
        shape = (len(data), *graph.tensors[graph.outputs[0]].shape[1:])
        return noise(self.exact, heard), rated(self.metric, graph, answers.reshape(shape), data.cases(graph), data)

    def costs(self, graph: Graph) -> PlannedCosts | None:
        """The planner's estimates for a model on the target; None where it does not fit."""
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
    """Evaluates one layer in a precision: noise, score and costs, or why the layer cannot have the precision."""
    count = len(task.units)
    alone = task.made(_one_other(Precision.FLOAT32, count, probe))
    if alone.precisions[task.units[probe.unit].layer] != probe.precision:
        return {"refused": alone.refused.get(task.units[probe.unit].layer, "")}
    decibels, rating = task.heard_noise(alone.graph)
    in_base = task.made(_one_other(probe.base, count, probe))
    return {
        "noise": decibels if isfinite(decibels) else None,
        "value": rating.value,
        "costs": task.costs(in_base.graph),
    }


def _one_other(base: str, count: int, probe: Probe) -> Choice:
    return tuple(probe.precision if i == probe.unit else str(base) for i in range(count))


def tried(task: MixedPrecisionTask, trial: Trial) -> Tried:
    """Scores and plans a model."""
    graph = task.made(trial.precisions).graph if trial.precisions else task.graph
    rating = score(graph, task.test if trial.whole else task.labelled(SEARCHED), task.metric)
    return {
        "metric": rating.metric,
        "value": rating.value,
        "better": rating.better,
        "samples": rating.samples,
        "context": rating.context,
        "noise": decibels if trial.precisions and isfinite(decibels := task.heard_noise(graph)[0]) else None,
        "costs": task.costs(graph),
    }


def ran(task: MixedPrecisionTask, precisions: Choice) -> Ran:
    """Measures a model on the emulated target."""
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
    """Quantizes the model as `mote quantize` writes it."""
    return post_training(
        task.model,
        task.calibration,
        precision=Precision.INT8,
        layers={i: str(p) for i, p in layers_of(task.units, precisions).items()},
        **asdict(task.methods),
        io=task.io,
        samples=task.samples,
    )
