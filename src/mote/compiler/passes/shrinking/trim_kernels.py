"""Trim rows and columns at the edges of kernels that have no effect: their weights are all zero, or they are always in
the padding. The padding shrinks by as much, but not below zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mote.compiler.passes.shrinking.report import Removal, RemovalKind
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

TRIMMED = RemovalKind(
    "rows and columns of kernels", "their weights are all zero, or they never lie inside the image: they add nothing"
)


def run(graph: Graph) -> tuple[Graph, list[Removal]]:
    ops: list[Op] = []
    constants: list[Tensor] = []
    removals = []
    for op in graph.ops:
        if isinstance(op, Conv2D | DepthwiseConv2D) and (trimmed := _trimmed(graph, op)):
            vertical, horizontal, weights = trimmed
            count = op.vertical.kernel + op.horizontal.kernel - vertical.kernel - horizontal.kernel
            removals.append(Removal(op.index, TRIMMED, count))
            w = replace(op.input(graph, 1), id=graph.fresh_id() + len(constants), shape=weights.shape, data=weights)
            constants.append(w)
            inputs = (op.inputs[0], w.id, *op.inputs[2:])
            op = op.with_(inputs=inputs, vertical=vertical, horizontal=horizontal)
        ops.append(op)
    return (graph.with_ops(ops, constants), removals) if removals else (graph, [])


def _trimmed(graph: Graph, op: Conv2D | DepthwiseConv2D) -> tuple[Axis, Axis, NDArray[np.int8]] | None:
    """Both axes and the weights after trimming; None if nothing can be trimmed."""
    x, w = op.input(graph), op.input(graph, 1)
    if x.dtype != DType.INT8:
        return None
    assert w.data is not None
    rows, columns = op.present(graph)
    used = (w.data != 0).max(axis=(0, 3)) & rows.max(axis=0)[:, None].astype(bool) & columns.max(axis=0).astype(bool)
    v, vertical = trim(op.vertical, used.max(axis=1), x.shape[1])
    h, horizontal = trim(op.horizontal, used.max(axis=0), x.shape[2])
    if (v, h) == (op.vertical, op.horizontal):
        return None
    return v, h, np.ascontiguousarray(w.data[:, vertical, horizontal])


def trim(axis: Axis, used: NDArray[np.bool_], size: int) -> tuple[Axis, slice]:
    """The trimmed axis for an image of `size` and the slice of taps that remains: from the first to the last tap that
    is used, as far as the padding allows."""
    taps = np.flatnonzero(used) if used.any() else np.array([axis.kernel // 2], np.int64)
    first = min(int(taps[0]), axis.before // axis.dilation)
    for last in range(int(taps[-1]), axis.kernel):
        kernel = last + 1 - first
        before = axis.before - first * axis.dilation
        extent = (kernel - 1) * axis.dilation + 1
        after = max(0, (axis.size(size) - 1) * axis.stride + extent - before - size)
        trimmed = replace(axis, kernel=kernel, before=before, after=after)
        if trimmed.size(size) == axis.size(size):
            return trimmed if kernel < axis.kernel else axis, slice(first, last + 1)
    raise AssertionError("the whole kernel has its own size")
