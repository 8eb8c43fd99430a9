"""Kernel size search: crops convolution kernels to smaller odd sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

SMALLEST = 3
"""Smallest kernel size that is tried."""


def kernel_sizes(graph: Graph, op: Op) -> tuple[int, ...]:
    """Kernel sizes to choose from for a convolution, ascending up to its own: odd sizes that keep the output positions
    unchanged. Empty for other operators, or if there is no smaller size."""
    if not isinstance(op, Conv2D | DepthwiseConv2D) or op.input(graph, 1).dtype != DType.FLOAT32:
        return ()
    if op.input(graph, 1).data is None:
        return ()
    axes = (op.vertical, op.horizontal)
    own = max(axis.kernel for axis in axes)
    smaller = [size for size in range(SMALLEST, own, 2) if all(_crop(axis, size) is not None for axis in axes)]
    return (*smaller, own) if smaller else ()


def with_kernels(graph: Graph, sizes: Mapping[int, int]) -> Graph:
    """The graph with cropped convolution kernels: `sizes` maps a layer's output tensor to its new kernel size; output
    shapes do not change."""
    tensors, ops, fresh = [], [], graph.fresh_id()
    for op in graph.ops:
        size = sizes.get(op.outputs[0])
        if size is not None and isinstance(op, Conv2D | DepthwiseConv2D):
            (down, vertical), (right, horizontal) = _cropped(op.vertical, size), _cropped(op.horizontal, size)
            w = op.input(graph, 1)
            assert w.data is not None
            taps = w.data[:, down : down + vertical.kernel, right : right + horizontal.kernel]
            data = np.ascontiguousarray(taps)
            tensors.append(replace(w, id=fresh, shape=data.shape, data=data))
            inputs = (op.inputs[0], fresh, *op.inputs[2:])
            op, fresh = op.with_(inputs=inputs, vertical=vertical, horizontal=horizontal), fresh + 1
        ops.append(op)
    return graph.with_ops(ops, tensors).verify()


def crop_offset(original: Conv2D, cropped: Conv2D) -> tuple[int, int]:
    """Offset (row, column) of a cropped kernel's first tap in the original kernel."""
    return _cropped(original.vertical, cropped.vertical.kernel)[0], _cropped(
        original.horizontal, cropped.horizontal.kernel
    )[0]


def _cropped(axis: Axis, size: int) -> tuple[int, Axis]:
    cropped = _crop(axis, size)
    assert cropped is not None, f"a window of {axis} cannot have the size {size}"
    return cropped


def _crop(axis: Axis, size: int) -> tuple[int, Axis] | None:
    """Index of the first kept tap and the axis after cropping to `size` taps: padding shrinks by what is cropped, so
    that output positions stay. None if more would be cropped than is padded."""
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
