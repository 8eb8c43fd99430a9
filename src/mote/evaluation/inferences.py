"""Samples as the inferences of a model: each alone, or a recording as one window after another, or frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mote.data.dataset_type import Dataset, Stream
from mote.data.windows import windows
from mote.errors import MoteError
from mote.graph import Graph, Tensor
from mote.graph.io_order import model_shape
from mote.graph.tensor import Array, Shape
from mote.ops.elementwise.quantize import QUANTIZED, dequantized, quantized


@dataclass(frozen=True, eq=False)
class Posed:
    """The inferences that data becomes for one graph."""

    cases: Sequence[dict[int, Array]]
    data: Dataset
    """A sample for each of them."""
    recorded: Stream | None = None
    """What is known of the recording, where it is one."""
    times: Array | None = None
    """Of a recording: the second at which what each of them was given has ended."""
    kept: bool = False
    """Whether each goes on from the one before it."""
    warm: int = 0
    """How many of them only fill what the model remembers."""

    def __len__(self) -> int:
        return len(self.cases)

    def some(self, count: int) -> list[int]:
        """Inferences to try elsewhere: spread over all, or the first ones where each goes on from the one before."""
        if self.kept:
            return list(range(min(self.warm + count, len(self))))
        return sorted({int(i) for i in np.linspace(0, len(self) - 1, min(count, len(self)))})


def posed(graph: Graph, data: Dataset, *, axis: int | None = None) -> Posed:
    """The inferences of a graph for all samples. A recording becomes windows, each a frame later than the one before;
    with `axis` (`Settings.stream`), or where the model remembers anyway, pieces of as many new frames as it takes."""
    if data.stream is None:
        return Posed(data.cases(graph), data)
    if len(graph.inputs) != 1 or len(data.inputs) != 1:
        raise MoteError("a recording is for models with one input", where=data.where)
    ((name, frames),) = data.inputs.items()
    tensor = graph.tensors[graph.inputs[0]]
    frames = quantized(frames, tensor) if frames.dtype.kind == "f" and _is_quantized(tensor) else frames
    length, kept = tensor.size // frames[0].size, axis is not None or bool(graph.states)
    pieces = windows(tensor, frames, data.where, axis)
    pieces = pieces[::length] if kept and axis is None else pieces
    warm, step = (max(graph.warm_up - 1, 0), length) if kept else (0, 1)
    if len(pieces) <= warm:
        raise MoteError(
            f"has {len(frames)} frames, and the model needs {length + warm * step} until it says anything",
            where=data.where,
            remedy="give a longer recording",
        )
    whole = replace(data, inputs={name: pieces}, stream=None)
    ends = length - 1 + step * np.arange(len(pieces))
    times = data.stream.first + data.stream.period * ends
    return Posed(whole.cases(graph), whole, data.stream, times, kept, warm)


def as_taken(graph: Graph, data: Dataset) -> Dataset:
    """The data as a model takes it, where that has channels on the other side: pictures that are 3x32x32 where a model
    takes 32x32x3, or the other way round. Files of integers that Mote makes of ONNX models differ so from these."""
    shapes = [model_shape(graph.tensors[t]) for t in graph.inputs]
    inputs = {name: _moved_to_one_of(shapes, array) for name, array in data.inputs.items()}
    return data if all(inputs[name] is array for name, array in data.inputs.items()) else replace(data, inputs=inputs)


def _moved_to_one_of(shapes: Sequence[Shape], array: Array) -> Array:
    if any(_without_ones(shape) == _without_ones(array.shape[1:]) for shape in shapes):
        return array
    return next((found for shape in shapes if (found := channels_moved_to(shape, array)) is not array), array)


def channels_moved_to(shape: Shape, array: Array) -> Array:
    """Samples of that shape, where only channels lie elsewhere; else the same array."""
    wanted, sample = shape[1:] if shape[:1] == (1,) else shape, array.shape[1:]
    if len(wanted) < 2 or sample == wanted:
        return array
    if sample == (wanted[-1], *wanted[:-1]):
        return np.moveaxis(array, 1, -1)
    return np.moveaxis(array, -1, 1) if sample == (*wanted[1:], wanted[0]) else array


def _without_ones(shape: Shape) -> Shape:
    return tuple(n for n in shape if n != 1)


def as_real(graph: Graph, data: Dataset) -> Dataset:
    """The data for another model, where it is in the steps of this one's quantized inputs: as real numbers."""
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
