"""Splits data into inferences: one per sample, or windows or frames of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.data.dataset_type import Dataset, RecordingInfo
from mote.frontends.data.windows import windows
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import model_shape
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import StateRole
from mote.ir.ops.elementwise.quantize import QUANTIZED, dequantized, quantized
from mote.ir.ops.features.scores import ScoreOp


@dataclass(frozen=True, eq=False)
class Posed:
    """A dataset as inferences of one graph."""

    cases: Sequence[dict[int, Array]]
    data: Dataset
    """The data with one sample per inference."""
    recorded: RecordingInfo | None = None
    """Properties of the recording; None for samples."""
    times: Array | None = None
    """End time of each inference's input in seconds, for recordings."""
    kept: bool = False
    """Whether inferences are consecutive steps that share states."""
    warm: int = 0
    """Number of warm-up inferences, which are not scored."""

    def __len__(self) -> int:
        return len(self.cases)

    def some(self, count: int) -> list[int]:
        """Indices of `count` inferences: evenly spaced, or the first ones of a stream."""
        if self.kept:
            return list(range(min(self.warm + count, len(self))))
        return sorted({int(i) for i in np.linspace(0, len(self) - 1, min(count, len(self)))})


def posed(graph: Graph, data: Dataset, *, axis: int | None = None) -> Posed:
    """Splits data into inferences of a graph. A recording becomes overlapping windows with a hop of one frame; with
    `axis` (`Settings.stream`) or for a stateful model it becomes chunks of new frames. States of post-processing alone
    continue over windows."""
    if data.stream is None:
        return Posed(data.cases(graph), data)
    if len(graph.inputs) != 1 or len(data.inputs) != 1:
        raise MoteError("a recording is for models with one input", where=data.where)
    ((name, frames),) = data.inputs.items()
    tensor = graph.tensors[graph.inputs[0]]
    frames = quantized(frames, tensor) if frames.dtype.kind == "f" and _is_quantized(tensor) else frames
    length, kept = tensor.size // frames[0].size, axis is not None or bool(graph.states)
    chunks = axis is not None or _remembers_inputs(graph)
    pieces = windows(tensor, frames, data.where, axis)
    pieces = pieces[::length] if chunks and axis is None else pieces
    warm, step = (max(graph.warm_up - 1, 0), length) if chunks else (0, 1)
    if len(pieces) <= warm:
        raise MoteError(
            f"has {len(frames)} frames, and the model needs {length + warm * step} until it says anything",
            where=data.where,
            remedy="give a longer recording",
        )
    whole = replace(data, inputs={name: pieces}, stream=None)
    ends = length - 1 + step * np.arange(len(pieces), dtype=np.int64)
    times = data.stream.first + data.stream.period * ends
    return Posed(whole.cases(graph), whole, data.stream, times, kept, warm)


def _remembers_inputs(graph: Graph) -> bool:
    """Whether the model itself keeps states between inferences, not only its post-processing."""
    return any(not isinstance(graph.producers.get(s.after), ScoreOp) for s in graph.states if s.role is StateRole.NONE)


def as_taken(graph: Graph, data: Dataset) -> Dataset:
    """Transposes images between channels-first and channels-last if the model needs it, as for a quantized `.tflite` of
    an ONNX model."""
    shapes = [model_shape(graph.tensors[t]) for t in graph.inputs]
    inputs = {name: _moved_to_one_of(shapes, array) for name, array in data.inputs.items()}
    return data if all(inputs[name] is array for name, array in data.inputs.items()) else replace(data, inputs=inputs)


def _moved_to_one_of(shapes: Sequence[Shape], array: Array) -> Array:
    if any(_without_ones(shape) == _without_ones(array.shape[1:]) for shape in shapes):
        return array
    return next((moved for shape in shapes if (moved := channels_moved_to(shape, array)) is not array), array)


def channels_moved_to(shape: Shape, array: Array) -> Array:
    """Moves the channel axis of samples to match a shape; unchanged if that is not possible or needed."""
    wanted, sample = shape[1:] if shape[:1] == (1,) else shape, array.shape[1:]
    if len(wanted) < 2 or sample == wanted:
        return array
    if sample == (wanted[-1], *wanted[:-1]):
        return np.moveaxis(array, 1, -1)
    return np.moveaxis(array, -1, 1) if sample == (*wanted[1:], wanted[0]) else array


def _without_ones(shape: Shape) -> Shape:
    return tuple(n for n in shape if n != 1)


def as_real(graph: Graph, data: Dataset) -> Dataset:
    """Dequantizes data that is in this model's input quantization, for use with another model."""
    tensors = [graph.tensors[t] for t in graph.inputs]
    named = {t.name: t for t in tensors}
    inputs = {
        name: _unquantized(named.get(name, tensors[min(i, len(tensors) - 1)]), array)
        for i, (name, array) in enumerate(data.inputs.items())
    }
    return replace(data, inputs=inputs)


def _unquantized(tensor: Tensor, values: Array) -> Array:
    return dequantized(values, tensor) if _is_quantized(tensor) and values.dtype == tensor.dtype.numpy else values


def _is_quantized(tensor: Tensor) -> bool:
    return tensor.quant is not None and tensor.dtype in QUANTIZED
