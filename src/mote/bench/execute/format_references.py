"""Reference runtimes of formats other than TFLite: a model is compared with its own library (ONNX Runtime, PyTorch,
...)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

import numpy as np

from mote.bench.execute.reference import Reference, as_in_file
from mote.bench.execute.reference import numpy as numpy_reference
from mote.frontends import Format, Source
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import to_model
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

HOMES = {
    Format.ONNX: "onnx",
    Format.TORCH: "torch",
    Format.KERAS: "keras",
    Format.SKLEARN: "sklearn",
    Format.XGBOOST: "trees",
    Format.LIGHTGBM: "trees",
}
"""Front ends with a module `reference`, by format. Its function `reference` returns the runtime's name and a function,
None if it is not installed, or a text why it cannot serve as a reference."""


def runtime(source: Source, graph: Graph) -> tuple[Reference, str]:
    """The reference runtime of a model's format, and its name; if it is not installed or known to be wrong here, Mote's
    NumPy reference with the reason."""
    names = {t.name for t in graph.tensors.values() if not t.inner and t.data is None}
    answer = import_module(f"mote.frontends.{HOMES[source.format]}.reference").reference(source, names)
    if answer is None or isinstance(answer, str):
        why = answer or f"{source.title} is not installed"
        return as_in_file(numpy_reference(graph), graph), f"numpy ({why})"
    name, compute = answer

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array]:
        tensors = ((graph.tensors[t], value) for t, value in inputs.items())
        given = {t.name: np.ascontiguousarray(to_model(t, value)) for t, value in tensors}
        return _ByNumber(graph, compute(given))

    return run, name


class _ByNumber(Mapping[int, Array]):
    """Maps a runtime's values from tensor names to tensor ids."""

    def __init__(self, graph: Graph, values: Mapping[str, Array]) -> None:
        self.values_by_name = values
        self.tensors = {i: t for i, t in graph.tensors.items() if not t.inner and t.name in values}

    def __getitem__(self, i: int) -> Array:
        return _typed(self.tensors[i], self.values_by_name[self.tensors[i].name])

    def __contains__(self, i: object) -> bool:
        return i in self.tensors

    def __iter__(self) -> Iterator[int]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def _typed(tensor: Tensor, value: Array) -> Array:
    """Casts a value to the tensor's type; uint8 values stay, since int8 tensors account for their offset of 128."""
    unsigned = value.dtype.kind == "u" and value.dtype.itemsize == 1 and tensor.dtype == DType.INT8
    return value if unsigned else value.astype(tensor.dtype.numpy, copy=False)
