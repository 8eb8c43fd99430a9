"""Whatever is asked to learn in whatever model: it compiles, or says why not."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

import mote
from mote import frontends
from mote.base.errors import InternalError, MoteError
from mote.compiler.passes.training.choice import on_the_way
from mote.ir.graph import Graph
from tests.fuzz.bases import base
from tests.helpers import float_nets
from tests.helpers.support import soaked

ITEMS = (
    *("biases", "last", "last:optimizer=adam", "biases:momentum=0.5,accumulate=2", "last:loss=mean_squared_error"),
    *("biases:recompute=1", "prototype", "knn", "ridge", "logistic", "bayes", "one-class", "auto:RAM=4K"),
)
SAMPLES = 12


def selections(graph: Graph, rng: Random) -> Iterator[str]:
    """Some of the usual ones, and a part of some layer."""
    yield from rng.sample(ITEMS, 3)
    if layers := [graph.layer_of(op) for op in on_the_way(graph)]:
        layer = rng.choice(layers)
        yield f"{layer}{rng.choice(['', '[weights]', '[bias]', '[0:1]'])}"
        yield f"biases,{layer}[0:1]"


def samples(graph: Graph, train: str, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray]:
    tensors = (graph.tensors[t] for t in graph.inputs)
    inputs = {t.name: rng.integers(0, 2, (SAMPLES, *t.shape)).astype(t.dtype.numpy) for t in tensors}
    shape = graph.tensors[graph.outputs[0]].shape
    regression = "mean_squared_error" in train
    return inputs, rng.normal(size=(SAMPLES, *shape)) if regression else rng.integers(0, 2, SAMPLES)


@pytest.mark.parametrize("seed", soaked(range(60), range(4)))
def test_no_selection_ends_in_an_internal_error(seed: int) -> None:
    rng, numbers = Random(seed), np.random.default_rng(seed)
    blocks = [rng.choice(list(float_nets.BLOCKS)) for _ in range(3)]
    model = float_nets.model(blocks, seed) if seed % 2 else base(rng)[1]
    try:
        graph = frontends.load(model)
    except MoteError:
        return
    for train in selections(graph, rng):
        data = samples(graph, train, numbers) if rng.random() < 0.7 and train.split(":")[0] not in ITEMS[6:12] else None
        try:
            mote.compile(model, train=train, train_data=data)
        except InternalError:
            raise
        except MoteError as error:
            assert error.reason, train
