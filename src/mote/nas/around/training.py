"""Quantization-aware training of a network around a model, by distillation from that model."""

from __future__ import annotations

from mote.compress.quantize.pipeline import CalibratedModel, finished
from mote.compress.quantize.types.precision import Scheme
from mote.compress.quantize_aware.aware import AwareModule
from mote.compress.quantize_aware.fine_tuner import RATE
from mote.data.dataset_type import Dataset
from mote.execute.torch.module import GraphModule
from mote.graph import Graph
from mote.train.augment import augmentation
from mote.train.training import Recipe, train
from mote.train.tuning import BATCHES, FEWEST, MOST


def trained_aware(
    given: CalibratedModel, scheme: Scheme, teacher: Graph, data: Dataset, epochs: int, augment: str, device: str
) -> Graph:
    """The integer graph after so many epochs that begin with the integers of post-training quantization."""
    module = AwareModule(given.exact, given.ranges, scheme, wide=given.wide)
    module.begin_with(finished(given, scheme).integers)
    batch = min(max(len(data) // BATCHES, FEWEST), MOST)
    train(
        module,
        data,
        Recipe(epochs=epochs, batch=batch, rate=RATE, relative=True),
        teacher=GraphModule(teacher),
        augment=augmentation(augment, given.exact),
        device=device,
    )
    return module.integer_graph().verify()
