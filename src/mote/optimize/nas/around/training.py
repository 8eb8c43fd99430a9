"""Quantization-aware training of a candidate, distilled from the user's float model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mote.bench.execute.torch.module import GraphModule
from mote.frontends import Format, Source
from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.compress.quantize.pipeline import Methods
from mote.optimize.compress.quantize.types.precision import Scheme
from mote.optimize.compress.quantize_aware.fine_tuner import RATE, prepare_graph, recalibrating
from mote.optimize.train.augment import augmentation
from mote.optimize.train.training import Recipe, train
from mote.optimize.train.tuning import batch_size


def trained_aware(
    graph: Graph,
    cases: Sequence[Mapping[int, Array]],
    scheme: Scheme,
    teacher: Graph,
    data: Dataset,
    epochs: int,
    augment: str,
    device: str,
) -> Graph:
    """The integer graph after `epochs` epochs of quantization-aware training, initialized by post-training
    quantization. Zero weights stay zero."""
    prepared = prepare_graph(graph, cases, Source(graph.name, Format.TFLITE, b""), scheme, Methods())
    train(
        prepared.aware,
        data,
        Recipe(epochs=epochs, batch=batch_size(len(data)), rate=RATE, relative=True),
        teacher=GraphModule(teacher),
        augment=augmentation(augment, graph),
        device=device,
        progress=recalibrating(prepared),
    )
    return prepared.aware.integer_graph().verify()
