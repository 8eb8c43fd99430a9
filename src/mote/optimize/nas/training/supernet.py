"""A supernet: the weights of a space's largest network, of which all other networks use slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from time import monotonic

import numpy as np
import torch
from torch.nn import functional

from mote.base.errors import MoteError
from mote.bench.execute.torch.float32.common import Value
from mote.bench.execute.torch.module import LearnerModule
from mote.ir.graph.tensor import Array
from mote.optimize.nas.spaces.layers import NetworkLayer, Shape
from mote.optimize.nas.spaces.network import Network
from mote.optimize.nas.training.fit import Examples, NetworkRecipe
from mote.optimize.nas.training.layer_modules import MODULES, STATISTICS, WeightModule
from mote.optimize.nas.training.module import CHUNK, NetworkModule, computed
from mote.optimize.train.augment import augmenting
from mote.optimize.train.training import Progress, distillation_loss, fit, label_loss, repeatable

Sampler = Callable[[Random], Network]
"""Samples a random network of the space."""
TIMED = 4
"""Number of batches that are timed."""


class Supernet(LearnerModule):
    """The weights of a largest network, shared by all networks whose layers of equal name are at most as large: they
    use the leading channels and kernel centers."""

    def __init__(self, largest: Network, seed: int = 0) -> None:
        super().__init__()
        self.largest = largest
        self.module = NetworkModule(largest, seed)

    def forward(self, x: Value, network: Network | None = None) -> Value:
        """Logits of a network (by default the largest), using batch statistics in batch normalization. Images of other
        sizes are resized."""
        chosen = network or self.largest

        def compute(layer: NetworkLayer, inputs: list[Value]) -> Value:
            given = chosen.given(layer)
            tensors = {name: value for name, value in self._sliced(layer, given).items() if not _is_statistic(name)}
            return MODULES[type(layer)](layer, given, None).compute(tensors, *inputs)

        return computed(chosen, resized(x, chosen.input), compute)

    def _sliced(self, layer: NetworkLayer, given: Sequence[Shape]) -> dict[str, Value]:
        if not self.module.has(layer.name):
            raise MoteError("is no layer of the largest network", where=f"layer '{layer.name}'")
        return self.module.layer(layer.name).sliced(layer, given)

    def subnet(self, network: Network) -> NetworkModule:
        """A copy of a network's slices as a module, with batch normalization yet to be calibrated."""
        module = NetworkModule(network).to(next(self.parameters()).device)
        for layer in network.layers:
            own = module.layer(layer.name).tensors()
            for name, value in self._sliced(layer, network.given(layer)).items():
                if own[name].shape != value.shape:
                    raise MoteError("is larger than in the largest network", where=f"layer '{layer.name}'")
                own[name].data.copy_(value.detach())
        return module.eval()

    def state(self) -> bytes:
        """Serialized tensors, from which subnets can be sliced in another process."""
        return self.module.state()

    def load_state(self, state: bytes) -> Supernet:
        """Loads tensors serialized by `state`."""
        self.module.load_state(state)
        return self


def _is_statistic(name: str) -> bool:
    return name.rpartition(".")[2] in STATISTICS


def resized(x: Value, shape: Shape) -> Value:
    """Images [n, height, width, channels] resized to the height and width of `shape`, bilinear with antialiasing."""
    if tuple(x.shape[1:3]) == shape[:2] or len(shape) != 3:
        return x
    smaller = functional.interpolate(x.permute(0, 3, 1, 2), shape[:2], mode="bilinear", antialias=True)
    return smaller.permute(0, 2, 3, 1)


class ResizingTeacher(LearnerModule):
    """A trained network as the distillation teacher of networks that may take smaller images."""

    static = True

    def __init__(self, module: NetworkModule) -> None:
        super().__init__()
        self.module = module

    def scores(self, *inputs: Value) -> Value:
        return self.outcome(*inputs)

    def outcome(self, *inputs: Value) -> Value:
        outputs: Value = self.module(resized(inputs[0], self.module.network.input))
        return outputs

    def confident(self) -> bool:
        return self.module.network.classes


def calibrate(module: NetworkModule, inputs: Array, batch: int = CHUNK, threads: int = 1) -> NetworkModule:
    """Recalibrates batch normalization: running statistics become the average over batches of `inputs`. Leaves the
    module in evaluation mode."""
    home = next(module.parameters()).device
    weighted = [part for part in module.modules() if isinstance(part, WeightModule)]
    module.train()
    with torch.no_grad(), repeatable(threads):
        for number, begin in enumerate(range(0, len(inputs), batch), 1):
            for part in weighted:
                part.momentum = 1 / number
            module(torch.from_numpy(np.ascontiguousarray(inputs[begin : begin + batch], np.float32)).to(home))
    for part in weighted:
        del part.momentum
    return module.eval()


@dataclass(frozen=True)
class SupernetRecipe(NetworkRecipe):
    """Hyperparameters for training a supernet."""

    temperature: float = 1.0
    sampled: int = 3
    """Random subnets per training step, besides the largest network."""


def train_supernet(
    supernet: Supernet,
    data: Examples,
    sample: Sampler,
    recipe: SupernetRecipe | None = None,
    *,
    device: str = "auto",
    progress: Progress | None = None,
) -> None:
    """Train a supernet in place: each step trains the largest network on the labels, and a few random subnets on labels
    and on the largest network's outputs (in-place distillation). Unlike in the sandwich rule, the smallest network is
    left out: it would favour small networks in the ranking. Results are reproducible as in `train_network`."""
    recipe = recipe or SupernetRecipe()
    classes, random = supernet.largest.classes, Random(recipe.seed)

    def objective(given: Sequence[Value], labels: Value | None, share: float) -> Iterator[Value]:
        (x,) = given
        assert labels is not None
        outputs = supernet(x)
        yield label_loss(outputs, labels, share, recipe)
        wanted = outputs.detach()
        for network in [sample(random) for _ in range(recipe.sampled)]:
            if network != supernet.largest:  # which would learn nothing from itself
                own = supernet(x, network)
                distilled = recipe.imitation * distillation_loss(own, wanted, classes, recipe)
                yield (label_loss(own, labels, share, recipe) + distilled) / (1 + recipe.imitation)

    inputs = torch.from_numpy(np.ascontiguousarray(data.inputs, np.float32))
    labels = torch.from_numpy(np.asarray(data.labels, np.int64 if classes else np.float32))
    augment = augmenting(recipe.augment, [data.inputs.shape[1:]], recipe.seed)
    fit(supernet, [inputs], labels, recipe, augment=augment, device=device, progress=progress, objective=objective)


def epoch_seconds(
    supernet: Supernet, data: Examples, sample: Sampler, recipe: SupernetRecipe, *, device: str = "auto"
) -> float:
    """Estimated seconds per epoch, from a few batches after a warm-up; the supernet is trained by them."""
    times: list[float] = []
    few = data[: min(TIMED * recipe.batch, len(data))]
    train_supernet(
        supernet, few, sample, replace(recipe, epochs=2), device=device, progress=lambda *_: times.append(monotonic())
    )
    return (times[1] - times[0]) * len(data) / len(few)
