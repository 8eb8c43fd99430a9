"""Training of a network on data, and its accuracy on data that it was not trained on."""

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
"""How networks learn from a teacher."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Samples as a network takes them, after preprocessing, with their labels."""

    inputs: Array
    """[samples, height, width, channels] or [samples, features], float32."""
    labels: Array
    """[samples] whole numbers are classes; [samples] or [samples, k] real ones are to be computed."""

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.labels):
            raise MoteError(f"{len(self.inputs)} samples have {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, chosen: slice | Array) -> Examples:
        return Examples(self.inputs[chosen], self.labels[chosen])


@dataclass(frozen=True)
class NetworkRecipe(Recipe):
    """How a network is trained from the beginning. One thread, so that the number of workers that train several
    networks does not change any."""

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
    """The recipe with a teacher, whose outputs count IMITATION times as much as labels. Learning rate and weight decay
    are as strong as without one."""
    share = 1 + IMITATION
    return replace(
        recipe,
        imitation=IMITATION,
        temperature=TEMPERATURE,
        rate=recipe.rate / share,
        decay=recipe.decay * share,
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
    """Train a module in place, from where it is: a module that was trained before goes on with a warm restart of the
    learning rate, in the same process or, from its `state`, in another.

    The same module, data and recipe give the same weights in every process and on every machine with processors of the
    same kind. Processors of other kinds and accelerators round sums of floats otherwise, and give other weights."""
    recipe = recipe or NetworkRecipe()
    inputs = torch.from_numpy(np.ascontiguousarray(data.inputs, np.float32))
    labels = torch.from_numpy(np.asarray(data.labels, np.int64 if module.network.classes else np.float32))
    augment = augmenting(recipe.augment, [module.network.input], recipe.seed)
    fit(module, [inputs], labels, recipe, teacher=teacher, augment=augment, device=device, progress=progress)


def evaluate(module: NetworkModule, data: Examples) -> float:
    """The accuracy; for a regression, the coefficient of determination (R2)."""
    outputs = module.predict(data.inputs)
    if module.network.classes:
        right = (outputs[:, 0] > 0) if outputs.shape[1] == 1 else outputs.argmax(1)
        return float((right == data.labels.reshape(-1)).mean())
    wanted = data.labels.reshape(outputs.shape).astype(np.float64)
    return 1 - float(np.square(outputs - wanted).sum() / np.square(wanted - wanted.mean(0)).sum())
