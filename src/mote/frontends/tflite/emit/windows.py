"""Convolutions, pooling and resizing. TFLite has SAME and VALID padding; any other one is a PAD before the window,
where that is equivalent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mote.frontends.tflite.emit.elementwise import weights
from mote.frontends.tflite.emit.emitter import Emitter, UnsaidError
from mote.frontends.tflite.file.schema import ACTIVATIONS
from mote.frontends.tflite.ops.windows import same
from mote.ir.graph import Op, Tensor
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.types import DType
from mote.ir.ops.common import FLOAT_MAX, Axis
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.conv3d import Conv3D, Conv3DTranspose
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.pool import MaxPool, Pool
from mote.ir.ops.windows.resize import Resize
from mote.ir.ops.windows.transpose_conv import TransposeConv

NAMES = {2: "hw", 3: "dhw"}
"""The letters of the spatial axes in option names."""
MOST_SEARCHED = 512
"""Limit of window sizes that are tried to find one with SAME padding."""


def conv(e: Emitter, op: Conv2D | GroupedConv2D) -> None:
    _convolution(e, op, op, {})


def depthwise(e: Emitter, op: DepthwiseConv2D) -> None:
    _convolution(e, op, op, {"depth_multiplier": op.multiplier})


def conv_3d(e: Emitter, op: Conv3D) -> None:
    axes = (op.deep, op.vertical, op.horizontal)
    given, padding = _padded(e, op, axes, 0)
    inputs = [given, *e.all(op.inputs[1:])]
    e.activated(op, op.activation, "CONV_3D", inputs, **_steps(axes), **_gaps(axes), padding=padding)


def _convolution(e: Emitter, op: Op, window: Conv2D | GroupedConv2D | DepthwiseConv2D, options: dict[str, Any]) -> None:
    axes = (window.vertical, window.horizontal)
    given, padding = _padded(e, op, axes, 0)
    inputs = [given, weights(e, op, 1), *_bias(e, op)]
    stated = _bias_type(e, op) if not isinstance(op, DepthwiseConv2D) else {}
    options = {**options, **_steps(axes), **_gaps(axes), **stated, "padding": padding}
    e.activated(op, window.activation, op.kind, inputs, **options)


def _bias(e: Emitter, op: Op) -> list[int]:
    """The bias, which LiteRT requires in every convolution but a depthwise one."""
    b, w = op.tensor(e.graph, 2), op.input(e.graph, 1)
    if b is not None:
        return [e.at(b.id)]
    if isinstance(op, DepthwiseConv2D):
        return []
    y, name = op.output(e.graph), f"{op.name} (no bias)"
    if y.dtype == DType.FLOAT32 or w.quant is None:
        return [e.writer.const(name, np.zeros(y.channels, np.float32))]
    wide = np.int64 if y.dtype == DType.INT16 else np.int32
    return [e.writer.const(name, np.zeros(y.channels, wide), w.quant.scale * np.float32(op.input(e.graph).scale))]


def _bias_type(e: Emitter, op: Op) -> dict[str, Any]:
    """The option that tells LiteRT that the bias of a layer with int16 inputs is not int64."""
    b = op.tensor(e.graph, 2)
    wide = op.input(e.graph).dtype == DType.INT16
    return {"quantized_bias_type": b.dtype.value} if wide and b is not None and b.dtype != DType.INT64 else {}


def _steps(axes: Sequence[Axis]) -> dict[str, int]:
    return {f"stride_{name}": axis.stride for name, axis in zip(NAMES[len(axes)], axes, strict=True)}


def _gaps(axes: Sequence[Axis]) -> dict[str, int]:
    return {f"dilation_{name}_factor": axis.dilation for name, axis in zip(NAMES[len(axes)], axes, strict=True)}


def _padded(e: Emitter, op: Op, axes: Sequence[Axis], value: float) -> tuple[int, str]:
    """The input of a window, and its padding: where TFLite has no equivalent, the input is padded first with the
    operator's padding value."""
    x = op.input(e.graph)
    if all(axis.before == axis.after == 0 for axis in axes):
        return e.at(x.id), "VALID"
    if all(axis == same(n, _bare(axis)) for axis, n in zip(axes, x.shape[1:], strict=False)):
        return e.at(x.id), "SAME"
    return _around(e, x, axes, value), "VALID"


def _around(e: Emitter, x: Tensor, axes: Sequence[Axis], value: float) -> int:
    """The input with explicit padding."""
    edges = [(0, 0), *((axis.before, axis.after) for axis in axes), (0, 0)]
    shape = tuple(n + before + after for n, (before, after) in zip(x.shape, edges, strict=True))
    padded = e.between(x, "padded", shape)
    if value == 0:
        e.op("PAD", [e.at(x.id), e.ints(edges)], [padded])
    else:
        e.op("PADV2", [e.at(x.id), e.ints(edges), e.constant(x, np.asarray(value), "around")], [padded])
    return padded


def _bare(axis: Axis) -> Axis:
    return replace(axis, before=0, after=0)


