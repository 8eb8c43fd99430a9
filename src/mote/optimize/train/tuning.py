"""Fine-tunes a pruned graph on labels and by distillation from the unpruned graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mote.bench.execute.torch.module import GraphModule
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.train.augment import augmentation
from mote.optimize.train.training import InputSamples, Progress, Recipe, train

RATE = 1e-2
"""Initial learning rate, relative to the magnitude of weights."""
BATCHES, FEWEST, MOST = 40, 64, 256
"""Minimum number of batches per epoch, and bounds of the batch size."""


@dataclass(frozen=True)
class Tuning:
    """Fine-tuning options: epochs, data augmentation, device."""

    epochs: int
    augment: str = ""
    device: str = "auto"


def batch_size(samples: int) -> int:
    """Batch size for a number of samples; small data sets get small batches."""
    return min(max(samples // BATCHES, FEWEST), MOST)


def tuned_teacher(teacher: Graph, data: InputSamples, tuning: Tuning) -> Graph:
    """The distillation teacher: the unpruned graph, fine-tuned on the labels if there are any (it may have been trained
    on other data)."""
    return teacher if data.labels is None else fine_tuned(teacher, teacher, data, {}, tuning)


def fine_tuned(
    graph: Graph,
    teacher: Graph,
    data: InputSamples,
    kept: Mapping[int, Array],
    tuning: Tuning,
    *,
    progress: Progress | None = None,
) -> Graph:
    """The fine-tuned graph. `kept` are masks of weights (by layer output, bias in the last column); masked-out weights
    stay zero."""
    module = GraphModule(graph)
    for y, mask in kept.items():
        weights = graph.producers[y].input(graph, 1)
        module.mask(weights.id, mask[:, :-1].reshape(weights.shape))
    recipe = Recipe(epochs=tuning.epochs, batch=batch_size(len(data.cases(graph))), rate=RATE, relative=True)
    train(
        module,
        data,
        recipe,
        teacher=GraphModule(teacher),
        augment=augmentation(tuning.augment, graph),
        device=tuning.device,
        progress=progress,
    )
    return module.graph()
