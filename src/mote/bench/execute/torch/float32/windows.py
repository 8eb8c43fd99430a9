"""Convolutions, pooling and resizing.

Accumulators (without bias and activation) are separate functions: in double precision they are exact for integers, and
`mote.bench.execute.torch.exact` requantizes them as LiteRT does."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from mote.bench.execute.torch.float32.common import (
    Operands,
    Twin,
    Value,
    activated,
    dilations,
    given,
    images,
    kernels,
    like_images,
    optional,
    padded,
    strides,
)
from mote.ir.graph import Graph
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import WindowOp
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.conv3d import Conv3D, Conv3DTranspose
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.pool import Average, L2Pool, MaxPool
from mote.ir.ops.windows.resize import EXACT, ONE, ResizeBilinear, ResizeNearest
from mote.ir.ops.windows.transpose_conv import TransposeConv

Layer = Conv2D | GroupedConv2D | DepthwiseConv2D | TransposeConv


def sums_of(g: Graph, op: Layer, x: Value, w: Value) -> Value:
    """Accumulators of a layer; `x` has its zero point already subtracted."""
    if isinstance(op, TransposeConv):
        return _spread(op, x, w)
    axes = op.vertical, op.horizontal
    seen = padded(images(x), axes)
    if isinstance(op, DepthwiseConv2D):
        weights, groups = w[0].permute(3, 0, 1, 2), x.shape[-1]
    else:
        weights, groups = w[0].permute(0, 3, 1, 2), x.shape[-1] // w.shape[-1]
    sums = functional.conv2d(seen, weights, stride=strides(axes), dilation=dilations(axes), groups=groups)
    return like_images(sums, x.shape[0])


def _spread(op: TransposeConv, x: Value, w: Value) -> Value:
    """Transposed convolution: adds each input pixel's contributions to the outputs it reaches."""
    axes = op.vertical, op.horizontal
    whole = functional.conv_transpose2d(images(x), w[0].permute(3, 0, 1, 2), stride=strides(axes))
    return like_images(_cut(whole, [axis.before for axis in axes], op.size), x.shape[0])


def _cut(whole: Value, begins: list[int], sizes: tuple[int, ...]) -> Value:
    """Crops the last axes from `begins`, with zeros beyond the end."""
    for axis, (begin, size) in enumerate(zip(begins, sizes, strict=True), whole.dim() - len(sizes)):
        missing = max(begin + size - whole.shape[axis], 0)
        around = [0, 0] * (whole.dim() - 1 - axis) + [0, missing]
        whole = functional.pad(whole, around).narrow(axis, begin, size)
    return whole


def layer(g: Graph, op: Layer, values: Operands) -> Value:
    sums = sums_of(g, op, given(values, 0), given(values, 1))
    bias = optional(values, 2)
    return activated(sums if bias is None else sums + bias.reshape(-1), op.activation)


def volume(g: Graph, op: Conv3D | Conv3DTranspose, values: Operands) -> Value:
    x, w, bias = given(values, 0), given(values, 1), optional(values, 2)
    seen, weights = images(x), w[0].permute(4, 3, 0, 1, 2)
    if isinstance(op, Conv3D):
        sums = functional.conv3d(padded(seen, op.axes), weights, stride=strides(op.axes), dilation=dilations(op.axes))
    else:
        whole = functional.conv_transpose3d(seen, weights, stride=strides(op.axes), dilation=dilations(op.axes))
        sums = _cut(whole, [axis.before for axis in op.axes], op.size)
    sums = like_images(sums, x.shape[0])
    return activated(sums if bias is None else sums + bias.reshape(-1), op.activation)


def window_sums(op: WindowOp, x: Value) -> Value:
    """Window sums of pooling; padding counts as zero."""
    axes = op.vertical, op.horizontal
    seen = padded(images(x), axes)
    ones = torch.ones((seen.shape[1], 1, *kernels(axes)), dtype=x.dtype, device=x.device)
    sums = functional.conv2d(seen, ones, stride=strides(axes), dilation=dilations(axes), groups=seen.shape[1])
    return like_images(sums, x.shape[0])


def counts(op: WindowOp, x: Value) -> Value:
    """Number of elements of each window inside the image: [height, width, 1]."""
    sizes = (op.vertical, x.shape[2]), (op.horizontal, x.shape[3])
    rows, columns = ((axis.positions(n) != OUTSIDE).sum(axis=1) for axis, n in sizes)
    return torch.from_numpy(rows[:, None, None] * columns[:, None]).to(x.device)


def average(g: Graph, op: Average, values: Operands) -> Value:
    x = given(values, 0)
    return activated(window_sums(op, x) / counts(op, x), op.activation)


def root_mean_square(g: Graph, op: L2Pool, values: Operands) -> Value:
    x = given(values, 0)
    return activated(torch.sqrt(window_sums(op, torch.square(x)) / counts(op, x)), op.activation)


def largest(g: Graph, op: MaxPool, values: Operands) -> Value:
    return activated(window_maxima(op, given(values, 0)), op.activation)


def window_maxima(op: MaxPool, x: Value) -> Value:
    axes = op.vertical, op.horizontal
    seen = padded(images(x), axes, -torch.inf)
    maxima = functional.max_pool2d(seen, kernels(axes), strides(axes), dilation=dilations(axes))
    return like_images(maxima, x.shape[0])


def nearest(g: Graph, op: ResizeNearest, values: Operands) -> Value:
    x = given(values, 0)
    for axis, size in zip((2, 3), op.size, strict=True):
        x = x.index_select(axis, _on(x, op.sources(x.shape[axis], size)))
    return x


def bilinear(g: Graph, op: ResizeBilinear, values: Operands) -> Value:
    x, one = given(values, 0), ONE if op.input(g).dtype in EXACT else 1
    for axis, size in zip((2, 3), op.size, strict=True):
        blend = op.blend(g, x.shape[axis], size)
        weight = _on(x, np.asarray(blend.weight / one, np.float32)).to(x.dtype).reshape(-1, *(1,) * (4 - axis))
        lower, upper = (x.index_select(axis, _on(x, ends)) for ends in (blend.lower, blend.upper))
        x = lower * (1 - weight) + upper * weight
    return x


def _on(x: Value, array: Array) -> Value:
    return torch.from_numpy(np.ascontiguousarray(array)).to(x.device)


TWINS: dict[type, Twin] = {
    Conv2D: layer,
    GroupedConv2D: layer,
    DepthwiseConv2D: layer,
    TransposeConv: layer,
    Conv3D: volume,
    Conv3DTranspose: volume,
    Average: average,
    L2Pool: root_mean_square,
    MaxPool: largest,
    ResizeNearest: nearest,
    ResizeBilinear: bilinear,
}
