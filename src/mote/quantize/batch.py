"""A graph evaluated for many samples at once.

Samples are stacked along the first axis of tensors that have one element there; of others they are stacked along a new
one. Operators whose NumPy reference treats that axis as one sample after another are run once for all of them, every
other one sample by sample.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from mote.errors import working_on
from mote.graph import Graph, Op
from mote.graph.graph import ABSENT
from mote.graph.tensor import Array, Shape
from mote.ops.arithmetic import Binary
from mote.ops.conv import Conv2D
from mote.ops.depthwise import DepthwiseConv2D
from mote.ops.fully_connected import FullyConnected
from mote.ops.grouped import GroupedConv2D
from mote.ops.move import Concatenation, Pack, Pad, Transpose
from mote.ops.normalize import Normalization
from mote.ops.pool import Pool
from mote.ops.quantize import Dequantize, Quantize, Rescale
from mote.ops.reduce import Reduction
from mote.ops.reshape import Reshape
from mote.ops.resize import Resize
from mote.ops.softmax import Softmax
from mote.ops.unary import Unary
from mote.quantize import real

MOST_BYTES = 1 << 25
"""Of all tensors of a batch, about: fewer samples are evaluated at once where they are large."""
MOST_SAMPLES = 64


def evaluate(
    graph: Graph, cases: Sequence[Mapping[int, Array]], wanted: Collection[int] | None = None
) -> Iterator[dict[int, Array]]:
    """Batch after batch of the values of inputs and of computed tensors (of the wanted ones, if it is said which), for
    cases by the ids of inputs. n samples of a tensor [1, ..] are [n, ..], of another one [n, *shape]. States are at
    their beginning in every case."""
    kept = {*graph.inputs, *graph.producers} if wanted is None else set(wanted)
    size = _samples(graph)
    rest = iter(cases)
    while chunk := list(islice(rest, size)):
        yield _batch(graph, chunk, kept)


def apply(graph: Graph, op: Op, values: Sequence[Array | None]) -> list[Array]:
    """One operator on values of many samples: what it reads that is computed is stacked, constants are as they are in
    the graph, and what it makes is stacked."""
    computed = [values[position] for position, _ in op.computed(graph)]
    return _applied(graph, op, values, next((len(v) for v in computed if v is not None), 1))


def stacked(shape: Shape, count: int) -> Shape:
    """The shape of so many samples of a tensor."""
    return (count, *shape[1:]) if shape[:1] == (1,) else (count, *shape)


def _samples(graph: Graph) -> int:
    """How many cases are evaluated at once."""
    total = sum(8 * graph.tensors[t].size for t in graph.producers)
    return max(1, min(MOST_SAMPLES, MOST_BYTES // max(total, 1)))


def _batch(graph: Graph, cases: Sequence[Mapping[int, Array]], kept: Collection[int]) -> dict[int, Array]:
    """What is not kept is forgotten after its last reader."""
    n = len(cases)
    last = {t: place for place, op in enumerate(graph.ops) for t in op.inputs}
    values = {t: _stack(graph, t, [case[t] for case in cases]) for t in graph.inputs}
    for s in graph.states:
        values[s.before] = _stack(graph, s.before, [s.initial] * n)
    for place, op in enumerate(graph.ops):
        args = [None if i == ABSENT else values.get(i, graph.tensors[i].data) for i in op.inputs]
        values |= dict(zip(op.outputs, _applied(graph, op, args, n), strict=True))
        for t in (*op.inputs, *op.outputs):
            if t in values and t not in kept and last.get(t, place) <= place:
                del values[t]
    return {t: value for t, value in values.items() if t in kept}


def _applied(graph: Graph, op: Op, args: Sequence[Array | None], n: int) -> list[Array]:
    with working_on(op):
        return _at_once(graph, op, args, n) if _together(graph, op) else _one_by_one(graph, op, args, n)


def _stack(graph: Graph, tensor: int, values: Sequence[Array]) -> Array:
    t = graph.tensors[tensor]
    return np.stack([v.reshape(t.shape) for v in values]).astype(t.dtype.numpy).reshape(stacked(t.shape, len(values)))


def _at_once(graph: Graph, op: Op, args: Sequence[Array | None], n: int) -> list[Array]:
    """The outputs of an operator for all samples, whose tensors have the shapes that they have for so many."""
    own = [graph.tensors[i] for i in (*op.inputs, *op.outputs) if i != ABSENT]
    many = {t.id: t if t.data is not None else replace(t, shape=stacked(t.shape, n)) for t in own}
    made = [many[t] for t in op.outputs]
    alone = Graph(graph.name, many, (op,), (), ())
    if isinstance(op, Reshape):
        found = args[:1]
    else:
        found = [real.evaluate(alone, op, args)] if real.is_real(graph, op) else op.evaluate(alone, args)
    pairs = zip(made, found, strict=True)
    return [np.asarray(v).astype(t.dtype.numpy, copy=False).reshape(t.shape) for t, v in pairs]


def _one_by_one(graph: Graph, op: Op, args: Sequence[Array | None], n: int) -> list[Array]:
    rows: list[list[Array]] = [[] for _ in op.outputs]
    for sample in range(n):
        one = list(args)
        for position, i in op.computed(graph):
            value = args[position]
            assert value is not None
            one[position] = value[sample].reshape(graph.tensors[i].shape)
        for row, made in zip(rows, op.evaluate(graph, one), strict=True):
            row.append(np.asarray(made))
    return [_stack(graph, t, row) for t, row in zip(op.outputs, rows, strict=True)]


def _together(graph: Graph, op: Op) -> bool:
    """Whether an operator may be run once for many samples: it has one image, vector or matrix on the first axis of
    what it reads and makes, and does the same with each."""
    tensors = [graph.tensors[t] for t in op.outputs] + op.activations(graph)
    if not op.activations(graph) or any(t.shape[:1] != (1,) for t in tensors):
        return False
    return any(isinstance(op, kind) and allowed(graph, op) for kind, allowed in TOGETHER)


def _always(graph: Graph, op: Op) -> bool:
    return True


def _alike(graph: Graph, op: Op) -> bool:
    """Operands that are repeated are so on axes behind the first."""
    rank = len(op.output(graph).shape)
    return all(len(t.shape) == rank for t in op.activations(graph)) and all(
        len(t.shape) < rank or t.shape[0] == 1 for t in (graph.tensors[i] for i in op.inputs) if t.data is not None
    )


def _rows(graph: Graph, op: FullyConnected) -> bool:
    """Each sample is so many vectors, and the first axis of the output is still that of samples."""
    x, y = op.input(graph), op.output(graph)
    return y.shape[0] == 1 and (op.keep_dims or y.size == y.shape[-1]) and x.shape[0] == 1


TOGETHER: tuple[tuple[type[Op], Callable[[Graph, Any], bool]], ...] = (
    (Conv2D, _always),
    (GroupedConv2D, _always),
    (DepthwiseConv2D, _always),
    (Pool, _always),
    (Resize, _always),
    (FullyConnected, _rows),
    (Unary, _always),
    (Quantize, _always),
    (Dequantize, _always),
    (Rescale, _always),
    (Reshape, _always),
    (Binary, _alike),
    (Softmax, lambda graph, op: len(op.input(graph).shape) > 1),
    (Normalization, lambda graph, op: len(op.input(graph).shape) > 1),
    (Reduction, lambda graph, op: 0 not in op.axes),
    (Pad, lambda graph, op: op.paddings[0] == (0, 0)),
    (Pack, lambda graph, op: op.axis > 0 and len(op.computed(graph)) == len(op.inputs)),
    (Concatenation, lambda graph, op: op.axis > 0 and len(op.computed(graph)) == len(op.inputs)),
    (Transpose, lambda graph, op: op.permutation[0] == 0),
)
"""Operators that may be run so, and when."""
