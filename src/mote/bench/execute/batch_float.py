"""Computes float layers on batches in single precision, several times as fast as the NumPy reference, which accumulates
in double."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import WindowOp, float_bias
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

Layer = Conv2D | DepthwiseConv2D | FullyConnected
Reals = NDArray[np.float32]

FEW_CHANNELS = 8
"""Convolutions with at most this many channels use im2col; others a matrix product per tap."""


def is_real(graph: Graph, op: Op) -> bool:
    """Whether an operator is a float layer that this module computes."""
    if not isinstance(op, Layer):
        return False
    return op.input(graph).dtype == DType.FLOAT32 and op.input(graph, 1).dtype == DType.FLOAT32


def evaluate(graph: Graph, op: Op, args: Sequence[Array | None]) -> Reals:
    """Evaluates a float layer on stacked samples."""
    x, w = args[0], args[1]
    assert isinstance(op, Layer) and x is not None and w is not None
    if isinstance(op, FullyConnected):
        sums = x.reshape(-1, w.shape[1]) @ w.T
    elif isinstance(op, DepthwiseConv2D):
        sums = _depthwise(op, x, w)
    else:
        sums = _convolved(op, x, w)
    low, high = op.activation.bounds
    clamped: Reals = np.clip(sums + float_bias(op.tensor(graph, 2), sums.shape[-1]), np.float32(low), np.float32(high))
    return clamped


def _convolved(op: Conv2D, x: Reals, w: Reals) -> Reals:
    n, channels = len(x), x.shape[3]
    padded, (rows, columns) = _padded(op, x)
    if channels > FEW_CHANNELS:
        total = np.zeros((n * rows * columns, w.shape[0]), np.float32)
        for i, j, tap in _taps(op, padded, rows, columns):
            total += np.ascontiguousarray(tap).reshape(-1, channels) @ w[:, i, j].T
        return total.reshape(n, rows, columns, -1)
    taps = [tap for _, _, tap in _taps(op, padded, rows, columns)]
    laid = np.concatenate(taps, axis=3).reshape(n * rows * columns, -1)
    return (laid @ w.reshape(len(w), -1).T).reshape(n, rows, columns, -1)


def _depthwise(op: DepthwiseConv2D, x: Reals, w: Reals) -> Reals:
    padded, (rows, columns) = _padded(op, x)
    total = np.zeros((len(x), rows, columns, w.shape[3]), np.float32)
    for i, j, tap in _taps(op, padded, rows, columns):
        total += np.repeat(tap, op.multiplier, axis=3) * w[0, i, j]
    return total


def _padded(op: WindowOp, x: Reals) -> tuple[Reals, tuple[int, int]]:
    """Zero-padded images, and the output height and width."""
    axes = (op.vertical, op.horizontal)
    edges = [(0, 0), *((axis.before, axis.after) for axis in axes), (0, 0)]
    sizes = [axis.size(n) for axis, n in zip(axes, x.shape[1:3], strict=True)]
    return np.pad(x, edges) if any(map(any, edges)) else x, (sizes[0], sizes[1])


def _taps(op: WindowOp, padded: Reals, rows: int, columns: int) -> list[tuple[int, int, Reals]]:
    """The taps of a window as (row, column, input pixels at all output positions)."""
    down, across = op.vertical, op.horizontal
    taps = []
    for i in range(down.kernel):
        for j in range(across.kernel):
            top, left = i * down.dilation, j * across.dilation
            lines = padded[:, top : top + (rows - 1) * down.stride + 1 : down.stride]
            taps.append((i, j, lines[:, :, left : left + (columns - 1) * across.stride + 1 : across.stride]))
    return taps
