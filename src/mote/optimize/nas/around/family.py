"""The family of networks around a user's float model, whose weights come from it: refitted, distilled, quantized."""

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
"""Samples that importance, refitted weights and ranges of activations come from."""
SCORED = 2048
"""Samples that a candidate learns from before it is scored."""
PLAIN = Methods(equalize=False, correct_biases=True, rounding="nearest")
"""Quantization of candidates that are only scored."""
PRUNED = 8
"""Pruned models among the choices that a search begins with."""
AWARE = 3
"""Quantization-aware training takes one of so many epochs."""
SUM = 0.1
"""The most that quantized probabilities differ from 1 in sum; scores that differ more are logits."""
FLOAT = "float.tflite"
"""The name of a member's float model."""
TUNING, TRAINING = "mote.optimize.train.tuning", "mote.optimize.nas.around.training"
"""Loaded only for training, as they need PyTorch."""


@dataclass(frozen=True, eq=False)
class AroundFamily:
    """Networks around a float model. They are scored by evolution, after a moment of distillation from the model."""

    name: str
    near: Neighbourhood
    seen: CalibratedModel
    """The model's ranges of activations, by which candidates are quantized to be priced, and the samples of them."""
    task: LearningTask
    pricing: GraphPricing
    preprocess: str = ""
    """The steps that make the model's input, as its file says."""
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
        """The family of a model for a task; its channels are ranked by what they save in cycles on the target."""
        cases = spread(task.train.cases(given.graph), SAMPLES)
        seen = prepared(given.graph, cases, PLAIN)
        near = Neighbourhood.of(seen.exact, cases, prices(seen.exact, seen, settings, "cycles"), precisions)
        return cls("around", near, seen, task, pricing, given.preprocess, augment, device)

    @cached_property
    def key(self) -> str:
        """A digest of all that results depend on."""
        data = [(part.inputs, part.labels) for part in (self.task.train, self.task.validation)]
        return digest(self.name, export(self.near.graph, self.name).data, data, self.pricing.key, self.augment)

    def first(self) -> Sequence[Choice]:
        """The model as it is, and pruned ones of all sizes."""
        count = len(self.near.steps)
        return [{}, *(self.near.pruned(n * count // PRUNED) for n in range(1, PRUNED + 1))]

    def random(self, rng: Random) -> Choice:
        return self.near.random(rng)

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        return self.near.mutated(choice, rng)

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        return self.near.crossed(one, other, rng)

    def described(self, choice: Choice) -> str:
        return self.near.described(choice)

    def costs(self, choice: Choice) -> NetworkCosts | DoesNotFit:
        graph, layers = numbered(self.near.graph_of(choice), self.near.layers_of(choice))
        seen = self.seen
        made = integers(graph, seen.ranges, Scheme(layers=layers), wide=seen.wide, insides=seen.insides)
        return self.pricing.costs(made.graph)

    def estimate(self, choice: Choice) -> None:
        return None

    def prepared(self, checkpoint: str, say: Say) -> Self:
        return self

    def score(self, choice: Choice, epochs: int) -> float:
        """Held-out accuracy of the quantized network after one short epoch. Of networks that are right as often, those
        that are surer of it have more, by less than a sample's worth."""
        few = spread_samples(self.task.train, SCORED)
        graph, layers = numbered(self._trained(choice, 1, few), self.near.layers_of(choice))
        cases = spread(self.task.train.cases(graph), SAMPLES)
        made = finished(prepared(graph, cases, PLAIN), Scheme(layers=layers)).integers.graph
        held = self.task.validation
        assert held.labels is not None
        answers = answered(made, held)
        doubt = (1 - confidence(answers, held.labels)) / len(held) if self.task.classes else 0.0
        return agreement(answers, held.labels, self.task.classes) - doubt

    def finish(self, choice: Choice, epochs: int) -> FinishedMember:
        """The network after distillation and quantization-aware training; the model as it is only quantized."""
        aware = max(epochs // AWARE, 1)
        trained = self._trained(choice, max(epochs - aware, 1), self.task.train)
        graph, layers = numbered(trained, self.near.layers_of(choice))
        cases = spread(self.task.train.cases(graph), SAMPLES)
        scheme = Scheme(layers=layers)
        if choice and not any(type(op) in COMPOSITES for op in graph.ops):
            training: Any = import_module(TRAINING)
            made = training.trained_aware(
                graph, cases, scheme, self.near.graph, self.task.train, aware, self.augment, self.device
            )
        else:
            made = finished(prepared(graph, cases, Methods()), scheme).integers.graph
        file = export(made, self.name, preprocess=self.preprocess).data
        return FinishedMember(
            files={MODEL: file, FLOAT: export(graph, self.name, preprocess=self.preprocess).data},
            validation=self.task.accuracy(file, self.task.validation),
        )

    def _trained(self, choice: Choice, epochs: int, data: Dataset) -> Graph:
        """The float graph of a choice: refitted layer by layer to what the model computes, then distilled from it."""
        graph = self.near.graph_of(choice)
        if graph is self.near.graph:
            return graph
        tuning: Any = import_module(TUNING)
        kept = self.near.zeros_of(choice, graph)
        refit = refitted(self.near.graph, graph, self.seen.cases, kept)
        how = tuning.Tuning(epochs, self.augment, self.device)
        distilled: Graph = tuning.fine_tuned(refit, self.near.graph, data, kept, how)
        return distilled


def answered(graph: Graph, data: Dataset) -> Array:
    """The first output of a quantized graph, [samples, scores]."""
    answers = real(graph.tensors[graph.outputs[0]], outputs(graph, data.cases(graph))[0])
    return answers.reshape(len(answers), -1)


def confidence(answers: Array, labels: Array) -> float:
    """The mean probability of the right classes, from probabilities or logits."""
    scores = answers.astype(np.float64)
    if scores.shape[1] == 1:
        scores = np.column_stack([1 - scores, scores])
    if scores.min() < 0 or np.abs(scores.sum(axis=1) - 1).max() > SUM:
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        scores /= scores.sum(axis=1, keepdims=True)
    return float(np.clip(scores[np.arange(len(scores), dtype=np.int64), labels.astype(np.int64)], 0.0, 1.0).mean())
