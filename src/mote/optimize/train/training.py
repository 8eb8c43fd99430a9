"""Training loop for fine-tuning pruned models and quantization-aware training."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import cos, pi
from typing import Protocol

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from mote.base.errors import MoteError, naming
from mote.bench.execute.torch.float32.common import Value
from mote.bench.execute.torch.module import LearnerModule, Trainable
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.train.captured import CapturedLosses

Progress = Callable[[int, int, float], None]
"""Callback after each epoch: (epoch number from 1, number of epochs, mean loss)."""
Augment = Callable[[Sequence[Value]], Sequence[Value]]
"""Transforms a batch of inputs (data augmentation)."""
Objective = Callable[[Sequence[Value], Value | None, float], Iterable[Value]]
"""Computes the losses of a batch from inputs, labels and the mixup share of the labels; their gradients are
accumulated."""
OPTIMIZERS = ("adam", "sgd", "adamw")
"""Names of optimizers; `sgd` uses Nesterov momentum."""
MOMENTUM = 0.9
RESIDENT = 2 << 30
"""Maximum bytes of an input's samples that are kept in accelerator memory."""
SMALLEST = 1e-3
"""Minimum magnitude of a parameter for relative learning rates, so that zeros can be trained."""


class InputSamples(Protocol):
    """The part of `mote.frontends.data.Dataset` that training uses."""

    @property
    def labels(self) -> Array | None: ...

    def cases(self, graph: Graph) -> list[dict[int, Array]]: ...


@dataclass(frozen=True)
class Recipe:
    """Training hyperparameters. The learning rate rises linearly to `rate` in `warmup` epochs, then decays to zero
    (cosine schedule)."""

    epochs: int = 10
    batch: int = 64
    rate: float = 1e-3
    optimizer: str = "adam"
    decay: float = 0.0
    """Weight decay of weights, not of biases or normalization."""
    temperature: float = 2.0
    """Distillation temperature: logits of student and teacher are divided by it."""
    seed: int = 0
    relative: bool = False
    """Whether to scale each parameter's learning rate by its root mean square, so that pretrained layers keep their
    balance."""
    warmup: float = 0.0
    """Number of warm-up epochs."""
    smoothing: float = 0.0
    """Label smoothing: probability mass spread over all classes."""
    mixup: float = 0.0
    """Beta distribution parameter of mixup; 0 disables mixup."""
    imitation: float = 1.0
    """Weight of the distillation loss relative to the labels' loss."""
    average: float = 0.0
    """Decay per step of the exponential moving average of weights, which become the result; 0 for no averaging."""
    threads: int = 0
    """Number of CPU threads, on which float sums depend; 0 leaves it unchanged."""


DEFAULT_RECIPE = Recipe()


