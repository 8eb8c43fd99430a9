"""Fine-tuning of a pruned graph, from labels and by distillation from the unpruned graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mote.bench.execute.torch.module import GraphModule
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.train.augment import augmentation
from mote.optimize.train.training import InputSamples, Progress, Recipe, train

RATE = 1e-2
"""Initial learning rate, relative to the size of weights."""
BATCHES, FEWEST, MOST = 40, 64, 256
"""Batches per epoch, and limits of the batch size."""


@dataclass(frozen=True)
class Tuning:
    """Fine-tuning options: epochs, data augmentation, device."""

    epochs: int
    augment: str = ""
    device: str = "auto"


def batch_size(samples: int) -> int:
    """The batch size for so many samples, of which little data has small batches."""
    return min(max(samples // BATCHES, FEWEST), MOST)


def taught(teacher: Graph, data: InputSamples, tuning: Tuning, *, progress: Progress | None = None) -> Graph:
    """The teacher: the unpruned graph, itself fine-tuned on the labels, if there are any. It may have been trained on
    other data."""
    return teacher if data.labels is None else fine_tuned(teacher, teacher, data, {}, tuning, progress=progress)


def fine_tuned(
    graph: Graph,
    teacher: Graph,
    data: InputSamples,
    kept: Mapping[int, Array],
    tuning: Tuning,
    *,
    progress: Progress | None = None,
) -> Graph:
    """The fine-tuned graph. Weights that `kept` masks out (by layer output, with the bias in the last column) stay
    zero."""
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
