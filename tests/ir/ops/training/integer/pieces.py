"""Operators of integer training by themselves, as graphs that can run side by side in one C program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.tensor import Array, Quantization
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from tests.frontends.features.postprocess.scored import in_c, streamed
from tests.helpers.built import side_by_side

Scale = float | Sequence[float] | None


def quantized(scale: float | Sequence[float], zero: int = 0, axis: int = 0) -> Quantization:
    scales = np.atleast_1d(np.asarray(scale, np.float32))
    return Quantization(scales, np.full(scales.size, zero, np.int64), axis)


def piece(
    kind: type[Op],
    inputs: Sequence[Tensor],
    output: DType = DType.INT8,
    quant: Quantization | None = None,
    initial: Array | None = None,
    **attributes: Any,
) -> Graph:
    """A graph of one operator over inputs 0, 1, .. ; inputs that it updates are states, which begin with 0 or, the
    first, with an initial value."""
    tensors = {t.id: t for t in inputs}
    op = kind(inputs=tuple(tensors), outputs=(), name="piece", index=0, **attributes)
    shapes = op.shapes(Graph("piece", tensors, (op,), tuple(tensors), ()))
    op = op.with_(outputs=tuple(range(len(inputs), len(inputs) + len(shapes))))
    updated = {op.outputs[o]: tensors[i] for o, i in op.updates.items()}
    plain = {i: Tensor(i, "made", shape, output, quant) for i, shape in zip(op.outputs, shapes, strict=True)}
    made = plain | {i: replace(t, id=i) for i, t in updated.items()}
    zeros = {t.id: np.zeros(t.shape, t.dtype.numpy) for t in updated.values()}
    begin = zeros if initial is None else zeros | {0: initial}
    states = tuple(State(t.id, i, begin[t.id]) for i, t in updated.items())
    given = tuple(i for i in tensors if i not in begin)
    whole = Graph("piece", {**tensors, **made}, (op,), given, op.outputs, states=states).verify()
    assert (problem := op.unsupported(whole)) is None, problem
    return whole


def tensors(*described: tuple[str, Sequence[int], str, Quantization | None]) -> list[Tensor]:
    return [Tensor(i, name, tuple(shape), DType(dtype), q) for i, (name, shape, dtype, q) in enumerate(described)]


def values(t: Tensor, number: int, rng: np.random.Generator) -> Array:
    """An input for inference `number`: steps of all sizes, labels of all kinds, and codes up to the ends of their
    range."""
    if t.name.startswith("size"):
        return np.array([rng.integers(1 << 30, 1 << 31) * (number % 5 > 0), rng.integers(-30, 12)], np.int32)
    if t.name.startswith("label"):
        return np.array([rng.integers(-1, 6)], np.int32)
    if t.name.startswith("rate"):
        return np.array([rng.choice([0.01, 3.5e-7, 1e30, 0.0, -1.0, np.nan, np.inf])], np.float32)
    low, high = t.dtype.limits
    if number % 4 == 3:
        return rng.choice([low, high], t.shape).astype(t.dtype.numpy)
    sparse = rng.integers(0, 2, t.shape) if t.name.startswith("gradient") else 1
    return (sparse * rng.integers(low, high, t.shape, endpoint=True)).astype(t.dtype.numpy)


def any_window(rng: np.random.Generator) -> tuple[int, Axis]:
    """A size of an image, and a window over it."""
    kernel, stride, dilation = (int(rng.integers(1, most)) for most in (5, 4, 3))
    before, after = (int(rng.integers(0, kernel)) for _ in range(2))
    axis = Axis(kernel, stride, dilation, before, after)
    return int(rng.integers(max(axis.extent - before - after, 1), 12)), axis


def agree(pieces: Sequence[Graph], target: str, count: int) -> None:
    """The C of all pieces, in one program, has the bits of NumPy, inference by inference."""
    graph, rng = side_by_side(pieces).graph(), np.random.default_rng(1)
    given = [{t: values(graph.tensors[t], i, rng) for t in graph.inputs} for i in range(count)]
    for wanted, made in zip(streamed(graph, given), in_c(graph, given, target), strict=True):
        for t, x, y in zip(graph.outputs, wanted, made, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=str(graph.tensors[t]))
