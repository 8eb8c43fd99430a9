"""`Dataset`: samples with labels, which every reader of data returns, and the inputs of inferences made from it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.base.notebook import card, table
from mote.base.text import did_you_mean, printable
from mote.frontends.data.inputs import described, inferences
from mote.frontends.data.windows import windows
from mote.frontends.features.pipeline import Preprocessing
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import code_axis, model_shape
from mote.ir.graph.tensor import Array

OPTION = "option data"
"""The name in messages of data that is not a file."""


@dataclass(frozen=True, eq=False)
class RecordingInfo:
    """The metadata of a recording whose samples are consecutive in time."""

    first: float
    """The second at which the first sample has ended."""
    period: float
    """Seconds from the end of a sample to that of the next."""
    duration: float
    """Seconds of the whole recording."""
    events: Array | None = None
    """[events, 2]: start and end of each event in seconds; None: not labelled."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples along the first axis of every array, and labels along the first axis of theirs."""

    where: str
    """How messages call it: a file, a folder or an option."""
    inputs: Mapping[str, Array]
    """Arrays [samples, ...] by name."""
    labels: Array | None = None
    """[samples] whole numbers are classes, [samples] or [samples, k] real ones are to be computed."""
    names: tuple[str, ...] = ()
    """The file names of the samples, where they come from files."""
    classes: tuple[str, ...] = ()
    """The class names of the labels 0, 1, .., where they are known."""
    columns: tuple[str, ...] = ()
    """The names of the elements of a sample, where the data is a table whose columns have names."""
    stream: RecordingInfo | None = None
    """Where the samples are one recording: frames of it in the order of time."""
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    """The steps that the samples were made by."""
    title: str = ""
    """The name that the user gave it."""

    def __repr__(self) -> str:
        shapes = {name: "x".join(map(str, x.shape[1:])) or "scalar" for name, x in self.inputs.items()}
        arrays = ", ".join(f"{name} {x.dtype} {shapes[name]}" for name, x in self.inputs.items())
        return f"<Dataset {self.shown!r}: {len(self):,} samples, {arrays}, {self._labelled}>"

    @property
    def shown(self) -> str:
        """How results call it: the name that the user gave it, or its file."""
        return self.title or (f"{len(self):,} samples in memory" if self.where == OPTION else self.where)

    @property
    def _labelled(self) -> str:
        if self.stream is not None:
            return "a recording"
        if self.labels is None:
            return "no labels"
        return f"{len(self.classes)} classes" if self.classes else "labels"

    def _repr_html_(self) -> str:
        rows = [(name, str(x.dtype), "x".join(map(str, x.shape[1:]))) for name, x in self.inputs.items()]
        facts = {"samples": len(self), "labels": self._labelled}
        return card(self.shown, facts, table(("input", "type", "shape of a sample"), rows, left=3))

    def json(self) -> dict[str, Any]:
        """Sizes, types and names as JSON types, without the values."""
        return {
            "where": self.where,
            "samples": len(self),
            "inputs": {n: {"dtype": str(x.dtype), "shape": list(x.shape[1:])} for n, x in self.inputs.items()},
            "labelled": self.labels is not None,
            "classes": list(self.classes),
            "columns": list(self.columns),
            "recording": self.stream is not None,
        }

    @property
    def steps(self) -> str:
        """The preprocessing steps that the samples were made by, where a device can run them before a model."""
        return str(self.preprocessing) if self.preprocessing.compiled else ""

    def digest(self) -> str:
        """A digest of all that inferences and labels are made from: equal contents have equal ones, wherever they come
        from. It is computed anew each time, because the arrays may have been written to."""
        arrays = [*self.inputs.values(), *([] if self.labels is None else [self.labels])]
        stream = self.stream and (self.stream.first, self.stream.period)
        about = [*self.inputs], [(str(a.dtype), a.shape) for a in arrays], self.labels is None, self.columns, stream
        state = hashlib.sha256(repr(about).encode())
        for array in arrays:
            state.update(array.tobytes())
        return state.hexdigest()

    def __len__(self) -> int:
        return len(next(iter(self.inputs.values())))

    def name(self, index: int) -> str:
        """The name of a sample in messages."""
        return self.names[index] if self.names else f"sample {index}"

    def take(self, indices: Sequence[int] | Array | slice) -> Dataset:
        """Some of the samples, in this order."""
        chosen = np.arange(len(self), dtype=np.int64)[indices]
        return replace(
            self,
            inputs={name: array[chosen] for name, array in self.inputs.items()},
            labels=None if self.labels is None else self.labels[chosen],
            names=tuple(self.names[i] for i in chosen) if self.names else (),
            stream=None if self.stream is None else self._part(self.stream, chosen),
        )

    def _windows(self, tensor: Tensor) -> Dataset:
        """The windows of a recording that a model with this input takes, as separate samples."""
        ((name, frames),) = self.inputs.items()
        new = [axis for axis in range(len(tensor.shape)) if code_axis(tensor, axis) == tensor.newest]
        return Dataset(self.where, {name: windows(tensor, frames, self.where, new[0] if new else None)})

    def _by_feature(self, tensor: Tensor) -> Dataset:
        """The columns of a table in the order in which a model has its features, where these have names too."""
        ((name, rows),) = self.inputs.items()
        wanted = tensor.labels if rows.shape[1:] == (len(self.columns),) else ()
        missing = [feature for feature in wanted if feature not in self.columns]
        if missing:
            raise MoteError(
                f"has no column '{printable(missing[0])}', which is a feature of the model; it has"
                f" {', '.join(map(printable, self.columns[:20]))}",
                where=self.where,
                remedy=f"{did_you_mean(missing[0], self.columns)}name the columns as in training, or leave out the line"
                " of names where they are in the model's order",
            )
        order = [self.columns.index(feature) for feature in wanted] or slice(None)
        return replace(self, inputs={name: rows[:, order]}, columns=())

    def _part(self, stream: RecordingInfo, chosen: Array) -> RecordingInfo:
        """The metadata of a piece of the recording."""
        if not len(chosen) or (np.diff(chosen) != 1).any():
            raise MoteError(
                "is a recording, of which only one piece can be taken",
                where=self.where,
                remedy="take samples that follow one another",
            )
        return replace(stream, first=stream.first + int(chosen[0]) * stream.period)

    def cases(self, graph: Graph) -> list[dict[int, Array]]:
        """The inputs of every inference by the ids of the model's inputs, one inference for each sample, in the model's
        types: floats are quantized where an input is. Of a recording: one for each window of as many frames as the
        model takes, or one for each hop where the model is stateful."""
        if self.stream is not None and len(graph.inputs) == 1:
            return self._windows(graph.tensors[graph.inputs[0]]).cases(graph)
        if self.columns and len(graph.inputs) == 1:
            return self._by_feature(graph.tensors[graph.inputs[0]]).cases(graph)
        laid = {name: _laid(name, array, graph) for name, array in self.inputs.items()}
        cases = inferences(graph, laid, self.where, self.inputs)
        if len(cases) != len(self):
            raise MoteError(
                f"has {len(self):,} samples of which {len(cases):,} inferences would be made: "
                + ", ".join(f"'{name}' is {described(array)}" for name, array in self.inputs.items()),
                where=self.where,
                remedy="let the first axis count the samples, also where there is one only",
            )
        return cases


def _laid(name: str, array: Array, graph: Graph) -> Array:
    """Samples in the shape of the input that has their name, or of the first that they can be meant for: one of as many
    values, where the samples are rows of values, or differ only in axes of one."""
    tensors = [graph.tensors[t] for t in graph.inputs]
    sample = array.shape[1:]
    for tensor in [t for t in tensors if t.name == name] or tensors:
        shape = model_shape(tensor)
        if sample in (shape, shape[1:] if shape[:1] == (1,) else shape):
            return array
        if prod(sample) == tensor.size and (len(sample) == 1 or _plain(sample) == _plain(shape)):
            return array.reshape(len(array), *shape)
    return array


def _plain(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without axes of one."""
    return tuple(n for n in shape if n != 1)
