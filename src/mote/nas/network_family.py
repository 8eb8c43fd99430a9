"""The family of a space's networks: trained in PyTorch one by one, or as subnets of one supernet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from random import Random
from typing import Any, Protocol, Self

import numpy as np

from mote.data.dataset_type import Dataset
from mote.extras import require
from mote.frontends.tflite.export import export
from mote.graph.tensor import Array
from mote.nas.costs.network_costs import DoesNotFit, NetworkCosts
from mote.nas.family import MODEL, Choice, FinishedMember
from mote.nas.folding import folded, takes_scale, with_outputs
from mote.nas.graphs import onnx_file
from mote.nas.spaces.network import Network, Weights
from mote.nas.spaces.space import SearchSpace
from mote.nas.tasks import LearningTask
from mote.progress import Say
from mote.search import digest

TRAINING, MODULE = "mote.nas.training.fit", "mote.nas.training.module"
AWARE = "mote.nas.training.quantized"
"""Loaded only for training, as they need PyTorch."""
BATCHES, FEWEST, MOST = 40, 16, 128
"""Batches of an epoch at least, and limits of samples in a batch: little data is trained on in small batches."""
PART = 4
"""Quantization-aware training takes one epoch for so many of float training."""
FLOAT = "model.onnx"
SAMPLES = 256
"""Samples that the ranges of activations come from."""


class NetworkPricing(Protocol):
    """Costs of networks on a target."""

    @property
    def key(self) -> str:
        """A digest of target, settings and limits."""

    def costs(self, network: Network) -> NetworkCosts | DoesNotFit:
        """The costs of the int8 model, or why it exceeds a limit."""


@dataclass(frozen=True, eq=False)
class NetworkFamily:
    """Networks of a space for a task. Raw sounds have a task behind each front end, which is then a decision."""

    name: str
    space: SearchSpace
    tasks: tuple[LearningTask, ...]
    pricing: NetworkPricing
    seed: int = 0
    augment: str = ""
    device: str = "auto"

    @classmethod
    def of(
        cls,
        space: SearchSpace,
        tasks: Sequence[LearningTask],
        pricing: NetworkPricing,
        *,
        seed: int = 0,
        augment: str = "",
        device: str = "auto",
    ) -> Self:
        """The family of a space; training needs PyTorch."""
        require("torch", extra="torch", what="mote.search")
        if len(tasks) > 1:
            space = replace(space, preprocess=tuple(task.front_end for task in tasks))
        return cls(space.name, space, tuple(tasks), pricing, seed, augment, device)

    @property
    def shared(self) -> bool:
        return False

    @cached_property
    def key(self) -> str:
        data = [
            (task.steps, task.scale, part.inputs, part.labels)
            for task in self.tasks
            for part in (task.train, task.validation)
        ]
        return digest(self.space, data, self.pricing.key, self.seed, self.augment, self.device)

    def first(self) -> Sequence[Choice]:
        return [self.space.smallest(), self.space.largest()]

    def random(self, rng: Random) -> Choice:
        return self.space.random(rng)

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        return self.space.mutated(choice, rng)

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        return self.space.crossed(one, other, rng)

    def described(self, choice: Choice) -> str:
        return ", ".join(f"{name} {value}" for name, value in choice.items()) or "the only network"

    def network(self, choice: Choice) -> Network:
        """The network of a choice, behind the front end of its task."""
        task = self.task(choice)
        made = self.space.network(choice, task.input, task.outputs, task.classes)
        return replace(made, preprocess=task.front_end)

    def task(self, choice: Choice) -> LearningTask:
        """The task behind the front end of a choice."""
        wanted = choice.get("preprocess")
        return next((task for task in self.tasks if task.front_end == wanted), self.tasks[0])

    def costs(self, choice: Choice) -> NetworkCosts | DoesNotFit:
        return self.pricing.costs(self.network(choice))

    def prepared(self, checkpoint: str, say: Say) -> Self:
        return self

    def score(self, choice: Choice, epochs: int) -> float:
        network, task = self.network(choice), self.task(choice)
        training: Any = import_module(TRAINING)
        return float(training.evaluate(self._trained(network, task, epochs), _examples(network, task, task.validation)))

    def finish(self, choice: Choice, epochs: int) -> FinishedMember:
        network, task = self.network(choice), self.task(choice)
        module = self._trained(network, task, epochs)
        weights = self._exported(network, task, module.weights())
        training, aware = import_module(TRAINING), import_module(AWARE)
        data = training.Examples(task.inputs(task.train), np.asarray(task.train.labels))
        recipe = aware.QuantizedRecipe(
            max(epochs // PART, 1), _batch(task), seed=self.seed, augment=self.augment, calibration=SAMPLES
        )
        made = aware.quantize_aware(network, weights, data, recipe, name="model", labels=task.names, device=self.device)
        file = export(made.graph, "model", preprocess=task.front_end).data if task.front_end else made.data
        files = {MODEL: file, FLOAT: onnx_file(network, weights, "model", task.names)}
        return FinishedMember(files, task.accuracy(file, task.validation), steps=task.steps)

    def _trained(self, network: Network, task: LearningTask, epochs: int) -> Any:
        """The module of a network after so many epochs."""
        training: Any = import_module(TRAINING)
        module = import_module(MODULE).NetworkModule(network, self.seed)
        recipe = training.NetworkRecipe(epochs, _batch(task), seed=self.seed, augment=self.augment)
        training.train_network(module, _examples(network, task, task.train), recipe, device=self.device)
        return module

    def _exported(self, network: Network, task: LearningTask, weights: Weights) -> Weights:
        """Weights for data as it is."""
        weights = folded(network, weights, _scale(network, task))
        return weights if task.classes else with_outputs(network, weights, *_standard(task))


def _scale(network: Network, task: LearningTask) -> float:
    """The scale that inputs are divided by in training: one that the network can take over."""
    return task.scale if takes_scale(network) else 1.0


def _batch(task: LearningTask) -> int:
    return min(max(len(task.train) // BATCHES, FEWEST), MOST)


def _standard(task: LearningTask) -> tuple[Array, Array]:
    """The deviation and the mean of each value of a regression."""
    labels = np.asarray(task.train.labels, np.float64).reshape(len(task.train), -1)
    deviation = labels.std(0)
    return np.where(deviation > 0, deviation, 1.0), labels.mean(0)


def _examples(network: Network, task: LearningTask, data: Dataset) -> Any:
    """Samples and labels as the network is trained with them."""
    training: Any = import_module(TRAINING)
    labels = np.asarray(data.labels)
    if not task.classes:
        deviation, mean = _standard(task)
        labels = ((labels.reshape(len(labels), -1) - mean) / deviation).astype(np.float32)
    return training.Examples(task.inputs(data, _scale(network, task)), labels)
