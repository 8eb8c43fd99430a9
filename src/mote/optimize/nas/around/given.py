"""The user's float model from which a search around a model starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mote.base.errors import MoteError, naming
from mote.frontends import read, source_of
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.reading import reading
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.post_training import checked
from mote.optimize.compress.quantize.types.precision import Scheme
from mote.optimize.nas.tasks import LearningTask, kind_of, split


@dataclass(frozen=True, eq=False)
class GivenModel:
    """The user's float model, read and in normal form."""

    where: str
    """File name, or a description of the model object, for error messages."""
    read: Graph
    """The graph as read, with its inputs in the file's own layout (such as NCHW)."""
    graph: Graph
    """The graph in normal form: images are NHWC."""
    preprocess: str = ""
    """Preprocessing steps of the model's input, from the metadata of its file."""

    def in_graph_layout(self, data: Dataset) -> Dataset:
        """The samples in the layout of the normalized graph (NHWC images)."""
        if all(self.read.tensors[t].arrangement is None for t in self.read.inputs):
            return data
        cases = data.cases(self.read)
        arrays = {
            t: np.stack([case[t].reshape(self.read.tensors[t].shape) for case in cases]) for t in self.read.inputs
        }
        named = {self.read.tensors[t].name: _without_batch_axis(x) for t, x in arrays.items()}
        return replace(data, inputs=named)

    def task(self, train: Dataset, validate: Dataset | None, seed: int) -> LearningTask:
        """The learning task of labelled data in the model's layout; without `validate`, a part of `train` is held out
        for validation."""
        data = self.in_graph_layout(train)
        assert data.labels is not None
        classes = data.labels.dtype.kind in "iu"
        part, held = (data, self.in_graph_layout(validate)) if validate is not None else split(data, classes, seed)
        output = self.graph.tensors[self.graph.outputs[0]]
        shape = self.graph.tensors[self.graph.inputs[0]].shape[1:]
        return LearningTask(kind_of(data), shape, output.size, classes, part, held, data.classes)


def _without_batch_axis(samples: np.typing.NDArray[Any]) -> np.typing.NDArray[Any]:
    """Removes the batch axis of size 1: [n, 1, ...] to [n, ...]."""
    return samples[:, 0] if samples.ndim > 2 and samples.shape[1] == 1 else samples


def given_model(
    model: Any,
    *,
    example_inputs: Any = None,
    shapes: Mapping[str, Sequence[int]] | Sequence[str] = (),
    signature: str = "",
    constants: Mapping[str, Any] | Sequence[str] = (),
) -> GivenModel:
    """Reads a float model of any format; refuses one that is quantized, or has no layers with weights."""
    source = source_of(model, **reading(shapes, signature, constants), example_inputs=example_inputs)
    with naming(source.where):
        model_read = read(source)
        as_read = model_read.graph()
        graph = checked(as_read, Scheme())
        if len(graph.inputs) != 1:
            raise MoteError(f"has {len(graph.inputs)} inputs, a search needs a model of one")
        if any(graph.tensors[t].dtype != DType.FLOAT32 for t in (*graph.inputs, *graph.outputs)):
            raise MoteError(
                "takes or gives no float numbers, so that nothing can be trained",
                remedy="give a model of float inputs and scores",
            )
        edges = [replace(graph.tensors[t], arrangement=None) for t in (*graph.inputs, *graph.outputs)]
        return GivenModel(source.where, as_read, graph.with_ops(graph.ops, edges), model_read.preprocess)
