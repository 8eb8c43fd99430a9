"""Class outputs of runtimes as arrays: vectors instead of maps from classes, and indices instead of class names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mote.ir.graph.tensor import Array

NAMES = ("classlabels_strings", "classlabels_string")
NUMBERS = ("classlabels_int64s", "classlabels_ints")
"""Attributes that list the classes of a model."""


@dataclass(frozen=True)
class Classes:
    """The lists of classes in a model."""

    lists: Sequence[Sequence[Any]]

    def numbers(self, value: Any) -> Array:
        """A map for each sample becomes a vector in the order of the classes, a class name its index."""
        if isinstance(value, list):
            return np.array([self._ordered(row) for row in value], np.float32)
        array: Array = np.asarray(value)
        if array.dtype.kind not in "OSU":
            return array
        names = array.reshape(-1).tolist()
        known = self._with(names)
        return np.array([known.index(name) for name in names], np.int64).reshape(array.shape)

    def _ordered(self, row: dict[Any, float]) -> list[float]:
        return [row[name] for name in self._with(row) if name in row]

    def _with(self, names: Any) -> list[Any]:
        """The first list that contains all of these classes; else the classes themselves, sorted."""
        wanted = set(names)
        return next((list(known) for known in self.lists if wanted <= set(known)), sorted(wanted))


def classes_of(onnx: Any, model: Any) -> Classes:
    """Class lists from the attributes of nodes, and from string constants."""
    lists: list[list[Any]] = []
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name in NAMES:
                lists.append([name.decode() for name in attribute.strings])
            elif attribute.name in NUMBERS:
                lists.append(list(attribute.ints))
    for proto in model.graph.initializer:
        if proto.data_type == onnx.TensorProto.STRING:
            lists.append([name.decode() for name in proto.string_data])
    return Classes(lists)
