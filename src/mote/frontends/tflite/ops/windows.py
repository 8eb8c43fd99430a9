"""Operators over images (NHWC) with a window: convolutions, pooling, and resizing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node, Padding
from mote.ir.graph import Op
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis, wide_weights
from mote.ir.ops.moves.pad_concat_transpose import Concatenation
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.conv3d import Conv3D, Conv3DTranspose
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.pool import AveragePool, AveragePoolUpward, L2Pool, MaxPool, Pool
from mote.ir.ops.windows.resize import Resize, ResizeBilinear, ResizeBilinearUnsigned, ResizeNearest
from mote.ir.ops.windows.transpose_conv import TransposeConv

MOST_EXTENT = 1 << 23
"""Limit of strides, dilations and kernel sizes, above any axis."""
MOST_PHASES = 1 << 10
"""Limit of the product of strides of a transposed convolution, its number of phases."""


def conv(node: Node) -> Op:
    node.arity(2, 3)
    *_, channels = _image(node, 0, "the input")
    _, height, width, depth = _image(node, 1, "the weights")
    if channels % depth:
        raise UnsupportedNodeError(f"weights of depth {depth} do not fit {channels} input channels")
    vertical, horizontal = _dilated_axes(node, height, width)
    if node.input().dtype == DType.INT16:
        node.check_bias(2)
    kind = Conv2D if channels == depth else GroupedConv2D
    return kind(**node.same(), vertical=vertical, horizontal=horizontal, activation=node.activation())


def depthwise_conv(node: Node) -> Op:
    node.arity(2, 3)
    *_, channels = _image(node, 0, "the input")
    _, height, width, outputs = _image(node, 1, "the weights")
    if outputs % channels:
        raise UnsupportedNodeError(f"{outputs} output channels are not a multiple of {channels} input channels")
    vertical, horizontal = _dilated_axes(node, height, width)
    if node.input().dtype == DType.INT16:
        node.check_bias(2)
    return DepthwiseConv2D(
        **node.same(),
        vertical=vertical,
        horizontal=horizontal,
        multiplier=outputs // channels,
        activation=node.activation(),
    )


def transpose_conv(node: Node) -> Op | list[Op]:
    """TRANSPOSE_CONV: windows are over the output, whose shape is the first input, or that of the output tensor where
    it is computed at run time."""
    node.arity(3, 4)
    stated = node.input().data is None and not node.is_open()
    size = list(node.output().shape) if stated else node.integers(0, "the output's shape")
    _, kernel_h, kernel_w, depth = _image(node, 1, "the weights")
    *_, channels = _image(node, 2, "the input")
    if channels != depth or len(size) != 4:
        raise UnsupportedNodeError(f"weights of depth {depth} do not fit {channels} input channels")
    vertical = _axis(node, size[1], kernel_h, "stride_h")
    horizontal = _axis(node, size[2], kernel_w, "stride_w")
    if vertical.stride * horizontal.stride > MOST_PHASES:
        strides = f"{vertical.stride}x{horizontal.stride}"
        raise UnsupportedNodeError(f"strides of {strides} are too large (their product is {MOST_PHASES} at most)")
    if node.input(2).dtype == DType.INT16:
        node.check_bias(3)
    _, weights, images, *bias = node.inputs
    first: list[Op] = []
    if wide_weights(node.input(1)):
        weights, images = _narrowed(node, first)
    op = TransposeConv(
        **{**node.same(), "inputs": (images, weights, *bias)},
        size=(size[1], size[2]),
        vertical=vertical,
        horizontal=horizontal,
        activation=node.activation(),
    )
    return [*first, op] if first else op


def _narrowed(node: Node, ops: list[Op]) -> tuple[int, int]:
    """9-bit weights as a sum of several 8-bit ones, on images with repeated channels: the sums are equal. `ops` grows
    by the operators that repeat them."""
    w, x = node.input(1), node.input(2)
    assert w.data is not None and w.quant is not None
    rest, parts = w.data, []
    while np.any(rest):
        parts.append(np.clip(rest, -127, 127))
        rest = rest - parts[-1]
    data = np.concatenate(parts, axis=3).astype(np.int8)
    quant = replace(w.quant, unsigned=False)
    weights = node.inner("weights in parts", data.shape, DType.INT8, data, quant)
    repeated = node.inner("channels repeated", (*x.shape[:3], data.shape[3]), x.dtype, quant=x.quant)
    inputs = (x.id,) * len(parts)
    ops.append(Concatenation(inputs=inputs, outputs=(repeated,), name=node.name, index=node.index, axis=3))
    return weights, repeated


def conv_3d(node: Node) -> Op:
    node.arity(2, 3)
    _, *sizes, channels = _volume(node, 0, "the input")
    *kernel, depth, _ = _volume(node, 1, "the weights")
    if channels != depth:
        raise UnsupportedNodeError(f"weights of depth {depth} do not fit {channels} input channels")
    deep, vertical, horizontal = _volume_axes(node, sizes, kernel)
    return Conv3D(**node.same(), deep=deep, vertical=vertical, horizontal=horizontal, activation=node.activation())


def conv_3d_transpose(node: Node) -> Op:
    """CONV_3D_TRANSPOSE: windows are over the output, whose shape is the first input."""
    node.arity(3, 4)
    size = node.integers(0, "the output's shape")
    *kernel, _, depth = _volume(node, 1, "the weights")
    *_, channels = _volume(node, 2, "the input")
    if channels != depth or len(size) != 5 or min(size) < 1:
        raise UnsupportedNodeError(
            f"weights of depth {depth} do not fit {channels} input channels or the output {size}"
        )
    deep, vertical, horizontal = _volume_axes(node, size[1:4], kernel)
    _, weights, volumes, *bias = node.inputs
    return Conv3DTranspose(
        **{**node.same(), "inputs": (volumes, weights, *bias)},
        size=(size[1], size[2], size[3]),
        deep=deep,
        vertical=vertical,
        horizontal=horizontal,
        activation=node.activation(),
    )


def _volume(node: Node, position: int, what: str) -> tuple[int, ...]:
    """The shape of an input that must have five axes."""
    shape = node.input(position).shape
    if len(shape) != 5:
        raise UnsupportedNodeError(f"{what} must have 5 axes, it has the shape {shape}")
    return shape


def _volume_axes(node: Node, sizes: Sequence[int], kernel: Sequence[int]) -> list[Axis]:
    """The three axes of a window over a volume of `sizes`."""
    return [
        _axis(node, size, taps, f"stride_{name}", node.options.integer(f"dilation_{name}_factor"))
        for name, size, taps in zip("dhw", sizes, kernel, strict=True)
    ]


def average_pool(node: Node) -> Op:
    """AVERAGE_POOL_2D. LiteRT's uint8 kernel rounds halves differently, which do not occur for odd window sizes."""
    quant, usual = node.input().quant, _pool(node, AveragePool)
    if quant is None or not quant.unsigned:
        return usual
    sizes = zip((usual.vertical, usual.horizontal), node.input().shape[1:3], strict=True)
    odd = all(np.all((axis.positions(size) != OUTSIDE).sum(axis=1) % 2) for axis, size in sizes)
    return usual if odd else _pool(node, AveragePoolUpward)


