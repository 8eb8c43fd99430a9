"""Batched evaluation of a graph in NumPy.

Samples are stacked along the first axis of tensors with size 1 there, else along a new axis. Operators whose NumPy
reference treats that axis as a batch run once for all samples, others sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from mote.base.errors import working_on
from mote.bench.execute import batch_float
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.common import learned
from mote.ir.ops.control.control_flow import Control, While, present
from mote.ir.ops.elementwise.activations import Unary
from mote.ir.ops.elementwise.arithmetic import Binary
from mote.ir.ops.elementwise.quantize import Dequantize, Quantize, Rescale
from mote.ir.ops.matrix.blockwise import BlockwiseFullyConnected
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pack, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.recurrent import lstm_operands
from mote.ir.ops.recurrent.lstm import Lstm, LstmLayer
from mote.ir.ops.recurrent.rnn import Rnn
from mote.ir.ops.recurrent.sequences import LENGTHS, Recurrent
from mote.ir.ops.recurrent.svdf import Svdf
from mote.ir.ops.reductions.normalize import Normalization
from mote.ir.ops.reductions.reduce import Reduction
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.pool import Pool
from mote.ir.ops.windows.resize import Resize

MOST_BYTES = 1 << 25
"""Memory limit in bytes for all tensors of a batch, which bounds the batch size."""
MOST_SAMPLES = 64


def evaluate(
    graph: Graph,
    cases: Sequence[Mapping[int, Array]],
    wanted: Collection[int] | None = None,
    started: Mapping[int, Array] | None = None,
) -> Iterator[dict[int, Array]]:
    """Yields batches of input and activation values (only those `wanted`, if given), for samples by input id. n samples
    of a tensor [1, ..] become [n, ..], of others [n, *shape]. Each sample starts from initial states (or `started`),
    unless samples are steps of a stream."""
    kept = {*graph.inputs, *graph.producers} if wanted is None else set(wanted)
    stream = is_stream(graph)
    size = 1 if stream else _samples(graph)
    rest = iter(cases)
    states: dict[int, Array] = {s.before: s.initial for s in graph.states} | dict(started or {})
    while chunk := list(islice(rest, size)):
        values = _batch(graph, chunk, kept | {s.after for s in graph.states} if stream else kept, states)
        if stream:
            states = graph.carried(values)
        yield {t: value for t, value in values.items() if t in kept}


def is_stream(graph: Graph) -> bool:
    """Whether samples are steps of a stream, because stateful layers process one step at a time."""
    return any(_sees_one_step(graph, op) for op in graph.ops)


def _sees_one_step(graph: Graph, op: Op) -> bool:
    return isinstance(op, Svdf) or (isinstance(op, Lstm | Rnn) and op.batch_and_time(graph)[1] == 1)


def apply(graph: Graph, op: Op, values: Sequence[Array | None]) -> list[Array]:
    """Evaluates one operator on stacked samples; constants are not stacked."""
    return _applied(graph, op, values, samples_of(graph, op, values))


def stacked(shape: Shape, count: int) -> Shape:
    """Shape of `count` stacked samples of a tensor."""
    return (count, *shape[1:]) if shape[:1] == (1,) else (count, *shape)


def samples_of(graph: Graph, op: Op, values: Sequence[Array | None]) -> int:
    """Number of samples stacked in an operator's inputs."""
    computed = [values[position] for position, _ in op.computed(graph)]
    return next((len(v) for v in computed if v is not None), 1)


