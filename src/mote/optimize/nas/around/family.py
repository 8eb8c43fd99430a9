"""Search family around a user's float model: candidates inherit its weights, are refitted, distilled and quantized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from random import Random
from typing import Any, Self

import numpy as np

from mote.base.progress import Say
from mote.bench.evaluation.score import outputs, real
from mote.compiler.settings import Settings
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.tflite.export import export
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.compress.prune.costs import prices
from mote.optimize.compress.prune.reconstruct import refitted
from mote.optimize.compress.quantize.composites import COMPOSITES
from mote.optimize.compress.quantize.pipeline import CalibratedModel, Methods, finished, prepared
from mote.optimize.compress.quantize.post_training import spread
from mote.optimize.compress.quantize.quantizer import integers
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from mote.optimize.nas.around.given import GivenModel
from mote.optimize.nas.around.neighbourhood import Neighbourhood, numbered
from mote.optimize.nas.around.pricing import GraphPricing
from mote.optimize.nas.costs.network_costs import DoesNotFit, NetworkCosts
from mote.optimize.nas.family import MODEL, Choice, FinishedMember
from mote.optimize.nas.spaces.options import PRECISIONS
from mote.optimize.nas.tasks import LearningTask, agreement, spread_samples
from mote.optimize.search import digest

SAMPLES = 256
"""Calibration samples, used for channel importance, refitting weights and activation ranges."""
SCORED = 2048
"""Training samples of the short distillation before a candidate is scored."""
PLAIN = Methods(equalize=False, correct_biases=True, rounding="nearest")
"""Quicker quantization methods for candidates that are only scored, not shipped."""
PRUNED = 8
"""Number of pruned models in the initial population."""
AWARE = 3
"""Quantization-aware training gets 1 / AWARE of all epochs; distillation gets the others."""
SUM = 0.1
"""Outputs whose sum differs from 1 by at most this much are taken as probabilities, others as logits."""
FLOAT = "float.tflite"
"""File name of a member's float model."""
TUNING, TRAINING = "mote.optimize.train.tuning", "mote.optimize.nas.around.training"
"""Modules that need PyTorch, imported only when a candidate is trained."""


