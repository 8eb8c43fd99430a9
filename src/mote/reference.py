"""What the generated code is checked against: LiteRT's reference kernels, or Mote's own in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec

import numpy as np

from mote.graph import Graph
from mote.graph.tensor import Array

Reference = Callable[[Mapping[int, Array]], Mapping[int, Array]]
"""Values of the model's (source) inputs -> every tensor."""


def litert_installed() -> bool:
    return find_spec("ai_edge_litert") is not None


def litert(model: bytes) -> Reference:
    """LiteRT with `BUILTIN_REF`. Its default kernels are no oracle: they differ from the reference."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=model,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array]:
        for t, value in inputs.items():
            interpreter.set_tensor(t, value)
        interpreter.invoke()
        return _Tensors(interpreter.get_tensor)

    return run


def numpy(graph: Graph) -> Reference:
    """The NumPy reference of every operator, on the graph as it was imported."""
    return graph.evaluate


class _Tensors(Mapping[int, Array]):
    """Tensors by index, copied out when asked for."""

    def __init__(self, get: Callable[[int], Array]) -> None:
        self.get_tensor = get

    def __getitem__(self, t: int) -> Array:
        return np.asarray(self.get_tensor(t))

    def __iter__(self):  # type: ignore[no-untyped-def]
        raise TypeError("tensors are looked up by index")

    def __len__(self) -> int:
        raise TypeError("tensors are looked up by index")