def max_pool(node: Node) -> Op:
    return _pool(node, MaxPool)


def l2_pool(node: Node) -> Op:
    return _pool(node, L2Pool)


def _pool(node: Node, kind: type[Pool]) -> Pool:
    node.arity(1)
    _, height, width, _ = _image(node, 0, "the input")
    vertical = _axis(node, height, node.options.integer("filter_height"), "stride_h")
    horizontal = _axis(node, width, node.options.integer("filter_width"), "stride_w")
    return kind(
        **node.same(), vertical=vertical.inner(height), horizontal=horizontal.inner(width), activation=node.activation()
    )


def resize_nearest(node: Node) -> Op:
    return _resize(node, ResizeNearest)


def resize_bilinear(node: Node) -> Op:
    if node.options.flag("align_corners") and node.options.flag("half_pixel_centers"):
        raise UnsupportedNodeError("aligned corners together with half pixel centers are not supported")
    quant = node.input().quant
    return _resize(node, ResizeBilinearUnsigned if quant is not None and quant.unsigned else ResizeBilinear)


def _resize(node: Node, kind: type[Resize]) -> Op:
    node.arity(2)
    shape = _image(node, 0, "the input")
    size = node.integers(1, "the new size")
    if len(size) != 2 or min(size) < 1 or max(*size, *shape[1:3]) >= 1 << 15:
        raise UnsupportedNodeError(f"images of {shape[1:3]} cannot be resized to {size}")
    return kind(
        **{**node.same(), "inputs": node.inputs[:1]},
        size=(size[0], size[1]),
        align_corners=node.options.flag("align_corners"),
        half_pixel_centers=node.options.flag("half_pixel_centers"),
    )


def _image(node: Node, position: int, what: str) -> tuple[int, int, int, int]:
    """The shape of an input that must have four axes."""
    shape = node.input(position).shape
    if len(shape) != 4:
        raise UnsupportedNodeError(f"{what} must have 4 axes, it has the shape {shape}")
    n, h, w, c = shape
    return n, h, w, c


def _dilated_axes(node: Node, kernel_h: int, kernel_w: int) -> tuple[Axis, Axis]:
    """The vertical and the horizontal axis of a convolution."""
    _, height, width, _ = _image(node, 0, "the input")
    return (
        _axis(node, height, kernel_h, "stride_h", node.options.integer("dilation_h_factor")),
        _axis(node, width, kernel_w, "stride_w", node.options.integer("dilation_w_factor")),
    )


def _axis(node: Node, size: int, kernel: int, stride: str, dilation: int = 1) -> Axis:
    """One axis of a window over `size` elements, with its padding made explicit; `stride` names the option."""
    step = node.options.integer(stride)
    if min(kernel, step, dilation) < 1:
        raise UnsupportedNodeError(f"kernel {kernel}, stride {step}, dilation {dilation}: all must be positive")
    extent = (kernel - 1) * dilation + 1
    if max(extent, step) >= MOST_EXTENT:
        raise UnsupportedNodeError(f"a window of {extent} elements with a stride of {step} is too wide")
    if node.padding() == Padding.VALID:
        if extent > size:
            raise UnsupportedNodeError(f"a window of {extent} elements does not fit into {size} without padding")
        return Axis(kernel, step, dilation)
    return same(size, Axis(kernel, step, dilation))


def same(size: int, axis: Axis) -> Axis:
    """An axis with SAME padding."""
    total = max((-(-size // axis.stride) - 1) * axis.stride + axis.extent - size, 0)
    return replace(axis, before=total // 2, after=total - total // 2)
