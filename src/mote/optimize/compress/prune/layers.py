"""Layers as matrix products: weight matrices, Gram matrices of their inputs, and weight replacement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.bench.execute import batch
from mote.compiler.passes.shrinking.removable_channels import Layer
from mote.compiler.passes.shrinking.removable_channels import layers as layers_with_columns
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import float_bias
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.transpose_conv import TransposeConv

Reals = NDArray[np.floating[Any]]

BIAS = -1
"""Value of `WeightMatrix.owners` for the bias column."""
ROWS_PER_INPUT = 12
"""Input rows (im2col) sampled per column of a layer's weight matrix."""
LEAST_ROWS = 4096
DAMPING = 1e-4
"""Ridge regularization of Gram matrices, as a share of each input's energy."""
UNSEEN = 1e-9
"""Minimum regularization, relative to the mean energy, for inputs that are always zero."""


@dataclass(frozen=True, eq=False)
class WeightMatrix:
    """A layer's weights as a matrix [outputs, depth]; column d multiplies input channel `owners[d]`. The bias is the
    last column, with input 1."""

    weights: Reals
    owners: Ints
    """Input channel of each column; BIAS for the bias column."""

    @property
    def depth(self) -> int:
        return int(self.weights.shape[1])

    @property
    def biased(self) -> bool:
        return int(self.owners[-1]) == BIAS


def float_layers(graph: Graph) -> list[Layer]:
    """Float layers with constant weights."""
    layers = [layer for layer, _ in layers_with_columns(graph, DType.FLOAT32)]
    return [op for op in layers if op.input(graph, 1).dtype == DType.FLOAT32 and op.input(graph, 1).data is not None]


def matrix(graph: Graph, op: Layer) -> WeightMatrix:
    """Weight matrix of a layer. A transposed convolution has a row per output and tap, and no bias column, since the
    number of overlapping taps depends on the position."""
    w, columns = op.input(graph, 1), op.columns(graph)
    assert w.data is not None and columns is not None
    if isinstance(op, TransposeConv):
        return WeightMatrix(w.data.reshape(-1, w.shape[-1]).astype(np.float64), columns)
    weights = w.data.reshape(w.shape[0], -1).astype(np.float64)
    owners = np.tile(columns, weights.shape[1] // len(columns))
    bias = float_bias(op.tensor(graph, 2), w.shape[0]).astype(np.float64)
    return WeightMatrix(np.column_stack([weights, bias]), np.append(owners, BIAS))


def with_matrices(graph: Graph, matrices: Mapping[int, Reals]) -> Graph:
    """The graph with weights and biases replaced, by layer output."""
    fresh, ops, tensors = graph.fresh_id(), [], []
    for op in graph.ops:
        new = matrices.get(op.outputs[0])
        if new is not None:
            w, b = op.input(graph, 1), op.tensor(graph, 2)
            weights = new if isinstance(op, TransposeConv) else new[:, :-1]
            tensors.append(_constant(fresh, w.name, weights.reshape(w.shape)))
            inputs = (op.inputs[0], fresh, *op.inputs[2:])
            if not isinstance(op, TransposeConv):
                tensors.append(_constant(fresh + 1, b.name if b else f"{op.name}/bias", new[:, -1]))
                inputs = (op.inputs[0], fresh, fresh + 1, *op.inputs[3:])
            op, fresh = op.with_(inputs=inputs), fresh + 2
        ops.append(op)
    return graph.with_ops(ops, tensors)


def _constant(number: int, name: str, values: Array) -> Tensor:
    data = np.ascontiguousarray(values, dtype=np.float32)
    return Tensor(number, name, data.shape, DType.FLOAT32, None, data)


def rows(graph: Graph, op: Layer, x: Array, count: int) -> Reals:
    """At most `count` input rows (im2col) of a layer for a batch, sampled deterministically."""
    if isinstance(op, Conv2D):
        patches = np.concatenate([_windows(part) for part in op.windows(x, 0.0)], axis=1)
    else:
        depth = op.input(graph, 1).shape[-1]
        patches = x.reshape(len(x), -1, depth)
    flat = patches.reshape(-1, patches.shape[-1])
    if len(flat) > count:
        flat = flat[np.sort(np.random.default_rng(op.index + 1).choice(len(flat), count, replace=False))]
    flat = flat.astype(np.float64)
    return flat if isinstance(op, TransposeConv) else np.column_stack([flat, np.ones(len(flat))])


def _windows(patches: Array) -> Array:
    """Flattens windows [n, rows, columns, channels, height, width] to one row each, in weight order."""
    n, high, wide = patches.shape[:3]
    return patches.transpose(0, 1, 2, 4, 5, 3).reshape(n, high * wide, -1)


def wanted_rows(weights: WeightMatrix) -> int:
    return max(LEAST_ROWS, ROWS_PER_INPUT * weights.depth)


@dataclass(frozen=True, eq=False)
class Gram:
    """Gram matrix of a layer's inputs: the mean of x x^T over input rows x."""

    products: Reals

    def damped(self) -> Reals:
        """Regularized, invertible Gram matrix."""
        return self.products + np.diag(ridge_of(self.products, DAMPING))

    def energy(self, weights: Reals, biased: bool) -> float:
        """Mean square of the layer's outputs for these weights; their variance if the layer has a bias, which absorbs
        the mean."""
        products = self.products
        if biased:
            mean = products[-1]
            products = products - np.outer(mean, mean)
        return float(np.einsum("od,de,oe->", weights, products, weights, optimize=True))


def ridge_of(products: Reals, share: float) -> Reals:
    """Ridge term for the diagonal of a Gram matrix: a share of each input's energy."""
    own = np.diag(products)
    ridge: Reals = share * own + UNSEEN * max(float(own.mean()), 1e-30)
    return ridge


def grams(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> dict[int, Gram]:
    """Gram matrices of all layers over calibration data, by output tensor."""
    layers = float_layers(graph)
    sums: dict[int, Reals] = {}
    counts = dict.fromkeys((op.outputs[0] for op in layers), 0)
    for values in batch.evaluate(graph, cases, {op.inputs[0] for op in layers}):
        for op in layers:
            x, y = values[op.inputs[0]], op.outputs[0]
            share = len(x) / len(cases)
            inputs = rows(graph, op, x, int(np.ceil(wanted_rows(matrix(graph, op)) * share)))
            sums[y] = sums.get(y, 0.0) + inputs.T @ inputs
            counts[y] += len(inputs)
    return {y: Gram(total / counts[y]) for y, total in sums.items()}
