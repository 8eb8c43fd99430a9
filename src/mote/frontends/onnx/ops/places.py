"""Gather, scatter, Compress, ReverseSequence: operators with constant or computed indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, indexing, integers, moves, reductions
from mote.frontends.onnx.node import Key, Node, Parser
from mote.frontends.remedies import RUN_TIME_SIZES
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.binary_integer import IntegerFunction
from mote.ir.ops.elementwise.cast import BitCast
from mote.ir.ops.indexing.scatter_onnx import Combine

REDUCTIONS = {
    "none": Combine.PUT,
    "add": Combine.ADD,
    "mul": Combine.MULTIPLY,
    "min": Combine.LEAST,
    "max": Combine.MOST,
}
UNKNOWN_SIZE = "the number of its elements is only known at run time"


def gather(node: Node) -> Value:
    return indexing.gather(node.b, node.input(0), node.integer("axis", 0), node.input(1), from_end=True)


def gather_elements(node: Node) -> Value:
    return indexing.gather_elements(node.b, node.input(0), node.integer("axis", 0), node.input(1))


def gather_nd(node: Node) -> Value:
    return indexing.gather_nd(node.b, node.input(0), node.input(1), node.integer("batch_dims", 0))


def _combine(node: Node) -> Combine:
    name = node.text("reduction", "none")
    if name not in REDUCTIONS:
        raise UnsupportedNodeError(f"the reduction {name} is not supported")
    return REDUCTIONS[name]


def scatter_elements(node: Node) -> Value:
    """ScatterElements, and Scatter before opset 11."""
    axis, combine = node.integer("axis", 0), _combine(node)
    return indexing.scatter_elements(node.b, node.input(0), axis, node.input(1), node.input(2), combine)


def scatter_nd(node: Node) -> Value:
    return indexing.scatter_nd(node.b, node.input(0), node.input(1), node.input(2), _combine(node))


def tensor_scatter(node: Node) -> Value:
    """Updates of a cache along an axis, from an index of its own for each sequence on; a circular cache wraps
    around."""
    b, cache, new = node.b, node.input(0), node.input(1)
    axis, mode = cache.axis(node.integer("axis", -2)), node.text("mode", "linear")
    if mode not in ("linear", "circular"):
        raise UnsupportedNodeError(f"the mode {mode} is not supported")
    batch, count, size = cache.shape[0], new.shape[axis], cache.shape[axis]
    own = b.constant(np.arange(count, dtype=np.int32).reshape([-1 if a == axis else 1 for a in range(cache.rank)]))
    places = own
    if node.has(2):
        begins = elementwise.cast(b, node.input(2), DType.INT32)
        places = elementwise.add(b, own, moves.reshape(b, begins, [batch, *[1] * (cache.rank - 1)]))
    if mode == "circular":
        places = integers.whole(b, IntegerFunction.MODULO, places, integers.same(b, size, places))
    return indexing.scatter_elements(b, cache, axis, moves.expand(b, places, new.shape), new)


def top_k(node: Node) -> Sequence[Value]:
    """The largest or smallest elements, and their indices. Equal ones keep their order."""
    b, x = node.b, node.input()
    (k,) = node.known_integers(1, "the number of elements") if node.has(1) else (node.integer("k"),)
    axis, largest = node.integer("axis", -1), node.flag("largest", True)
    node.flag("sorted", True)
    keys = x if x.dtype == DType.FLOAT32 else _signed(b, x)
    if not largest:
        keys = elementwise.neg(b, x) if x.dtype == DType.FLOAT32 else integers.complement(b, keys)
    top, indices = reductions.top_k(b, keys, k, axis)
    if not largest:
        top = elementwise.neg(b, top) if x.dtype == DType.FLOAT32 else integers.complement(b, top)
    values = top if x.dtype == DType.FLOAT32 else _unsigned(b, top, x.dtype)
    return values, elementwise.cast(b, indices, DType.INT64)


_NARROW = {DType.UINT16: DType.INT32, DType.UINT32: DType.INT64}


def _signed(b: Builder, x: Value) -> Value:
    """Unsigned integers as signed ones in the same order."""
    if x.dtype == DType.UINT64:
        return elementwise.unary(b, BitCast, _other_half(b, x), DType.INT64)
    return elementwise.cast(b, x, _NARROW.get(x.dtype, x.dtype))


def _unsigned(b: Builder, x: Value, dtype: DType) -> Value:
    """Signed integers back as unsigned ones."""
    if dtype == DType.UINT64:
        return _other_half(b, elementwise.unary(b, BitCast, x, dtype))
    return elementwise.cast(b, x, dtype)


def _other_half(b: Builder, x: Value) -> Value:
    return integers.whole(b, IntegerFunction.XOR, x, integers.same(b, 1 << 63, x))


def one_hot(node: Node) -> Value:
    """Indices of any numeric type are truncated to integers."""
    b, indices, axis = node.b, node.input(0), node.integer("axis", -1)
    depth = int(node.known(1, "the depth").reshape(-1)[0])
    given = indices if indices.dtype.integer else elementwise.cast(b, indices, DType.INT32)
    off, on = (moves.reshape(b, moves.slice_(b, node.input(2), 0, i, 1), [1]) for i in range(2))
    return indexing.one_hot(b, given, depth, axis, on, off)


def reverse_sequence(node: Node) -> Value:
    time, batch = node.integer("time_axis", 0), node.integer("batch_axis", 1)
    return indexing.reverse_sequence(node.b, node.input(0), node.input(1), time, batch)


def compress(node: Node) -> Value:
    """The elements where a constant condition holds."""
    x = node.input()
    kept = node.maybe_known(1)
    if kept is None:
        raise UnsupportedNodeError(UNKNOWN_SIZE, RUN_TIME_SIZES)
    places = node.b.constant(np.flatnonzero(kept))
    if not node.given("axis"):
        return moves.gather(node.b, moves.reshape(node.b, x, [x.size]), 0, places)
    return moves.gather(node.b, x, node.integer("axis"), places)


def max_unpool(node: Node) -> Value:
    """Elements scattered to the indices of MaxPool; zeros elsewhere."""
    b, x, indices = node.b, node.input(0), node.input(1)
    kernel = node.integers("kernel_shape")
    strides, pads = node.integers("strides", [1] * len(kernel)), node.integers("pads", [0] * 2 * len(kernel))
    sizes = [
        (n - 1) * stride + size - pads[i] - pads[i + len(kernel)]
        for i, (n, stride, size) in enumerate(zip(x.shape[2:], strides, kernel, strict=True))
    ]
    inner = (*x.shape[:2], *sizes)
    shape = tuple(node.known_integers(2, "the shape")) if node.has(2) else inner
    places, flat = moves.reshape(b, indices, [x.size, 1]), moves.reshape(b, x, [x.size])
    scattered = indexing.scatter_nd(b, elementwise.full(b, (int(np.prod(inner)),), 0, x.dtype), places, flat)
    return _corner(b, replace(scattered, shape=inner), shape)


def largest_places(b: Builder, x: Value, axes: Sequence[Axis], *, column_major: bool = False) -> Value:
    """The flat index of the largest element of each window (the first of equal ones), in row-major or column-major
    order."""
    space = x.shape[2:]
    pads = [(0, 0), (0, 0), *((axis.before, axis.after) for axis in axes)]
    padded = moves.pad(b, x, pads, fill=-np.inf)
    counts = [axis.size(n) for axis, n in zip(axes, space, strict=True)]
    step = [prod(space[:i]) if column_major else prod(space[i + 1 :]) for i in range(len(space))]
    parts, offsets = [], []
    for taps in product(*(range(axis.kernel) for axis in axes)):
        part = padded
        for i, (tap, axis) in enumerate(zip(taps, axes, strict=True)):
            part = moves.slice_(b, part, i + 2, tap * axis.dilation, counts[i], axis.stride)
        parts.append(part)
        offsets.append(sum(tap * axis.dilation * n for tap, axis, n in zip(taps, axes, step, strict=True)))
    chosen = reductions.arg_max(b, moves.stack(b, parts, x.rank), x.rank, keep=False, dtype=DType.INT32)
    base = np.arange(x.shape[0] * x.shape[1], dtype=np.int64).reshape(*x.shape[:2], *[1] * len(space)) * prod(space)
    for i, (axis, count) in enumerate(zip(axes, counts, strict=True)):
        first = (np.arange(count, dtype=np.int64) * axis.stride - axis.before) * step[i]
        base = base + first.reshape([-1 if a == i + 2 else 1 for a in range(x.rank)])
    tapped = indexing.gather(b, b.constant(np.array(offsets, np.int32)), 0, chosen)
    indices = elementwise.add(b, tapped, b.constant(base.astype(np.int32)))
    return elementwise.cast(b, indices, DType.INT64)


def _corner(b: Builder, x: Value, shape: Sequence[int]) -> Value:
    """A value padded at the end to a larger shape."""
    return moves.pad(b, x, [(0, want - have) for have, want in zip(x.shape, shape, strict=True)])


def unknown_size(node: Node) -> Value:
    raise UnsupportedNodeError(UNKNOWN_SIZE, RUN_TIME_SIZES)


PARSERS: Mapping[Key, Parser] = {
    ("", "Compress"): compress,
    ("", "Gather"): gather,
    ("", "GatherElements"): gather_elements,
    ("", "GatherND"): gather_nd,
    ("", "MaxUnpool"): max_unpool,
    ("", "NonZero"): unknown_size,
    ("", "OneHot"): one_hot,
    ("", "ReverseSequence"): reverse_sequence,
    ("", "Scatter"): scatter_elements,
    ("", "ScatterElements"): scatter_elements,
    ("", "ScatterND"): scatter_nd,
    ("", "TensorScatter"): tensor_scatter,
    ("", "TopK"): top_k,
    ("", "Unique"): unknown_size,
}
