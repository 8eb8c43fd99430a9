"""A small training loop for fine-tuning pruned models and quantization-aware training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from mote.errors import MoteError
from mote.execute.torch.float32.common import Value
from mote.execute.torch.module import Trainable
from mote.graph import Graph
from mote.graph.tensor import Array

Progress = Callable[[int, int, float], None]
"""Callback after each epoch: its number from 1 on, the number of epochs, and the mean loss."""
Augment = Callable[[Sequence[Value]], Sequence[Value]]
"""Transforms a batch of inputs (data augmentation)."""
OPTIMIZERS = ("adam", "sgd")
MOMENTUM = 0.9
SMALLEST = 1e-3
"""Lower bound for the size of constants, so that zero ones can be trained."""


class Samples(Protocol):
    """The part of `mote.data.Dataset` that training uses."""

    @property
    def labels(self) -> Array | None: ...

    def cases(self, graph: Graph) -> list[dict[int, Array]]: ...


@dataclass(frozen=True)
class Recipe:
    """Training hyperparameters. The learning rate falls from `rate` to zero along half a cosine."""

    epochs: int = 10
    batch: int = 64
    rate: float = 1e-3
    optimizer: str = "adam"
    decay: float = 0.0
    temperature: float = 2.0
    """Distillation temperature: logits of both models are divided by it."""
    seed: int = 0
    relative: bool = False
    """Scale the learning rate of each constant by its root mean square, so that pretrained layers keep their
    balance."""


USUAL = Recipe()


def train(
    module: Trainable,
    data: Samples,
    recipe: Recipe = USUAL,
    *,
    teacher: Trainable | None = None,
    augment: Augment | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> None:
    """Train a `GraphModule` (or a prepared one) in place, from labels, by distillation from a teacher, or both.

    Integer labels are classes (cross entropy), float labels regression targets (mean squared error). The same
    seed gives the same result on the same machine. `device`: an accelerator where there is one, else the CPU."""
    _check(recipe)
    if data.labels is None and teacher is None:
        raise MoteError(
            "training needs labels, or a teacher whose outputs are to be learned",
            where="option data",
            remedy="give labelled data, or let it learn from the model as it was (distill=True, teacher=...)",
        )
    inputs = stacked(module.source, data)
    labels = None if data.labels is None else torch.from_numpy(np.asarray(data.labels))
    on, home = torch.device(chosen(device)), next(module.parameters()).device
    module.to(on).train()
    if teacher is not None:
        teacher.to(on).eval()
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimizer = _optimizer(recipe, parameters)
    count = len(inputs[0])
    steps = recipe.epochs * -(-count // recipe.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))
    random = torch.Generator().manual_seed(recipe.seed)
    for epoch in range(1, recipe.epochs + 1):
        total = 0.0
        for chosen_ones in torch.split(torch.randperm(count, generator=random), recipe.batch):
            given: Sequence[Value] = [x[chosen_ones].to(on) for x in inputs]
            given = given if augment is None else augment(given)
            wanted = None if labels is None else labels[chosen_ones].to(on)
            loss = _loss(module, given, wanted, teacher, recipe.temperature)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(chosen_ones)
        _check_finite(total, module.source, epoch)
        if progress is not None:
            progress(epoch, recipe.epochs, total / count)
    module.to(home).eval()


def chosen(device: str) -> str:
    """The device to compute on: an accelerator if there is one, unless the user chooses."""
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def stacked(graph: Graph, data: Samples) -> list[Value]:
    """The inputs of all samples, as modules take them."""
    cases = data.cases(graph)
    inputs = []
    for i in graph.inputs:
        t = graph.tensors[i]
        arrays = [case[i].reshape(t.shape) for case in cases]
        join = np.concatenate if t.shape and t.shape[0] == 1 else np.stack
        inputs.append(torch.from_numpy(join(arrays)))
    return inputs


def _check(recipe: Recipe) -> None:
    if recipe.optimizer not in OPTIMIZERS:
        raise MoteError(
            f"'{recipe.optimizer}' is no optimizer", where="option optimizer", remedy=f"use {' or '.join(OPTIMIZERS)}"
        )
    for name in ("epochs", "batch", "rate", "temperature"):
        if getattr(recipe, name) <= 0:
            raise MoteError(f"{getattr(recipe, name)} is not above zero", where=f"option {name}")


def _optimizer(recipe: Recipe, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    own = [{"params": [p], "lr": recipe.rate * (_size(p) if recipe.relative else 1.0)} for p in parameters]
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(own, lr=recipe.rate, momentum=MOMENTUM, weight_decay=recipe.decay)
    return torch.optim.Adam(own, lr=recipe.rate, weight_decay=recipe.decay)


def _size(constant: nn.Parameter) -> float:
    """Root mean square of a constant, with a lower bound."""
    return max(float(constant.detach().square().mean().sqrt()), SMALLEST)


def _loss(
    module: Trainable, inputs: Sequence[Value], labels: Value | None, teacher: Trainable | None, temperature: float
) -> Value:
    """Loss against labels and against the teacher's outputs."""
    classes = (labels is not None and not labels.is_floating_point()) or (labels is None and module.confident())
    outputs = module.scores(*inputs) if classes else module.outcome(*inputs)
    loss = torch.zeros((), device=outputs.device)
    if labels is not None:
        loss = loss + (classified(outputs, labels) if classes else functional.mse_loss(outputs, _like(labels, outputs)))
    if teacher is not None:
        with torch.no_grad():
            wanted = teacher.scores(*inputs) if classes else teacher.outcome(*inputs)
        loss = loss + (imitated(outputs, wanted, temperature) if classes else functional.mse_loss(outputs, wanted))
    return loss


def _like(labels: Value, outputs: Value) -> Value:
    return labels.to(outputs.dtype).reshape(outputs.shape)


def classified(scores: Value, labels: Value) -> Value:
    """Cross entropy of [.., classes] scores; a single score is for class 1 against class 0."""
    if scores.shape[-1] == 1:
        return functional.binary_cross_entropy_with_logits(scores, _like(labels, scores))
    return functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), labels.reshape(-1).to(torch.int64))


def imitated(scores: Value, wanted: Value, temperature: float) -> Value:
    """Distillation loss: divergence from the teacher's softened probabilities."""
    if scores.shape[-1] == 1:
        confidences = torch.sigmoid(wanted / temperature)
        return temperature**2 * functional.binary_cross_entropy_with_logits(scores / temperature, confidences)
    own, other = (functional.log_softmax(x / temperature, -1).reshape(-1, x.shape[-1]) for x in (scores, wanted))
    return temperature**2 * functional.kl_div(own, other, log_target=True, reduction="batchmean")


def _check_finite(total: float, graph: Graph, epoch: int) -> None:
    if not np.isfinite(total):
        raise MoteError(
            f"training did not converge: the loss is {total} in epoch {epoch}",
            where=graph.name,
            remedy="use a lower learning rate",
        )
