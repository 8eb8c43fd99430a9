"""Normalizations, softmax and log-softmax."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, matrix, moves, reductions
from mote.frontends.build.builder import Builder, Value, places
from mote.frontends.build.orders import broadcast, with_last
from mote.ir.graph import Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.reductions.layer_norm import RootMeanSquare, Standardize
from mote.ir.ops.reductions.normalize import LogSoftmax
from mote.ir.ops.reductions.softmax import Softmax

TINIEST = 1e-37
"""Lower bound of vector norms, which avoids a division by zero."""


def softmax(b: Builder, x: Value, axis: int = -1) -> Value:
    return along_last(b, Softmax, x, axis)


def log_softmax(b: Builder, x: Value, axis: int = -1) -> Value:
    return along_last(b, LogSoftmax, x, axis)


def along_last(b: Builder, kind: type[Op], x: Value, axis: int, **attributes: Any) -> Value:
    """An operator along one axis, which is moved last."""
    source, leading, own = with_last(b, x, x.axis(axis))
    return b.value(b.op(kind, [source], b.tensors[source].shape, **attributes), x.shape, [*leading, *own])


def hardmax(b: Builder, x: Value, axis: int = -1) -> Value:
    """1 at the largest element along an axis (the first of equal ones), else 0."""
    axis = x.axis(axis)
    largest = reductions.arg_max(b, x, axis, keep=False, dtype=DType.INT32)
    return elementwise.cast(b, reductions.one_hot(b, largest, x.shape[axis], axis), x.dtype)


def per_channel(b: Builder, x: Value, factor: Array | None, offset: Array | None, axis: int = 1) -> Value:
    """factor * x + offset with per-channel constants on an axis."""
    shape = [-1] + [1] * (x.rank - 1 - x.axis(axis))
    if factor is not None and not np.all(factor == 1):
        x = elementwise.mul(b, x, b.constant(factor.reshape(shape)))
    if offset is not None and np.any(offset != 0):
        x = elementwise.add(b, x, b.constant(offset.reshape(shape)))
    return x


def batch_norm(
    b: Builder, x: Value, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float = 1e-5, axis: int = 1
) -> Value:
    """Batch normalization with the running statistics: a factor and an offset for each channel."""
    factor = scale.astype(np.float64) / np.sqrt(variance.astype(np.float64) + epsilon)
    offset = bias.astype(np.float64) - mean.astype(np.float64) * factor
    return per_channel(b, x, factor.astype(np.float32), offset.astype(np.float32), axis)


def normalized(b: Builder, x: Value, axes: Sequence[int], epsilon: float) -> Value:
    """Standardized along some axes: minus the mean, divided by the standard deviation."""
    return layer_norm(b, x, axes, epsilon=epsilon)


def standardized(b: Builder, x: Value, axes: Sequence[int], epsilon: float) -> tuple[Value, Value, Value]:
    """Normalized values, with the mean and the reciprocal standard deviation."""
    mean = reductions.mean(b, x, axes, True)
    centered = elementwise.sub(b, x, mean)
    variance = reductions.mean(b, elementwise.mul(b, centered, centered), axes, True)
    inverse = elementwise.rsqrt(b, elementwise.scaled(b, variance, 1, epsilon))
    return elementwise.mul(b, centered, inverse), mean, inverse


def affine(b: Builder, x: Value, scale: Value | None, bias: Value | None) -> Value:
    """scale * x + bias, both broadcast to the shape of x."""
    x = x if scale is None else elementwise.mul(b, x, scale)
    return x if bias is None else elementwise.add(b, x, bias)


def layer_norm(
    b: Builder,
    x: Value,
    axes: Sequence[int],
    scale: Value | None = None,
    bias: Value | None = None,
    epsilon: float = 1e-5,
) -> Value:
    """Layer normalization along some axes, usually the last ones."""
    if (fused := _of_vectors(b, Standardize, x, axes, scale, bias, epsilon)) is not None:
        return fused
    return affine(b, standardized(b, x, axes, epsilon)[0], scale, bias)


def rms_norm(b: Builder, x: Value, axes: Sequence[int], scale: Value | None = None, epsilon: float = 1e-5) -> Value:
    """Divided by the root mean square along some axes."""
    if (fused := _of_vectors(b, RootMeanSquare, x, axes, scale, None, epsilon)) is not None:
        return fused
    square = reductions.mean(b, elementwise.mul(b, x, x), axes, True)
    inverse = elementwise.rsqrt(b, elementwise.scaled(b, square, 1, epsilon))
    return affine(b, elementwise.mul(b, x, inverse), scale, None)


def _of_vectors(
    b: Builder,
    kind: type[Standardize],
    x: Value,
    axes: Sequence[int],
    scale: Value | None,
    bias: Value | None,
    epsilon: float,
) -> Value | None:
    """A fused operator where the normalized axes are adjacent and last, in any order; else None. Scale and bias become
    its constants."""
    own = x.axes(axes)
    first, last = own[0], own[-1]
    if x.constant or x.dtype != DType.FLOAT32 or own != tuple(range(first, last + 1)):
        return None
    shape = (*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])
    joined = moves.reshape(b, x, shape)
    ends = [atom.axis == first for atom in joined.atoms]
    if ends != sorted(ends):
        return None
    source, leading, atoms = with_last(b, joined, first)
    factor, offset = (_of_elements(v, x, own) for v in (scale, bias))
    if scale is not None and factor is None:
        offset = None
    constants = (ABSENT if v is None else b.tensor(v[places(atoms)]) for v in (factor, offset))
    made = b.op(kind, [source, *constants], b.tensors[source].shape, epsilon=float(epsilon))
    unscaled = moves.reshape(b, b.value(made, shape, [*leading, *atoms]), x.shape)
    return affine(b, unscaled, scale if factor is None else None, bias if offset is None else None)


def _of_elements(value: Value | None, x: Value, axes: Sequence[int]) -> Array | None:
    """A constant as one value for each element along some axes of x; None where it broadcasts otherwise."""
    if value is None or value.data is None or value.rank > x.rank:
        return None
    data = value.data.reshape((1,) * (x.rank - value.rank) + value.shape)
    if any(n != 1 for axis, n in enumerate(data.shape) if axis not in axes):
        return None
    whole = tuple(n if axis in axes else 1 for axis, n in enumerate(x.shape))
    if broadcast(data.shape, whole) != whole:
        raise UnsupportedNodeError(f"a constant of the shape {value.shape} does not fit a value of {x.shape}")
    return np.broadcast_to(data, whole).reshape(-1)


def instance_norm(b: Builder, x: Value, scale: Array | None, bias: Array | None, epsilon: float = 1e-5) -> Value:
    """Instance normalization of each channel (axis 1)."""
    return per_channel(b, normalized(b, x, range(2, x.rank), epsilon), scale, bias)


def group_norm(
    b: Builder, x: Value, groups: int, scale: Array | None = None, bias: Array | None = None, epsilon: float = 1e-5
) -> Value:
    """Group normalization over channels (axis 1)."""
    n, channels, *space = x.shape
    if groups < 1 or channels % groups:
        raise UnsupportedNodeError(f"{channels} channels are not a multiple of {groups} groups")
    grouped = moves.reshape(b, x, (n, groups, channels // groups, *space))
    unscaled = normalized(b, grouped, range(2, grouped.rank), epsilon)
    return per_channel(b, moves.reshape(b, unscaled, x.shape), scale, bias)


def local_response_norm(
    b: Builder,
    x: Value,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    bias: float = 1.0,
    before: int | None = None,
) -> Value:
    """Local response normalization: x divided by a power of the sum of squares over a window of `size` channels,
    `before` of them before each channel: by default (size - 1) // 2."""
    channels = np.arange(x.shape[1], dtype=np.int64)
    before = (size - 1) // 2 if before is None else before
    after = size - 1 - before
    apart = channels[:, None] - channels
    near = ((apart >= -before) & (apart <= after)).astype(np.float32) * np.float32(alpha / size)
    sums = matrix.linear(b, elementwise.mul(b, x, x), near, np.full(x.shape[1], bias, np.float32), axis=1)
    return elementwise.mul(b, x, elementwise.power(b, sums, elementwise.scalar(b, -beta)))


def lp_norm(b: Builder, x: Value, axis: int = -1, order: int = 2) -> Value:
    """Vectors along an axis divided by their norm."""
    if order not in (1, 2):
        raise UnsupportedNodeError(f"norms of order {order} are not supported (only 1, 2)")
    length = (reductions.l1 if order == 1 else reductions.l2)(b, x, [axis], True)
    return elementwise.div(b, x, elementwise.maximum(b, length, elementwise.scalar(b, TINIEST)))


def mean_variance_norm(b: Builder, x: Value, axes: Sequence[int] = (0, 2, 3), epsilon: float = 1e-9) -> Value:
    """Minus the mean along some axes, divided by the standard deviation plus epsilon."""
    mean = reductions.mean(b, x, axes, True)
    centered = elementwise.sub(b, x, mean)
    variance = reductions.mean(b, elementwise.mul(b, centered, centered), axes, True)
    return elementwise.div(b, centered, elementwise.scaled(b, elementwise.sqrt(b, variance), 1, epsilon))
