"""Kernels: convolutions with smaller windows, cut out of the middle of those that they have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

LEAST = 3
"""The smallest window that another one is cut to."""


def kernel_sizes(graph: Graph, op: Op) -> tuple[int, ...]:
    """The sizes that the window of an operator can have, from the smallest to its own: odd ones that leave all output
    positions where they are. Empty where there is no choice."""
    if not isinstance(op, Conv2D | DepthwiseConv2D) or op.input(graph, 1).dtype != DType.FLOAT32:
        return ()
    if op.input(graph, 1).data is None:
        return ()
    axes = (op.vertical, op.horizontal)
    own = max(axis.kernel for axis in axes)
    smaller = [size for size in range(LEAST, own, 2) if all(_cut(axis, size) is not None for axis in axes)]
    return (*smaller, own) if smaller else ()


def with_kernels(graph: Graph, sizes: Mapping[int, int]) -> Graph:
    """The graph with smaller windows, by the outputs of layers; tensors and their shapes stay."""
    tensors, ops, fresh = [], [], graph.fresh_id()
    for op in graph.ops:
        size = sizes.get(op.outputs[0])
        if size is not None and isinstance(op, Conv2D | DepthwiseConv2D):
            (down, vertical), (right, horizontal) = _needed(op.vertical, size), _needed(op.horizontal, size)
            w = op.input(graph, 1)
            assert w.data is not None
            taps = w.data[:, down : down + vertical.kernel, right : right + horizontal.kernel]
            data = np.ascontiguousarray(taps)
            tensors.append(replace(w, id=fresh, shape=data.shape, data=data))
            inputs = (op.inputs[0], fresh, *op.inputs[2:])
            op, fresh = op.with_(inputs=inputs, vertical=vertical, horizontal=horizontal), fresh + 1
        ops.append(op)
    return graph.with_ops(ops, tensors).verify()


def first_taps(whole: Conv2D, cut: Conv2D) -> tuple[int, int]:
    """The first row and column of a convolution's window that are left in another one, which was cut from it."""
    return _needed(whole.vertical, cut.vertical.kernel)[0], _needed(whole.horizontal, cut.horizontal.kernel)[0]


def _needed(axis: Axis, size: int) -> tuple[int, Axis]:
    cut = _cut(axis, size)
    assert cut is not None, f"a window of {axis} cannot have the size {size}"
    return cut


def _cut(axis: Axis, size: int) -> tuple[int, Axis] | None:
    """The first tap that is left, and the axis without the others: with the same output positions, so that as much less
    is padded. None where more would be cut than is padded."""
    rest = axis.kernel - size
    if rest <= 0:
        return 0, axis
    above = min(rest // 2, axis.before // axis.dilation)
    after = axis.after - (rest - above) * axis.dilation
    if after < 0:
        above = rest - axis.after // axis.dilation
        after = axis.after - (rest - above) * axis.dilation
    before = axis.before - above * axis.dilation
    if before < 0 or above > rest:
        return None
    return above, replace(axis, kernel=size, before=before, after=after)