def train(
    module: Trainable,
    data: InputSamples,
    recipe: Recipe = DEFAULT_RECIPE,
    *,
    teacher: LearnerModule | None = None,
    augment: Augment | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> None:
    """Train a `GraphModule` (or a prepared model) in place from labels, by distillation from a teacher, or both.
    Integer labels are classes (cross entropy), float labels regression targets (mean squared error). Equal seeds give
    equal results on the same machine. `device`: "auto" is an accelerator if there is one."""
    if data.labels is None and teacher is None:
        raise MoteError(
            "training needs labels, or a teacher whose outputs are to be learned",
            where="option data",
            remedy="give labelled data, or let it learn from the model as it was (distill=True, teacher=...)",
        )
    labels = None if data.labels is None else torch.from_numpy(np.asarray(data.labels))
    with naming(module.source.name):
        fit(
            module,
            stacked(module.source, data),
            labels,
            recipe,
            teacher=teacher,
            augment=augment,
            device=device,
            progress=progress,
        )


def fit(
    module: LearnerModule,
    inputs: Sequence[Value],
    labels: Value | None,
    recipe: Recipe = DEFAULT_RECIPE,
    *,
    teacher: LearnerModule | None = None,
    augment: Augment | None = None,
    device: str = "auto",
    progress: Progress | None = None,
    objective: Objective | None = None,
) -> None:
    """Train a module in place on stacked inputs, optionally with a custom `objective` instead of labels and teacher.
    Equal seeds give equal results on the same kind of processor for a fixed `recipe.threads`; other processors and
    accelerators round float sums differently."""
    _check(recipe)
    on, home = torch.device(chosen(device)), next(module.parameters()).device
    module.to(on).train()
    if teacher is not None:
        teacher.to(on).eval()
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimizer = _optimizer(recipe, parameters)
    count = len(inputs[0])
    batches = -(-count // recipe.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, partial(_rate, recipe=recipe, batches=batches))
    average = _average(module, recipe.average)
    random = torch.Generator().manual_seed(recipe.seed)
    mixing = np.random.default_rng(recipe.seed)
    inputs = [resident(x, on) for x in inputs]
    static = on.type == "cuda" and objective is None and all(part is None or part.static for part in (module, teacher))
    objective = objective or (lambda *batch: [supervised(module, *batch, teacher=teacher, recipe=recipe)])
    plain = partial(_losses, objective)
    captured = CapturedLosses(plain, parameters) if static and not recipe.mixup else None
    labels = None if labels is None else labels.to(on)
    with repeatable(recipe.threads):
        for epoch in range(1, recipe.epochs + 1):
            total = torch.zeros((), dtype=torch.float64, device=on)
            for numbers in _batches(torch.randperm(count, generator=random), recipe.batch):
                given: Sequence[Value] = [x[numbers.to(x.device)].to(on) for x in inputs]
                given = given if augment is None else augment(given)
                wanted = None if labels is None else labels[numbers.to(on)]
                share = float(mixing.beta(recipe.mixup, recipe.mixup)) if recipe.mixup else 1.0
                if share < 1:
                    given = [share * x + (1 - share) * x.flip(0) for x in given]
                optimizer.zero_grad()
                loss = captured(given, wanted) if captured is not None else plain(given, wanted, share)
                total += loss * len(numbers)
                optimizer.step()
                schedule.step()
                if average is not None:
                    average.update_parameters(module)
            _check_finite(float(total), epoch)
            if progress is not None:
                progress(epoch, recipe.epochs, float(total) / count)
    if average is not None:
        module.load_state_dict(average.module.state_dict())
    module.to(home).eval()


def _losses(objective: Objective, given: Sequence[Value], wanted: Value | None, share: float = 1.0) -> Value:
    """Sum of a batch's losses, after backpropagating each of them."""
    total = torch.zeros((), device=given[0].device)
    for loss in objective(given, wanted, share):
        torch.autograd.backward(loss)
        total = total + loss.detach()
    return total


def _batches(order: Value, size: int) -> list[Value]:
    """Splits sample indices into batches; a final batch of one sample is merged into the previous one, as batch
    normalization needs several."""
    *others, last = torch.split(order, size)
    return [*others[:-1], torch.cat([others[-1], last])] if others and len(last) == 1 else [*others, last]


def _average(module: LearnerModule, decay: float) -> AveragedModel | None:
    if not decay:
        return None
    return AveragedModel(module, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)  # type: ignore[no-untyped-call]


@contextmanager
def repeatable(threads: int) -> Iterator[None]:
    """Context manager: deterministic algorithms and a fixed number of threads (0 leaves it unchanged)."""
    before, fixed = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        torch.use_deterministic_algorithms(fixed)


def resident(x: Value, device: torch.device) -> Value:
    """Moves samples to the device unless they are too large for its memory."""
    return x.to(device) if x.nbytes <= RESIDENT else x


def _rate(step: int, recipe: Recipe, batches: int) -> float:
    """Learning rate of a step relative to the recipe's."""
    rising, steps = recipe.warmup * batches, recipe.epochs * batches
    if step < rising:
        return (step + 1) / (rising + 1)
    return (1 + cos(pi * min((step - rising) / max(steps - rising, 1), 1.0))) / 2


def chosen(device: str) -> str:
    """Resolves the device name "auto" to an accelerator if there is one, else the CPU."""
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def stacked(graph: Graph, data: InputSamples) -> list[Value]:
    """The inputs of all samples, stacked along the batch axis."""
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
    if recipe.relative:
        groups = [{"params": [p], "lr": recipe.rate * _size(p), "weight_decay": _decay(recipe, p)} for p in parameters]
    else:
        alike: dict[float, list[nn.Parameter]] = {}
        for p in parameters:
            alike.setdefault(_decay(recipe, p), []).append(p)
        groups = [{"params": several, "weight_decay": decay} for decay, several in alike.items()]
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=recipe.rate, momentum=MOMENTUM, nesterov=True)
    return (torch.optim.AdamW if recipe.optimizer == "adamw" else torch.optim.Adam)(groups, lr=recipe.rate)


def _decay(recipe: Recipe, parameter: nn.Parameter) -> float:
    return recipe.decay if parameter.dim() > 1 else 0.0


def _size(constant: nn.Parameter) -> float:
    """Root mean square of a parameter, with a lower bound."""
    return max(float(constant.detach().square().mean().sqrt()), SMALLEST)


def supervised(
    module: LearnerModule,
    inputs: Sequence[Value],
    labels: Value | None,
    share: float,
    *,
    teacher: LearnerModule | None,
    recipe: Recipe,
) -> Value:
    """Loss against labels plus distillation loss. `share`: mixup weight of the labels; the rest is for the labels of
    the reversed batch."""
    classes = (labels is not None and not labels.is_floating_point()) or (labels is None and module.confident())
    outputs = module.scores(*inputs) if classes else module.outcome(*inputs)
    loss = torch.zeros((), device=outputs.device) if labels is None else label_loss(outputs, labels, share, recipe)
    if teacher is not None:
        with torch.no_grad():
            wanted = teacher.scores(*inputs) if classes else teacher.outcome(*inputs)
        loss = loss + recipe.imitation * distillation_loss(outputs, wanted, classes, recipe)
    return loss


def label_loss(outputs: Value, labels: Value, share: float, recipe: Recipe) -> Value:
    """Loss against labels; with mixup (`share` below 1) also against the labels of the reversed batch."""
    if share < 1:
        both = (label_loss(outputs, of, 1.0, recipe) for of in (labels, labels.flip(0)))
        return share * next(both) + (1 - share) * next(both)
    if not labels.is_floating_point():
        return cross_entropy(outputs, labels, recipe.smoothing)
    return functional.mse_loss(outputs, _shaped_like(labels, outputs))


def distillation_loss(outputs: Value, wanted: Value, classes: bool, recipe: Recipe) -> Value:
    """Distillation loss against a teacher's outputs."""
    if classes:
        return softened_divergence(outputs, wanted, recipe.temperature)
    return functional.mse_loss(outputs, _shaped_like(wanted, outputs))


def _shaped_like(labels: Value, outputs: Value) -> Value:
    return labels.to(outputs.dtype).reshape(outputs.shape)


def cross_entropy(scores: Value, labels: Value, smoothing: float = 0.0) -> Value:
    """Cross entropy of scores [.., classes]; a single score is a binary logit."""
    if scores.shape[-1] == 1:
        wanted = _shaped_like(labels, scores) * (1 - smoothing) + smoothing / 2
        return functional.binary_cross_entropy_with_logits(scores, wanted)
    flat = scores.reshape(-1, scores.shape[-1])
    return functional.cross_entropy(flat, labels.reshape(-1).to(torch.int64), label_smoothing=smoothing)


def softened_divergence(scores: Value, wanted: Value, temperature: float) -> Value:
    """Distillation loss: Kullback-Leibler divergence from the teacher's softened probabilities."""
    if scores.shape[-1] == 1:
        confidences = torch.sigmoid(_shaped_like(wanted, scores) / temperature)
        return temperature**2 * functional.binary_cross_entropy_with_logits(scores / temperature, confidences)
    own, other = (functional.log_softmax(x / temperature, -1).reshape(-1, x.shape[-1]) for x in (scores, wanted))
    return temperature**2 * functional.kl_div(own, other, log_target=True, reduction="batchmean")


def _check_finite(total: float, epoch: int) -> None:
    if not np.isfinite(total):
        raise MoteError(
            f"training did not converge: the loss is {total} in epoch {epoch}", remedy="use a lower learning rate"
        )
