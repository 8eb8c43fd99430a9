"""Fine-tune a pruned graph: what is left learns from labels, and from what the unpruned graph thinks."""

from __future__ import annotations

from collections.abc import Mapping

from mote.graph import Graph
from mote.graph.tensor import Array
from mote.quantize.torch.module import GraphModule
from mote.quantize.torch.training import Progress, Recipe, Samples, train

RATE = 1e-2
"""The learning rate that it begins with, relative to the size of the weights."""


def fine_tuned(
    graph: Graph,
    teacher: Graph,
    data: Samples,
    kept: Mapping[int, Array],
    *,
    epochs: int,
    rate: float = RATE,
    device: str = "auto",
    progress: Progress | None = None,
) -> Graph:
    """The graph with other constants. Weights for which `kept` is false, a mask of each layer's matrix by its output,
    with the bias in the last column, stay zero."""
    module = GraphModule(graph)
    for y, mask in kept.items():
        weights = graph.producers[y].input(graph, 1)
        module.mask(weights.id, mask[:, :-1].reshape(weights.shape))
    recipe = Recipe(epochs=epochs, rate=rate, relative=True)
    train(module, data, recipe, teacher=GraphModule(teacher), device=device, progress=progress)
    return module.graph()
