"""Convolutions and pooling over sequences, images or volumes, whose channels the file has on axis 1. Sequences are
images of one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, moves, reductions
from mote.frontends.build.builder import Builder, Value, places
from mote.frontends.build.codes import Codes
from mote.ir.graph import Op
from mote.ir.graph.element_order import Atom
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import FLOAT_MAX, Axis, WindowOp
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.conv3d import Conv3D, Conv3DTranspose
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool, Pool
from mote.ir.ops.windows.transpose_conv import TransposeConv

Pads = Sequence[tuple[int, int]]
"""Padding before and after, for each axis of the window."""


def window(
    kernel: Sequence[int],
    strides: Sequence[int] | None = None,
    pads: Pads | None = None,
    dilations: Sequence[int] | None = None,
) -> list[Axis]:
    """The axes of a window; strides and dilations are 1 and paddings 0 by default."""
    count = len(kernel)
    axes = []
    for k, s, d, (before, after) in zip(
        kernel, strides or [1] * count, dilations or [1] * count, pads or [(0, 0)] * count, strict=True
    ):
        if min(k, s, d) < 1 or min(before, after) < 0:
            raise UnsupportedNodeError(f"a window of {k} with stride {s}, dilation {d}, padding {before} and {after}")
        axes.append(Axis(k, s, d, before, after))
    return axes


def same_pads(sizes: Sequence[int], axes: Sequence[Axis], *, upper: bool = True) -> list[Axis]:
    """The axes with SAME padding; an odd element is after, or before."""
    padded = []
    for n, axis in zip(sizes, axes, strict=True):
        total = max((-(-n // axis.stride) - 1) * axis.stride + axis.extent - n, 0)
        less, more = total // 2, total - total // 2
        padded.append(replace(axis, before=less if upper else more, after=more if upper else less))
    return padded


def _space(x: Value, axes: Sequence[Axis]) -> tuple[int, ...]:
    """The spatial sizes of an image, which must have as many axes as the window."""
    if x.rank != len(axes) + 2 or not 1 <= len(axes) <= 3:
        raise UnsupportedNodeError(f"a window of {len(axes)} axes does not fit a value of the shape {x.shape}")
    for n, axis in zip(x.shape[2:], axes, strict=True):
        if n + axis.before + axis.after < axis.extent:
            raise UnsupportedNodeError(f"a window of {axis} does not fit {n} elements")
    return x.shape[2:]


def _stored_axes(x: Value) -> list[list[int]]:
    """The stored axes: batch, rows (one for a sequence), columns and channels."""
    return [[0], [], [2], [1]] if x.rank == 3 else [[0], *([a] for a in range(2, x.rank)), [1]]


def _image(b: Builder, made: int, x: Value, channels: Sequence[Atom], space: Sequence[int]) -> Value:
    """A channels-last image tensor as a value of the file."""
    shape = (x.shape[0], prod(atom.size for atom in channels), *space)
    atoms = [Atom(0, 0, x.shape[0]), *(Atom(a, 0, n) for a, n in enumerate(space, 2)), *channels]
    return b.value(made, shape, atoms)


def conv(
    b: Builder,
    x: Value,
    weights: Array,
    bias: Array | None,
    axes: Sequence[Axis],
    groups: int = 1,
    codes: Codes | None = None,
) -> Value:
    """A convolution with [outputs, inputs of a group, *kernel] weights, which are quantized where there are codes."""
    space = _space(x, axes)
    outputs, depth = weights.shape[:2]
    if x.shape[1] != depth * groups or outputs % groups:
        raise UnsupportedNodeError(f"weights of {weights.shape} in {groups} groups do not fit {x.shape[1]} channels")
    new = [axis.size(n) for axis, n in zip(axes, space, strict=True)]
    if len(axes) == 3:
        if codes is not None:
            raise UnsupportedNodeError("quantized convolutions of volumes are not supported")
        return _conv_3d(b, x, _ungrouped(weights, groups), bias, axes, new)
    depthwise = depth == 1 and groups > 1
    free = (1,) if groups == 1 or depthwise else ()
    source, stored = b.loosely(x, _stored_axes(x), free)
    order = places(stored[-1])
    kernel = weights.reshape(outputs, depth, *(1, *weights.shape[2:])[-2:])
    vertical, horizontal = (Axis(1), *axes)[-2:]
    made_space = (1, *new)[-2:]
    attributes: dict[str, Any] = {"vertical": vertical, "horizontal": horizontal}
    attributes |= {} if codes is None else codes.attributes
    channels = [Atom(1, 0, outputs)]
    kind: type[Op] = Conv2D if groups == 1 else GroupedConv2D
    if depthwise:
        kind, times = DepthwiseConv2D, outputs // groups
        kernel = kernel.reshape(groups, times, *kernel.shape[2:])[order].reshape(1, outputs, *kernel.shape[2:])
        channels = [*stored[-1], Atom(1, len(stored[-1]), times)]
        bias = None if bias is None else bias.reshape(groups, times)[order].reshape(-1)
        moved = np.arange(outputs, dtype=np.int64).reshape(groups, times)[order].reshape(-1)
        inputs = [source, b.tensor(kernel.transpose(0, 2, 3, 1), codes.weights(kernel, 3, moved) if codes else None)]
        attributes["multiplier"] = times
    else:
        kernel = kernel[:, order] if groups == 1 else kernel
        inputs = [source, b.tensor(kernel.transpose(0, 2, 3, 1), codes.weights(kernel) if codes else None)]
    if bias is not None:
        inputs += map(b.tensor, codes.biases(bias.reshape(-1)) if codes else [bias.reshape(-1)])
    kind = kind if codes is None else codes.kind(kind)
    dtype = None if codes is None else codes.dtype
    made = b.op(kind, inputs, (x.shape[0], *made_space, outputs), dtype, **attributes)
    return _image(b, made, x, channels, new)


def _ungrouped(weights: Array, groups: int) -> Array:
    """Dense weights of a grouped convolution, with zeros for the inputs of other groups."""
    outputs, depth, *kernel = weights.shape
    if groups == 1:
        return weights
    whole = np.zeros((groups, outputs // groups, groups, depth, *kernel), weights.dtype)
    for g, part in enumerate(np.split(weights, groups)):
        whole[g, :, g] = part
    return whole.reshape(outputs, groups * depth, *kernel)


def _conv_3d(
    b: Builder, x: Value, weights: Array, bias: Array | None, axes: Sequence[Axis], new: Sequence[int]
) -> Value:
    source, stored = b.loosely(x, _stored_axes(x), (1,))
    kernel = weights[:, places(stored[-1])].transpose(2, 3, 4, 1, 0)
    inputs = [source, b.tensor(kernel), *([] if bias is None else [b.tensor(bias.reshape(-1))])]
    deep, vertical, horizontal = axes
    shape = (x.shape[0], *new, weights.shape[0])
    made = b.op(Conv3D, inputs, shape, deep=deep, vertical=vertical, horizontal=horizontal)
    return _image(b, made, x, [Atom(1, 0, weights.shape[0])], new)


def conv_transpose(
    b: Builder,
    x: Value,
    weights: Array,
    bias: Array | None,
    axes: Sequence[Axis],
    more: Sequence[int] | None = None,
    groups: int = 1,
) -> Value:
    """A transposed convolution with [inputs, outputs of a group, *kernel] weights. `more`: output padding at the end of
    each axis."""
    more = more or [0] * len(axes)
    depth, share = weights.shape[:2]
    if x.rank != len(axes) + 2 or x.shape[1] != depth or depth % groups:
        raise UnsupportedNodeError(f"weights of {weights.shape} in {groups} groups do not fit a value of {x.shape}")
    new = [
        (n - 1) * axis.stride + axis.extent - axis.before - axis.after + m
        for n, axis, m in zip(x.shape[2:], axes, more, strict=True)
    ]
    if min(new) < 1:
        raise UnsupportedNodeError(f"a transposed convolution with windows of {list(map(str, axes))} makes {new}")
    if groups > 1 or any(m >= axis.stride for m, axis in zip(more, axes, strict=True)):
        return _spread(b, x, weights, bias, axes, new, groups)
    if len(axes) == 3:
        return _conv_3d_transpose(b, x, weights, bias, axes, new)
    source, stored = b.loosely(x, _stored_axes(x), (1,))
    kernel = _dilated(weights[places(stored[-1])], axes)
    kernel = kernel.reshape(depth, share, *(1, *kernel.shape[2:])[-2:])
    inputs = [source, b.tensor(kernel.transpose(1, 2, 3, 0)), *([] if bias is None else [b.tensor(bias.reshape(-1))])]
    solid = [replace(axis, kernel=axis.extent, dilation=1) for axis in axes]
    vertical, horizontal = (Axis(1), *solid)[-2:]
    height, width = (1, *new)[-2:]
    made = b.op(
        TransposeConv,
        inputs,
        (x.shape[0], height, width, share),
        size=(height, width),
        vertical=vertical,
        horizontal=horizontal,
    )
    return _image(b, made, x, [Atom(1, 0, share)], new)


def _dilated(weights: Array, axes: Sequence[Axis]) -> Array:
    """Dilated weights, with explicit zeros between the taps."""
    whole = np.zeros((*weights.shape[:2], *(axis.extent for axis in axes)), weights.dtype)
    whole[(slice(None), slice(None), *(slice(None, None, axis.dilation) for axis in axes))] = weights
    return whole


def _conv_3d_transpose(
    b: Builder, x: Value, weights: Array, bias: Array | None, axes: Sequence[Axis], new: Sequence[int]
) -> Value:
    source, stored = b.loosely(x, _stored_axes(x), (1,))
    kernel = weights[places(stored[-1])].transpose(2, 3, 4, 1, 0)
    inputs = [source, b.tensor(kernel), *([] if bias is None else [b.tensor(bias.reshape(-1))])]
    deep, vertical, horizontal = axes
    size, channels = tuple(new), weights.shape[1]
    made = b.op(
        Conv3DTranspose,
        inputs,
        (x.shape[0], *new, channels),
        size=size,
        deep=deep,
        vertical=vertical,
        horizontal=horizontal,
    )
    return _image(b, made, x, [Atom(1, 0, channels)], new)


def _spread(
    b: Builder, x: Value, weights: Array, bias: Array | None, axes: Sequence[Axis], new: Sequence[int], groups: int
) -> Value:
    """A transposed convolution as an ordinary one with flipped weights, over an input with zeros between its
    elements."""
    apart = _with_zeros(b, x, axes)
    plain = []
    for axis, size, n in zip(axes, new, apart.shape[2:], strict=True):
        before = axis.extent - 1 - axis.before
        plain.append((before, size + axis.extent - 1 - n - before))
    cut = [(min(p, 0), min(q, 0)) for p, q in plain]
    apart = moves.pad(b, apart, [(0, 0), (0, 0), *cut])
    windows = [
        Axis(axis.kernel, 1, axis.dilation, max(p, 0), max(q, 0)) for axis, (p, q) in zip(axes, plain, strict=True)
    ]
    depth, share, *kernel = weights.shape
    turned = weights[(slice(None), slice(None), *(slice(None, None, -1) for _ in axes))]
    parts = turned.reshape(groups, depth // groups, share, *kernel).swapaxes(1, 2)
    return conv(b, apart, parts.reshape(groups * share, depth // groups, *kernel), bias, windows, groups)


def _with_zeros(b: Builder, x: Value, axes: Sequence[Axis]) -> Value:
    """An image with stride - 1 zeros after each element but the last."""
    pairs = [n for size in x.shape[2:] for n in (size, 1)]
    none = [(0, 0)] * 2
    paddings = [*none, *(p for axis in axes for p in ((0, 0), (0, axis.stride - 1)))]
    apart = moves.pad(b, moves.reshape(b, x, (*x.shape[:2], *pairs)), paddings)
    whole = moves.reshape(
        b, apart, (*x.shape[:2], *(n * axis.stride for n, axis in zip(x.shape[2:], axes, strict=True)))
    )
    return moves.pad(b, whole, [*none, *((0, 1 - axis.stride) for axis in axes)])


def ceiled(x: Value, axes: Sequence[Axis], ceil: bool) -> list[Axis]:
    """The axes of pooling with `ceil_mode`: windows may go beyond the end, but do not start there."""
    ceiled_axes = []
    for n, axis in zip(_space(x, axes), axes, strict=True):
        if ceil:
            rest = n + axis.before + axis.after - axis.extent
            count = -(-rest // axis.stride) + 1
            count -= (count - 1) * axis.stride >= n + axis.before
            axis = replace(axis, after=max((count - 1) * axis.stride + axis.extent - n - axis.before, 0))
        ceiled_axes.append(axis)
    return ceiled_axes


def max_pool(b: Builder, x: Value, axes: Sequence[Axis], *, ceil: bool = False) -> Value:
    """Max pooling."""
    return _pool(b, MaxPool, x, ceiled(x, axes, ceil))


def average_pool(b: Builder, x: Value, axes: Sequence[Axis], *, ceil: bool = False, include_pad: bool = False) -> Value:
    """Average pooling: over the elements inside, or with explicit padding counted too (but not what `ceil_mode`
    adds)."""
    whole = ceiled(x, axes, ceil)
    if include_pad and any(axis.before or axis.after for axis in axes):
        x = moves.pad(b, x, [(0, 0), (0, 0), *((axis.before, axis.after) for axis in axes)])
        pairs = zip(whole, axes, strict=True)
        whole = [replace(w, before=0, after=max(w.after - axis.after, 0)) for w, axis in pairs]
    return _pool(b, AveragePool, x, whole)


def lp_pool(b: Builder, x: Value, axes: Sequence[Axis], order: int = 2, *, ceil: bool = False) -> Value:
    """Lp pooling: the p-norm of each window."""
    raised = _raised(b, x, order)
    whole = ceiled(x, axes, ceil)
    average = _pool(b, AveragePool, raised, whole)
    total = elementwise.mul(b, average, b.constant(_counts(x, whole)))
    return _root(b, total, order)


def _raised(b: Builder, x: Value, order: int) -> Value:
    size = elementwise.abs_(b, x)
    if order in (1, 2):
        return size if order == 1 else elementwise.mul(b, x, x)
    return elementwise.power(b, size, elementwise.scalar(b, order))


def _root(b: Builder, x: Value, order: int) -> Value:
    if order in (1, 2):
        return x if order == 1 else elementwise.sqrt(b, x)
    return elementwise.power(b, x, elementwise.scalar(b, 1 / order))


def _counts(x: Value, axes: Sequence[Axis]) -> Array:
    """The number of elements inside of each window."""
    counts: Array = np.ones((), np.float32)
    for n, axis in zip(x.shape[2:], axes, strict=True):
        counts = np.multiply.outer(counts, (axis.positions(n) >= 0).sum(axis=1).astype(np.float32))
    return counts


def _pool(b: Builder, kind: type[Pool], x: Value, axes: Sequence[Axis]) -> Value:
    """Pooling; axes with a dilation, and those of volumes before the last two, are reduced one by one."""
    space = _space(x, axes)
    single = [i for i, axis in enumerate(axes) if axis.dilation > 1 or i < len(axes) - 2]
    for i in single:
        x = _pooled_along(b, kind, x, i + 2, axes[i])
    rest = [Axis(1) if i in single else axis for i, axis in enumerate(axes)]
    if all(axis == Axis(1) for axis in rest):
        return x
    if len(space) < 3:
        return pool_2d(b, kind, x, rest)
    n, channels, deep, *sizes = x.shape
    images = moves.reshape(b, moves.transpose(b, x, (0, 2, 1, 3, 4)), (n * deep, channels, *sizes))
    pooled = pool_2d(b, kind, images, rest[-2:])
    apart = moves.reshape(b, pooled, (n, deep, *pooled.shape[1:]))
    return moves.transpose(b, apart, (0, 2, 1, 3, 4))


def pool_2d(b: Builder, kind: type[WindowOp], x: Value, axes: Sequence[Axis], **attributes: Any) -> Value:
    """2-D pooling of images, or of sequences."""
    source, stored = b.loosely(x, _stored_axes(x), (1,))
    inner = [axis.inner(n) for axis, n in zip(axes, x.shape[2:], strict=True)]
    new = [axis.size(n) for axis, n in zip(inner, x.shape[2:], strict=True)]
    vertical, horizontal = (Axis(1), *inner)[-2:]
    shape = (x.shape[0], *(1, *new)[-2:], x.shape[1])
    attributes = {"quant": b.tensors[source].quant} | attributes
    made = b.op(kind, [source], shape, vertical=vertical, horizontal=horizontal, **attributes)
    return _image(b, made, x, stored[-1], new)


def _pooled_along(b: Builder, kind: type[Pool], x: Value, axis: int, window: Axis) -> Value:
    """Pooling along one axis as element-wise operators on strided slices, one for each tap."""
    size = x.shape[axis]
    count = window.size(size)
    largest = kind is MaxPool
    around = [(window.before, window.after) if a == axis else (0, 0) for a in range(x.rank)]
    fill = 0.0 if not largest else -FLOAT_MAX if x.dtype == DType.FLOAT32 else x.dtype.limits[0]
    padded = moves.pad(b, x, around, fill=fill)
    pooled: Value | None = None
    for tap in range(window.kernel):
        part = moves.slice_(b, padded, axis, tap * window.dilation, count, window.stride)
        join = elementwise.maximum if largest else elementwise.add
        pooled = part if pooled is None else join(b, pooled, part)
    assert pooled is not None
    if largest:
        return pooled
    inside = (window.positions(size) >= 0).sum(axis=1).astype(np.float32)
    return elementwise.mul(b, pooled, b.constant((1 / inside).reshape(-1, *[1] * (x.rank - axis - 1))))


def global_average_pool(b: Builder, x: Value) -> Value:
    return reductions.mean(b, x, range(2, x.rank), True)


def global_max_pool(b: Builder, x: Value) -> Value:
    return reductions.maximum(b, x, range(2, x.rank), True)


def global_lp_pool(b: Builder, x: Value, order: int = 2) -> Value:
    return _root(b, reductions.sum_(b, _raised(b, x, order), range(2, x.rank), True), order)


def adaptive_windows(size: int, count: int) -> list[tuple[int, int]]:
    """Begin and end of the `count` windows of adaptive pooling over `size` elements."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def adaptive_pool(b: Builder, x: Value, sizes: Sequence[int], *, largest: bool = False) -> Value:
    """Adaptive pooling to a given size: average or max."""
    whole = reductions.maximum if largest else reductions.mean
    for axis, count in enumerate(sizes, 2):
        size = x.shape[axis]
        if count == size:
            continue
        if size % count == 0:
            x = _evenly(b, x, axis, count, largest)
            continue
        parts = [
            whole(b, moves.slice_(b, x, axis, begin, end - begin), [axis], True)
            for begin, end in adaptive_windows(size, count)
        ]
        x = moves.concat(b, parts, axis)
    return x


def _evenly(b: Builder, x: Value, axis: int, count: int, largest: bool) -> Value:
    """Adaptive pooling along an axis whose windows do not overlap."""
    if count == 1:
        return (reductions.maximum if largest else reductions.mean)(b, x, [axis], True)
    taps = x.shape[axis] // count
    axes = [Axis(taps, taps) if a == axis else Axis(1) for a in range(2, x.rank)]
    return _pool(b, MaxPool if largest else AveragePool, x, axes)
