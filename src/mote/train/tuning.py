"""Fine-tune a pruned graph: what is left learns from labels, and from what the unpruned graph thinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mote.execute.torch.module import GraphModule
from mote.graph import Graph
from mote.graph.tensor import Array
from mote.train.augment import augmentation
from mote.train.training import Progress, Recipe, Samples, train

RATE = 1e-2
"""The learning rate that it begins with, relative to the size of the weights."""
BATCHES, FEWEST, MOST = 40, 64, 256
"""An epoch has so many batches, as long as these have no fewer and no more samples."""


@dataclass(frozen=True)
class Tuning:
    """How long something learns, from which other forms of its inputs (`augmentation`), and where."""

    epochs: int
    augment: str = ""
    device: str = "auto"


def taught(teacher: Graph, data: Samples, tuning: Tuning, *, progress: Progress | None = None) -> Graph:
    """The unpruned graph after it has learned the labels of the data itself, if there are labels, without forgetting
    what it knew: it may come from other data, and what it does not know it cannot teach."""
    return teacher if data.labels is None else fine_tuned(teacher, teacher, data, {}, tuning, progress=progress)


def fine_tuned(
    graph: Graph,
    teacher: Graph,
    data: Samples,
    kept: Mapping[int, Array],
    tuning: Tuning,
    *,
    progress: Progress | None = None,
) -> Graph:
    """The graph with other constants. Weights for which `kept` is false, a mask of each layer's matrix by its output,
    with the bias in the last column, stay zero."""
    module = GraphModule(graph)
    for y, mask in kept.items():
        weights = graph.producers[y].input(graph, 1)
        module.mask(weights.id, mask[:, :-1].reshape(weights.shape))
    batch = min(max(len(data.cases(graph)) // BATCHES, FEWEST), MOST)
    recipe = Recipe(epochs=tuning.epochs, batch=batch, rate=RATE, relative=True)
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
