"""Trains a network on examples and evaluates its accuracy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from mote.base.errors import MoteError
from mote.bench.execute.torch.module import LearnerModule
from mote.ir.graph.tensor import Array
from mote.optimize.nas.training.module import NetworkModule
from mote.optimize.train.augment import augmenting
from mote.optimize.train.training import Progress, Recipe, fit

IMITATION, TEMPERATURE = 4.0, 4.0
"""Distillation: weight of the teacher's loss relative to the labels' loss, and softmax temperature."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Preprocessed network inputs with their labels."""

    inputs: Array
    """Float32 inputs: [samples, height, width, channels] or [samples, features]."""
    labels: Array
    """Integer class labels [samples], or float regression values [samples] or [samples, k]."""

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.labels):
            raise MoteError(f"{len(self.inputs)} samples have {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, chosen: slice | Array) -> Examples:
        return Examples(self.inputs[chosen], self.labels[chosen])


@dataclass(frozen=True)
class NetworkRecipe(Recipe):
    """Hyperparameters for training a network from scratch. One thread, so that results do not depend on the number of
    parallel workers."""

    epochs: int = 30
    batch: int = 128
    rate: float = 0.1
    optimizer: str = "sgd"
    decay: float = 5e-4
    warmup: float = 1.0
    threads: int = 1
    augment: str = ""
    """Data augmentation such as "flip,shift=4"; see `mote.optimize.train.augment.augmenting`."""


def distilling(recipe: NetworkRecipe) -> NetworkRecipe:
    """The recipe for distillation: the teacher's loss weighs IMITATION times the labels' loss. Learning rate and weight
    decay are adjusted to keep their effective strength."""
    share = 1 + IMITATION
    return replace(
        recipe, imitation=IMITATION, temperature=TEMPERATURE, rate=recipe.rate / share, decay=recipe.decay * share
    )


def train_network(
    module: NetworkModule,
    data: Examples,
    recipe: NetworkRecipe | None = None,
    *,
    teacher: LearnerModule | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> None:
    """Train a module in place from its current weights; an already trained one continues with a warm restart of the
    learning rate, in this process or, from its `state`, in another.

    Equal modules, data and recipes give equal weights in every process on processors of the same kind. Other processors
    and accelerators round float sums differently."""
    recipe = recipe or NetworkRecipe()
    inputs = torch.from_numpy(np.ascontiguousarray(data.inputs, np.float32))
    labels = torch.from_numpy(np.asarray(data.labels, np.int64 if module.network.classes else np.float32))
    augment = augmenting(recipe.augment, [module.network.input], recipe.seed)
    fit(module, [inputs], labels, recipe, teacher=teacher, augment=augment, device=device, progress=progress)


def evaluate(module: NetworkModule, data: Examples) -> float:
    """Accuracy; R2 for a regression."""
    outputs = module.predict(data.inputs)
    if module.network.classes:
        right = (outputs[:, 0] > 0) if outputs.shape[1] == 1 else outputs.argmax(1)
        return float((right == data.labels.reshape(-1)).mean())
    wanted = data.labels.reshape(outputs.shape).astype(np.float64)
    return 1 - float(np.square(outputs - wanted).sum() / np.square(wanted - wanted.mean(0)).sum())
