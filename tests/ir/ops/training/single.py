"""One operator by itself: the NumPy reference for given inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.rows import OUTSIDE, row_count
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

BOUND = 2e-5
"""How far float32 results may be from PyTorch's, as a share of the largest one: both add up in other orders."""


def single(kind: type[Op], *values: Array, outputs: int = 1, **attributes: Any) -> Graph:
    """A verified graph of one operator, whose inputs 0, 1, .. are of the types and shapes of these values."""
    types = [DType(str(value.dtype)) for value in values]
    tensors = {i: Tensor(i, f"x{i}", value.shape, of) for i, (value, of) in enumerate(zip(values, types, strict=True))}
    ids = tuple(range(len(values), len(values) + outputs))
    op = kind(inputs=tuple(tensors), outputs=ids, name="alone", index=0, **attributes)
    graph = Graph("alone", tensors, (op,), tuple(tensors), ids)
    shapes = op.shapes(graph)
    dtypes = [types[op.updates[o]] if o in op.updates else DType.FLOAT32 for o in range(outputs)]
    made = {i: Tensor(i, f"y{i}", *of) for i, of in zip(ids, zip(shapes, dtypes, strict=True), strict=True)}
    states = tuple(State(op.inputs[i], ids[o], values[i]) for o, i in op.updates.items())
    return replace(graph, tensors={**tensors, **made}, states=states).verify()


def evaluate(kind: type[Op], *values: Array, outputs: int = 1, **attributes: Any) -> list[Array]:
    """The outputs of the operator, which must support what it is given."""
    graph = single(kind, *values, outputs=outputs, **attributes)
    assert graph.ops[0].unsupported(graph) is None
    known = graph.evaluate(dict(enumerate(values)))
    return [known[i] for i in graph.outputs]


def close(got: Array, want: Array, bound: float = BOUND) -> None:
    """Both are float32 of one shape, and no further apart than the bound."""
    assert got.dtype == np.float32 and got.shape == want.shape
    assert np.abs(got - want).max(initial=0) <= bound * max(1.0, float(np.abs(want).max(initial=0)))


def rows_suffice(kind: type[Op], *values: Array, **attributes: Any) -> None:
    """Each row of the output depends on no other rows of input 0 than those that it says that it reads."""
    graph = single(kind, *values, **attributes)
    (op,), (out,) = graph.ops, graph.outputs
    want = graph.evaluate(dict(enumerate(values)))[out]
    count, x = row_count(want.shape), values[0].reshape(row_count(values[0].shape), -1)
    for y in range(count):
        rows = op.reads(graph, 0, y)
        assert rows is not None
        kept = np.full_like(x, 1e6)
        used = [r for r in rows if r != OUTSIDE]
        kept[used] = x[used]
        got = graph.evaluate({**dict(enumerate(values)), 0: kept.reshape(values[0].shape)})[out]
        assert np.array_equal(got.reshape(count, -1)[y], want.reshape(count, -1)[y])