@dataclass(frozen=True, eq=False)
class AroundFamily:
    """Search family of the networks around a user's float model; each candidate is scored by a short distillation from
    that model."""

    name: str
    neighbourhood: Neighbourhood
    calibrated: CalibratedModel
    """The user's model with calibrated activation ranges, by which candidates are quantized when they are costed."""
    task: LearningTask
    pricing: GraphPricing
    preprocess: str = ""
    """Preprocessing steps of the model's input, from the metadata of its file."""
    augment: str = ""
    device: str = "auto"
    shared = True

    @classmethod
    def of(
        cls,
        given: GivenModel,
        task: LearningTask,
        settings: Settings,
        pricing: GraphPricing,
        *,
        precisions: Sequence[Precision] = PRECISIONS,
        augment: str = "",
        device: str = "auto",
    ) -> Self:
        """The search family of a model and a task; channels are ranked by importance per cycle saved on the target."""
        cases = spread(task.train.cases(given.graph), SAMPLES)
        calibrated = prepared(given.graph, cases, PLAIN)
        neighbourhood = Neighbourhood.of(
            calibrated.exact, cases, prices(calibrated.exact, calibrated, settings, "cycles"), precisions
        )
        return cls("around", neighbourhood, calibrated, task, pricing, given.preprocess, augment, device)

    @cached_property
    def key(self) -> str:
        """Digest of everything that results depend on."""
        data = [(part.inputs, part.labels) for part in (self.task.train, self.task.validation)]
        return digest(self.name, export(self.neighbourhood.graph, self.name).data, data, self.pricing.key, self.augment)

    def first(self) -> Sequence[Choice]:
        """The initial choices: the unchanged model, and models pruned to PRUNED sizes."""
        count = len(self.neighbourhood.steps)
        return [{}, *(self.neighbourhood.pruned(n * count // PRUNED) for n in range(1, PRUNED + 1))]

    def random(self, rng: Random) -> Choice:
        return self.neighbourhood.random(rng)

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        return self.neighbourhood.mutated(choice, rng)

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        return self.neighbourhood.crossed(one, other, rng)

    def described(self, choice: Choice) -> str:
        return self.neighbourhood.described(choice)

    def costs(self, choice: Choice) -> NetworkCosts | DoesNotFit:
        graph, layers = numbered(self.neighbourhood.graph_of(choice), self.neighbourhood.layers_of(choice))
        calibrated = self.calibrated
        quantized = integers(
            graph, calibrated.ranges, Scheme(layers=layers), wide=calibrated.wide, insides=calibrated.insides
        )
        return self.pricing.costs(quantized.graph)

    def estimate(self, choice: Choice) -> None:
        return None

    def prepared(self, checkpoint: str, say: Say) -> Self:
        return self

    def score(self, choice: Choice, epochs: int) -> float:
        """Validation accuracy of the quantized network after one short epoch; ties are broken by the confidence in the
        right classes, which weighs less than one sample."""
        few = spread_samples(self.task.train, SCORED)
        graph, layers = numbered(self._trained(choice, 1, few), self.neighbourhood.layers_of(choice))
        cases = spread(self.task.train.cases(graph), SAMPLES)
        quantized = finished(prepared(graph, cases, PLAIN), Scheme(layers=layers)).integers.graph
        held = self.task.validation
        assert held.labels is not None
        scores = first_output(quantized, held)
        doubt = (1 - confidence(scores, held.labels)) / len(held) if self.task.classes else 0.0
        return agreement(scores, held.labels, self.task.classes) - doubt

    def finish(self, choice: Choice, epochs: int) -> FinishedMember:
        """Distillation and quantization-aware training of the choice, written to files; the unchanged model is only
        quantized."""
        aware = max(epochs // AWARE, 1)
        trained = self._trained(choice, max(epochs - aware, 1), self.task.train)
        graph, layers = numbered(trained, self.neighbourhood.layers_of(choice))
        cases = spread(self.task.train.cases(graph), SAMPLES)
        scheme = Scheme(layers=layers)
        if choice and not any(type(op) in COMPOSITES for op in graph.ops):
            training: Any = import_module(TRAINING)
            quantized = training.trained_aware(
                graph, cases, scheme, self.neighbourhood.graph, self.task.train, aware, self.augment, self.device
            )
        else:
            quantized = finished(prepared(graph, cases, Methods()), scheme).integers.graph
        file = export(quantized, self.name, preprocess=self.preprocess).data
        return FinishedMember(
            files={MODEL: file, FLOAT: export(graph, self.name, preprocess=self.preprocess).data},
            validation=self.task.accuracy(file, self.task.validation),
        )

    def _trained(self, choice: Choice, epochs: int, data: Dataset) -> Graph:
        """The float graph of a choice with trained weights: refitted layer by layer to the user's model, then distilled
        from it."""
        graph = self.neighbourhood.graph_of(choice)
        if graph is self.neighbourhood.graph:
            return graph
        tuning: Any = import_module(TUNING)
        kept = self.neighbourhood.masks_of(choice, graph)
        refit = refitted(self.neighbourhood.graph, graph, self.calibrated.cases, kept)
        how = tuning.Tuning(epochs, self.augment, self.device)
        distilled: Graph = tuning.fine_tuned(refit, self.neighbourhood.graph, data, kept, how)
        return distilled


def first_output(graph: Graph, data: Dataset) -> Array:
    """First output of a quantized graph for each sample, dequantized: [samples, scores]."""
    answers = real(graph.tensors[graph.outputs[0]], outputs(graph, data.cases(graph))[0])
    return answers.reshape(len(answers), -1)


def confidence(answers: Array, labels: Array) -> float:
    """Mean probability of the true classes; logits are passed through softmax first."""
    scores = answers.astype(np.float64)
    if scores.shape[1] == 1:
        scores = np.column_stack([1 - scores, scores])
    if scores.min() < 0 or np.abs(scores.sum(axis=1) - 1).max() > SUM:
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        scores /= scores.sum(axis=1, keepdims=True)
    return float(np.clip(scores[np.arange(len(scores), dtype=np.int64), labels.astype(np.int64)], 0.0, 1.0).mean())
