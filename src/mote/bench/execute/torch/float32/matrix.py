"""Matrix products, and functions of vectors along the last axis."""

from __future__ import annotations

import torch
from torch.nn import functional

from mote.bench.execute.torch.float32.common import Operands, Twin, Value, activated, aligned, given, optional
from mote.ir.graph import Graph
from mote.ir.ops.classical.distances_svm import VECTORS, WEIGHTS, Distances, Metric
from mote.ir.ops.matrix.batch_matmul import BatchMatmul, HeadMatmul, MatrixProduct
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.fully_connected_dynamic import Projection
from mote.ir.ops.onnxruntime_rounding import EvenSoftmax
from mote.ir.ops.reductions.layer_norm import BIAS, SCALE, RootMeanSquare, Standardize
from mote.ir.ops.reductions.normalize import EPSILON, L2Normalization, LogSoftmax
from mote.ir.ops.reductions.softmax import Softmax


def vector_sums(x: Value, w: Value) -> Value:
    """Product of [samples, vectors, depth] and [1, channels, depth], or per-sample weights."""
    return x.reshape(x.shape[0], -1, w.shape[-1]) @ w.transpose(-1, -2)


def fully_connected(g: Graph, op: FullyConnected | Projection, values: Operands) -> Value:
    result, bias = vector_sums(given(values, 0), given(values, 1)), optional(values, 2)
    result = activated(result if bias is None else result + bias.reshape(-1), op.activation)
    return result.reshape(result.shape[0], *op.output(g).shape)


def operands(op: MatrixProduct, left: Value, right: Value) -> tuple[Value, Value]:
    """Operands of a matrix product as [samples, .., rows, depth] and [samples, .., depth, columns]."""
    if isinstance(op, HeadMatmul):
        left, right = left.transpose(1, 2), right.transpose(1, 2)
        return left, right.transpose(2, 3) if op.right_turned else right
    left, right = aligned(left, right)
    left = left.transpose(-1, -2) if isinstance(op, BatchMatmul) and op.left_turned else left
    return left, right.transpose(-1, -2) if op.right_turned else right


def laid(op: MatrixProduct, products: Value) -> Value:
    """Products in the layout of the output."""
    return products.transpose(1, 2) if isinstance(op, HeadMatmul) else products


def product(g: Graph, op: MatrixProduct, values: Operands) -> Value:
    left, right = operands(op, given(values, 0), given(values, 1))
    return laid(op, left @ right)


def softmax(g: Graph, op: Softmax, values: Operands) -> Value:
    return functional.softmax(given(values, 0) * op.beta, -1)


def plain_softmax(g: Graph, op: EvenSoftmax, values: Operands) -> Value:
    return functional.softmax(given(values, 0), -1)


def log_softmax(g: Graph, op: LogSoftmax, values: Operands) -> Value:
    return functional.log_softmax(given(values, 0), -1)


def unit_length(g: Graph, op: L2Normalization, values: Operands) -> Value:
    return functional.normalize(given(values, 0), dim=-1, eps=EPSILON)


def standardized(g: Graph, op: Standardize, values: Operands) -> Value:
    x, scale, bias = given(values, 0), optional(values, SCALE), optional(values, BIAS)
    x = x if isinstance(op, RootMeanSquare) else x - x.mean(-1, keepdim=True)
    result = x * torch.rsqrt(torch.square(x).mean(-1, keepdim=True) + op.epsilon)
    result = result if scale is None else result * scale.reshape(-1)
    return result if bias is None else result + bias.reshape(-1)


def distances(g: Graph, op: Distances, values: Operands) -> Value:
    """Euclidean distances between [samples, .., depth] and [1, count, depth], with zero gradient at zero distance."""
    x, vectors, weights = given(values, 0), given(values, VECTORS), optional(values, WEIGHTS)
    differences = x.reshape(x.shape[0], -1, 1, x.shape[-1]) - vectors.unsqueeze(1)
    weights = torch.ones_like(vectors) if weights is None else weights
    if op.metric == Metric.EUCLIDEAN:
        result: Value = torch.linalg.vector_norm(differences * weights.unsqueeze(1).sqrt(), dim=-1)
    else:
        terms = differences.abs() if op.metric == Metric.MANHATTAN else torch.square(differences)
        result = (terms * weights.unsqueeze(1)).sum(-1)
    return result.reshape(x.shape[0], *op.output(g).shape)


TWINS: dict[type, Twin] = {
    Distances: distances,
    FullyConnected: fully_connected,
    Projection: fully_connected,
    MatrixProduct: product,
    Softmax: softmax,
    EvenSoftmax: plain_softmax,
    LogSoftmax: log_softmax,
    L2Normalization: unit_length,
    Standardize: standardized,
}