def pool(e: Emitter, op: Pool) -> None:
    """Pooling; explicit padding where no window with SAME padding is equal: the lowest value for a maximum; a float
    average over padding is rescaled to the count of elements inside."""
    x, y = op.input(e.graph), op.output(e.graph)
    axes = (op.vertical, op.horizontal)
    unpadded = all(axis.before == axis.after == 0 for axis in axes)
    whole = None if unpadded else [_whole(n, axis) for n, axis in zip(x.shape[1:3], axes, strict=True)]
    if unpadded or (whole is not None and all(axis is not None for axis in whole)):
        windows = axes if whole is None else [axis for axis in whole if axis is not None]
        _pool(e, op, e.at(x.id), windows, "VALID" if unpadded else "SAME")
        return
    if isinstance(op, MaxPool):
        least = -FLOAT_MAX if x.dtype == DType.FLOAT32 else x.dtype.limits[0]
        _pool(e, op, _around(e, x, axes, least), axes, "VALID")
        return
    if x.dtype != DType.FLOAT32 or op.kind != "AVERAGE_POOL_2D":
        raise UnsaidError(f"its padding ({op.vertical} by {op.horizontal}) is neither SAME nor VALID")
    sizes = zip(x.shape[1:3], axes, strict=True)
    counts = [np.count_nonzero(axis.positions(n) != OUTSIDE, axis=1) for n, axis in sizes]
    factors = op.vertical.kernel * op.horizontal.kernel / np.multiply.outer(*counts)
    mean = e.between(y, "with its padding")
    e.op("AVERAGE_POOL_2D", [_around(e, x, axes, 0)], [mean], **_window(axes), padding="VALID")
    constant = e.writer.const(f"{y.name} (factors)", factors.astype(np.float32)[None, :, :, None])
    e.activated(op, op.activation, "MUL", [mean, constant])


def _pool(e: Emitter, op: Pool, given: int, axes: Sequence[Axis], padding: str) -> None:
    e.activated(op, op.activation, op.kind, [given], **_window(axes), padding=padding)


def _window(axes: Sequence[Axis]) -> dict[str, int]:
    vertical, horizontal = axes
    return {**_steps(axes), "filter_height": vertical.kernel, "filter_width": horizontal.kernel}


def _whole(size: int, axis: Axis) -> Axis | None:
    """A window with SAME padding that equals this one but for taps that are always in the padding."""
    for kernel in range(axis.kernel, axis.kernel + MOST_SEARCHED):
        same_padded = same(size, replace(_bare(axis), kernel=kernel))
        if same_padded.inner(size) == axis:
            return same_padded
    return None


def transpose_conv(e: Emitter, op: TransposeConv) -> None:
    """TFLite's transposed convolutions have SAME or VALID padding; any other one is cropped from a larger output."""
    x, w, *bias = op.inputs
    axes = (op.vertical, op.horizontal)
    y, given = op.output(e.graph), e.graph.tensors[x].shape
    inputs = [_dilated(e, w, axes), e.at(x), *e.all(bias)]
    options = {**_steps(axes), **_bias_type(e, op)}
    spread = [replace(_bare(axis), kernel=axis.extent, dilation=1) for axis in axes]
    placed = [replace(axis, kernel=axis.extent, dilation=1) for axis in axes]
    for padding, usual in (("VALID", spread), ("SAME", [same(n, a) for n, a in zip(op.size, spread, strict=True)])):
        if usual == placed:
            size = e.ints((given[0], *op.size, y.shape[-1]))
            e.activated(op, op.activation, "TRANSPOSE_CONV", [size, *inputs], **options, padding=padding)
            return
    reach = zip(given[1:3], axes, op.size, strict=True)
    large = [max((n - 1) * axis.stride + axis.extent, axis.before + size) for n, axis, size in reach]
    shape = (given[0], *large, y.shape[-1])
    whole = e.between(y, "whole", shape)
    if op.activation not in ACTIVATIONS:
        raise UnsaidError(f"its activation {op.activation} cannot be fused")
    fused = {"fused_activation_function": op.activation.value}
    e.op("TRANSPOSE_CONV", [e.ints(shape), *inputs], [whole], **options, **fused, padding="VALID")
    begin = (0, op.vertical.before, op.horizontal.before, 0)
    e.op("SLICE", [whole, e.ints(begin), e.ints(y.shape)], [e.at(y.id)])


def _dilated(e: Emitter, w: int, axes: Sequence[Axis]) -> int:
    """Dilated weights with explicit zeros, since TFLite's transposed convolution has no dilation."""
    t = e.graph.tensors[w]
    if all(axis.dilation == 1 for axis in axes):
        return e.at(w)
    if t.data is None or (t.quant is not None and np.any(t.quant.zero_point)):
        raise UnsaidError("its weights are dilated, and not constants with zero point 0")
    vertical, horizontal = axes
    spread = np.zeros((t.shape[0], vertical.extent, horizontal.extent, t.shape[3]), t.dtype.numpy)
    spread[:, :: vertical.dilation, :: horizontal.dilation] = t.data
    return e.constant(t, spread, "with gaps")


def conv_3d_transpose(e: Emitter, op: Conv3DTranspose) -> None:
    x, w, *bias = op.inputs
    y, axes = op.output(e.graph), (op.deep, op.vertical, op.horizontal)
    for padding, usual in (
        ("VALID", [_bare(axis) for axis in axes]),
        ("SAME", [same(n, _bare(axis)) for n, axis in zip(op.size, axes, strict=True)]),
    ):
        if usual == list(axes):
            inputs = [e.ints(y.shape), e.at(w), e.at(x), *e.all(bias)]
            options = {**_steps(axes), **_gaps(axes), "padding": padding}
            e.activated(op, op.activation, "CONV_3D_TRANSPOSE", inputs, **options)
            return
    raise UnsaidError("its padding is neither SAME nor VALID")


def resize(e: Emitter, op: Resize) -> None:
    corners = {"align_corners": op.align_corners, "half_pixel_centers": op.half_pixel_centers}
    e.op(op.kind, [e.at(op.inputs[0]), e.ints(op.size)], e.all(op.outputs), **corners)
