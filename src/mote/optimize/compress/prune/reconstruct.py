"""Refits remaining weights layer by layer: least squares between a layer's outputs in the pruned and in the original
network on calibration data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from mote.bench.execute import batch
from mote.compiler.passes.shrinking.removable_channels import Layer
from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array
from mote.ir.ops.windows.transpose_conv import TransposeConv
from mote.optimize.compress.prune.layers import (
    Gram,
    Reals,
    WeightMatrix,
    float_layers,
    matrix,
    ridge_of,
    rows,
    wanted_rows,
    with_matrices,
)

RIDGE = 0.05
"""Ridge regularization towards the original weights, relative to the inputs' energy."""
MOST_BYTES = 1 << 28
"""Memory limit in bytes for one tensor over all calibration samples."""

Kept = Mapping[int, Array]
"""Masks of the weights to keep in layers' matrices, by output tensor; layers without a mask keep all."""


Shape = Callable[[int, Gram, Reals], Reals]
"""Projects a layer's optimal weights to allowed ones (clusters); arguments are its output tensor, the Gram matrix of
its inputs, and the weights."""


def refitted(
    before: Graph,
    after: Graph,
    cases: Sequence[Mapping[int, Array]],
    kept: Kept | None = None,
    shape: Shape | None = None,
) -> Graph:
    """The graph `after` with weights refitted to reproduce the layer outputs of `before`. Tensor ids must agree;
    `Tensor.kept` lists remaining channels. With `shape`, later layers compensate for the projection of earlier ones."""
    cases = _within_memory(before, cases)
    layers = {op.outputs[0]: op for op in float_layers(before)}
    counts = {y: wanted_rows(matrix(before, op)) for y, op in layers.items()}
    matrices: dict[int, Reals] = {}
    targets = {op.outputs[0]: given for op, given in _layer_inputs(before, cases, counts, matrices)}
    for op, given in _layer_inputs(after, cases, counts, matrices):
        y = op.outputs[0]
        wanted = targets.pop(y) @ _rows_left(before, after, layers[y]).T
        matrices[y] = _least_squares(given, wanted, matrix(after, op), None if kept is None else kept.get(y))
        if shape is not None:
            matrices[y] = shape(y, Gram(given.T @ given / len(given)), matrices[y])
    return with_matrices(after, matrices)


def _rows_left(before: Graph, after: Graph, op: Layer) -> Reals:
    """Rows of a layer's weight matrix for its remaining outputs."""
    own, y = matrix(before, op).weights, after.tensors[op.outputs[0]]
    if y.kept is None:
        return own
    taps = len(own) // before.tensors[y.id].channels if isinstance(op, TransposeConv) else 1
    return own.reshape(-1, taps, own.shape[1])[list(_positions(before, y.id, y.kept))].reshape(-1, own.shape[1])


def _positions(before: Graph, t: int, kept: tuple[int, ...]) -> Ints:
    """Positions of the remaining channels `kept` (numbered as in the file) in a graph that may already lack some."""
    earlier = before.tensors[t].kept
    return np.array(kept) if earlier is None else np.searchsorted(np.array(earlier), np.array(kept))


def _layer_inputs(
    graph: Graph, cases: Sequence[Mapping[int, Array]], counts: Mapping[int, int], matrices: Mapping[int, Reals]
) -> Iterator[tuple[Layer, Reals]]:
    """Runs the graph on samples and yields each layer with sampled input rows. The caller may put a new weight matrix
    into `matrices` before it continues."""
    layers = {id(op) for op in float_layers(graph)}
    last = {t: op for op in graph.ops for t in op.inputs}
    known = {t: np.concatenate([case[t] for case in cases]) for t in graph.inputs}
    for op in graph.ops:
        current = graph
        if id(op) in layers:
            assert isinstance(op, Layer)
            yield op, rows(graph, op, known[op.inputs[0]], counts[op.outputs[0]])
            if op.outputs[0] in matrices:
                current = with_matrices(graph, {op.outputs[0]: matrices[op.outputs[0]]})
        place = graph.places[id(op)]
        known |= _outputs(current, current.ops[place], known)
        for t in set(op.inputs) & known.keys():
            if last[t] is op:
                del known[t]


def _outputs(graph: Graph, op: Op, known: Mapping[int, Array]) -> dict[int, Array]:
    data = {i: graph.tensors[i].data for i in op.inputs if i != ABSENT}
    given = [None if i == ABSENT else known[i] if data[i] is None else data[i] for i in op.inputs]
    return dict(zip(op.outputs, batch.apply(graph, op, given), strict=True))


def _least_squares(given: Reals, wanted: Reals, now: WeightMatrix, kept: Array | None) -> Reals:
    """Least-squares weights, regularized towards the current ones; entries outside of the mask are zero."""
    products, cross = given.T @ given, given.T @ wanted
    ridge = ridge_of(products, RIDGE)
    products = products + np.diag(ridge)
    cross = cross + ridge[:, None] * now.weights.T
    if kept is None:
        solved: Reals = np.linalg.solve(products, cross).T
        return solved
    solved = np.zeros_like(now.weights)
    masks, place = np.unique(kept, axis=0, return_inverse=True)
    for number, mask in enumerate(masks):
        own = place.reshape(-1) == number
        solved[np.ix_(own, mask)] = np.linalg.solve(products[np.ix_(mask, mask)], cross[np.ix_(mask, own)]).T
    return solved


def _within_memory(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> Sequence[Mapping[int, Array]]:
    """Evenly spaced samples, as many as fit the memory limit."""
    largest = max((t.size * 4 for t in graph.tensors.values() if t.data is None), default=1)
    most = max(1, MOST_BYTES // largest)
    return cases if len(cases) <= most else [cases[i * len(cases) // most] for i in range(most)]