def _samples(graph: Graph) -> int:
    """The batch size of a graph."""
    total = sum(8 * graph.tensors[t].size for t in graph.producers)
    return max(1, min(MOST_SAMPLES, MOST_BYTES // max(total, 1)))


def _batch(
    graph: Graph, cases: Sequence[Mapping[int, Array]], kept: Collection[int], states: Mapping[int, Array]
) -> dict[int, Array]:
    """Values of tensors for samples with the same states; tensors that are not kept are dropped after their last
    use."""
    n = len(cases)
    values = {t: _stack(graph, t, [case[t] for case in cases]) for t in graph.inputs}
    for t, state in states.items():
        values[t] = _stack(graph, t, [state] * n)
    return _computed(graph, values, kept, n)


def _computed(graph: Graph, values: dict[int, Array], kept: Collection[int], n: int) -> dict[int, Array]:
    """Values of tensors for stacked inputs."""
    last = {t: place for place, op in enumerate(graph.ops) for t in op.inputs}
    for place, op in enumerate(graph.ops):
        args = [None if i == ABSENT else values.get(i, graph.tensors[i].data) for i in op.inputs]
        values |= dict(zip(op.outputs, _applied(graph, op, args, n), strict=True))
        for t in (*op.inputs, *op.outputs):
            if t in values and t not in kept and last.get(t, place) <= place:
                del values[t]
    return {t: value for t, value in values.items() if t in kept}


def _applied(graph: Graph, op: Op, args: Sequence[Array | None], n: int) -> list[Array]:
    with working_on(op):
        if isinstance(op, Recurrent | LstmLayer) and all(len(graph.tensors[t].shape) > 1 for t in op.outputs):
            return _sequences(graph, op, args, n)
        if isinstance(op, While) and n > 1 and _is_simple(op):
            return _looped(graph, op, args, n)
        return _at_once(graph, op, args, n) if _together(graph, op) else _one_by_one(graph, op, args, n)


def _stack(graph: Graph, tensor: int, values: Sequence[Array]) -> Array:
    t = graph.tensors[tensor]
    return np.stack([v.reshape(t.shape) for v in values]).astype(t.dtype.numpy).reshape(stacked(t.shape, len(values)))


def _at_once(graph: Graph, op: Op, args: Sequence[Array | None], n: int) -> list[Array]:
    """Outputs of an operator run once on all stacked samples."""
    own = [graph.tensors[i] for i in (*op.inputs, *op.outputs) if i != ABSENT]
    many = {t.id: t if t.data is not None else replace(t, shape=stacked(t.shape, n)) for t in own}
    made = [many[t] for t in op.outputs]
    alone = Graph(graph.name, many, (op,), (), ())
    if isinstance(op, Reshape):
        results = args[:1]
    elif isinstance(op, Slice):
        results = op.with_(size=(n, *op.size[1:]), shape=stacked(op.shape, n)).evaluate(alone, args)
    else:
        results = (
            [batch_float.evaluate(alone, op, args)] if batch_float.is_real(graph, op) else op.evaluate(alone, args)
        )
    pairs = zip(made, results, strict=True)
    return [np.asarray(v).astype(t.dtype.numpy, copy=False).reshape(t.shape) for t, v in pairs]


def _sequences(graph: Graph, op: Recurrent | LstmLayer, args: Sequence[Array | None], n: int) -> list[Array]:
    """Outputs of a recurrent layer, with the sequences of all samples in one batch."""
    batch, _ = op.batch_and_time(graph)
    own = {i: graph.tensors[i] for i in (*op.inputs, *op.outputs) if i != ABSENT}
    given = {i for _, i in op.computed(graph)} | set(op.outputs)
    states = (lstm_operands.HIDDEN, lstm_operands.MEMORY) if isinstance(op, LstmLayer) else (LENGTHS, *op.states)
    by_batch = given | {t.id for p in states if (t := op.tensor(graph, p)) is not None}
    many = {i: replace(t, shape=_shape_of_all(op, t, n * batch), data=None) for i, t in own.items() if i in by_batch}
    values = list(args)
    for position, i in enumerate(op.inputs):
        value = args[position]
        if i in by_batch and value is not None:
            whole = value.reshape(n, *own[i].shape) if i in given else np.stack([value] * n)
            last = op.time_major and len(own[i].shape) == 3
            values[position] = (np.moveaxis(whole, 0, 1) if last else whole).reshape(many[i].shape)
    results = op.evaluate(Graph(graph.name, own | many, (op,), (), ()), values)
    made = []
    for t, value in zip((own[i] for i in op.outputs), results, strict=True):
        if op.time_major and len(t.shape) == 3:
            value = np.moveaxis(np.asarray(value).reshape(t.shape[0], n, *t.shape[1:]), 1, 0)
        made.append(np.asarray(value).astype(t.dtype.numpy, copy=False).reshape(stacked(t.shape, n)))
    return made


def _shape_of_all(op: Recurrent | LstmLayer, t: Tensor, sequences: int) -> Shape:
    """Shape of a sequence, state or lengths tensor for a number of sequences."""
    if len(t.shape) == 3:
        return (t.shape[0], sequences, t.shape[2]) if op.time_major else (sequences, *t.shape[1:])
    return (sequences,) if len(t.shape) == 1 else (sequences, t.shape[-1])


def _is_simple(op: While) -> bool:
    """Whether a loop has neither states nor nested control flow."""
    bodies = (op.body,) if op.condition is None else (op.condition, op.body)
    return not op.states and not any(isinstance(inner, Control) for body in bodies for inner in body.ops)


def _looped(graph: Graph, op: While, args: Sequence[Array | None], n: int) -> list[Array]:
    """Outputs of a loop, iterated for all samples at once if their trip counts are equal."""
    _one_by_one(graph, op, args, 1)  # a loop that does not end is refused
    computed = dict(op.computed(graph))
    given = [
        value if position in computed else _stack(graph, op.inputs[position], [value] * n)
        for position, value in enumerate(present(args))
    ]
    turns = 0
    while True:
        on = [turns < (op.trips or 0)] if op.condition is None else _results(op.condition, given, n)[0]
        if not np.any(on):
            return given[: len(op.made)]
        if not np.all(on):
            return _one_by_one(graph, op, args, n)
        given[: len(op.made)] = _results(op.body, given, n)
        turns += 1


def _results(body: Graph, given: Sequence[Array], n: int) -> list[Array]:
    """Outputs of a body graph for stacked inputs."""
    constants = {t: data for t in body.outputs if (data := body.tensors[t].data) is not None}
    values = {t: _stack(body, t, [data] * n) for t, data in constants.items()}
    values |= _computed(body, dict(zip(body.inputs, given, strict=True)), body.outputs, n)
    return [values[t] for t in body.outputs]


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
    """Whether an operator can be run once for many samples: the first axis of its inputs and outputs is a batch
    axis."""
    tensors = [graph.tensors[t] for t in op.outputs] + op.activations(graph)
    if not op.activations(graph) or any(t.shape[:1] != (1,) for t in tensors) or learned(graph, op):
        return False
    return any(isinstance(op, kind) and allowed(graph, op) for kind, allowed in TOGETHER)


def _always(graph: Graph, op: Op) -> bool:
    return True


def _alike(graph: Graph, op: Op) -> bool:
    """Whether operands do not broadcast along the first axis."""
    rank = len(op.output(graph).shape)
    return all(len(t.shape) == rank for t in op.activations(graph)) and all(
        len(t.shape) < rank or t.shape[0] == 1 for t in (graph.tensors[i] for i in op.inputs) if t.data is not None
    )


def _rows(graph: Graph, op: FullyConnected | BlockwiseFullyConnected) -> bool:
    """Whether the first axis of a fully connected layer's output is the batch axis."""
    x, y = op.input(graph), op.output(graph)
    return y.shape[0] == 1 and (op.keep_dims or y.size == y.shape[-1]) and x.shape[0] == 1


TOGETHER: tuple[tuple[type[Op], Callable[[Graph, Any], bool]], ...] = (
    (Conv2D, _always),
    (GroupedConv2D, _always),
    (DepthwiseConv2D, _always),
    (Pool, _always),
    (Resize, _always),
    (FullyConnected, _rows),
    (BlockwiseFullyConnected, _rows),
    (Unary, _always),
    (Quantize, _always),
    (Dequantize, _always),
    (Rescale, _always),
    (Reshape, _always),
    (Slice, lambda graph, op: len(op.shape) == len(op.size)),
    (Binary, _alike),
    (Softmax, lambda graph, op: len(op.input(graph).shape) > 1),
    (Normalization, lambda graph, op: len(op.input(graph).shape) > 1),
    (Reduction, lambda graph, op: 0 not in op.axes),
    (Pad, lambda graph, op: op.paddings[0] == (0, 0)),
    (Pack, lambda graph, op: op.axis > 0 and len(op.computed(graph)) == len(op.inputs)),
    (Concatenation, lambda graph, op: op.axis > 0 and len(op.computed(graph)) == len(op.inputs)),
    (Transpose, lambda graph, op: op.permutation[0] == 0),
)
"""Operators that support batches, with the condition for it."""
