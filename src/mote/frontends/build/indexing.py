"""Gather and scatter with indices that are computed at run time. Out-of-range indices gather zeros, and scatter
nothing."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, moves
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.orders import gathered
from mote.ir.graph.element_order import Atom
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.indexing.gather import Gather, GatherNd
from mote.ir.ops.indexing.scatter import OneHot, ReverseSequence
from mote.ir.ops.indexing.scatter_onnx import Combine, Scatter
from mote.ir.ops.moves.pad_concat_transpose import steps

INDICES = (DType.INT32, DType.INT64)


def as_indices(b: Builder, indices: Value, sizes: Array | int) -> Value:
    """Indices as non-negative int32: negative ones count from the end of axes of these sizes."""
    if not indices.dtype.integer:
        raise UnsupportedNodeError(f"indices of type {indices.dtype} are not supported")
    signed = indices.dtype.limits[0] < 0
    positions = elementwise.cast(b, indices, DType.INT32)
    if not signed:
        return positions
    ends = elementwise.add(b, positions, b.constant(np.asarray(sizes, np.int32)))
    return elementwise.where(b, elementwise.less(b, positions, elementwise.scalar(b, 0, DType.INT32)), ends, positions)


def gather(b: Builder, value: Value, axis: int, indices: Value, *, from_end: bool = False) -> Value:
    """The elements at indices along an axis, with the shape of the indices in its place. `from_end`: negative indices
    count from the end. Out-of-range indices give zeros."""
    axis = value.axis(axis)
    if indices.constant:
        return moves.gather(b, value, axis, indices)
    if from_end:
        indices = as_indices(b, indices, value.shape[axis])
    counted = [Atom(a, 0, n) for a, n in enumerate(value.shape)]
    atoms = gathered(counted if value.constant else value.atoms, axis)
    where = next(i for i, atom in enumerate(atoms) if atom.axis == axis)
    sizes = tuple(atom.size for atom in atoms)
    source, at = b.ordered(value, atoms, sizes), b.plain(indices)
    stored = (*sizes[:where], *indices.shape, *sizes[where + 1 :])
    made = b.op(Gather, [source, at], stored, value.dtype, quant=b.tensors[source].quant, axis=where)
    more = indices.rank - 1
    new = [Atom(axis + i, 0, n) for i, n in enumerate(indices.shape)]
    moved = [replace(a, axis=a.axis + more) if a.axis > axis else a for a in atoms]
    shape = (*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :])
    return b.value(made, shape, [*moved[:where], *new, *moved[where + 1 :]])


def gather_elements(b: Builder, x: Value, axis: int, indices: Value) -> Value:
    """The element at each index along an axis, at the index's own position along all other axes."""
    flat = moves.reshape(b, x, [x.size])
    return gather(b, flat, 0, _flat(b, x, axis, indices))


def _flat(b: Builder, x: Value, axis: int, indices: Value) -> Value:
    """Flat indices of elements, from indices along one axis."""
    axis = x.axis(axis)
    if indices.rank != x.rank or any(n > x.shape[a] for a, n in enumerate(indices.shape) if a != axis):
        raise UnsupportedNodeError(f"indices of the shape {indices.shape} do not fit a value of {x.shape}")
    step = steps(x.shape, 1)
    grid = np.zeros((1,) * x.rank, np.int32)
    for a, n in enumerate(indices.shape):
        if a != axis:
            grid = grid + (np.arange(n, dtype=np.int32) * step[a]).reshape([-1 if i == a else 1 for i in range(x.rank)])
    inside = as_indices(b, indices, x.shape[axis])
    scaled = inside if step[axis] == 1 else elementwise.mul(b, inside, elementwise.scalar(b, step[axis], DType.INT32))
    return elementwise.add(b, scaled, b.constant(grid.astype(np.int32))) if grid.any() else scaled


def gather_nd(b: Builder, x: Value, indices: Value, batch_axes: int = 0) -> Value:
    """Slices of a value at index tuples for its first axes; the first `batch_axes` axes of both are batch axes."""
    tuples = _tuples(b, x, indices, batch_axes)
    shape = (*tuples.shape[:-1], *x.shape[tuples.shape[-1] :])
    inputs = [b.plain(x), b.plain(tuples)]
    return b.value(b.op(GatherNd, inputs, shape, x.dtype, quant=b.tensors[inputs[0]].quant), shape)


def _tuples(b: Builder, x: Value, indices: Value, batch_axes: int = 0) -> Value:
    """Index tuples as int32, with the positions along the batch axes prepended."""
    depth = indices.shape[-1] if indices.rank else 0
    if not 1 <= depth <= x.rank - batch_axes:
        raise UnsupportedNodeError(f"tuples of {depth} indices do not fit a value of the shape {x.shape}")
    tuples = as_indices(b, indices, np.array(x.shape[batch_axes : batch_axes + depth]))
    if not batch_axes:
        return tuples
    places = np.indices(x.shape[:batch_axes]).reshape(batch_axes, -1).T
    each = prod(indices.shape[batch_axes:-1])
    own = np.repeat(places, each, axis=0).reshape(*indices.shape[:-1], batch_axes).astype(np.int32)
    return moves.concat(b, [b.constant(own), tuples], -1)


def scatter_nd(b: Builder, x: Value, indices: Value, parts: Value, combine: Combine = Combine.PUT) -> Value:
    """A value with slices assigned, or combined with its elements, at index tuples."""
    tuples = _tuples(b, x, indices)
    return _scattered(b, x, tuples, parts, x.shape, combine)


def scatter_elements(
    b: Builder, x: Value, axis: int, indices: Value, parts: Value, combine: Combine = Combine.PUT
) -> Value:
    """Scatter single elements: the index says where along `axis`, its own position where along the other axes."""
    if indices.shape != parts.shape:
        raise UnsupportedNodeError(f"indices of the shape {indices.shape} do not fit elements of {parts.shape}")
    places = moves.reshape(b, _flat(b, x, axis, indices), [indices.size, 1])
    flat, elements = moves.reshape(b, x, [x.size]), moves.reshape(b, parts, [parts.size])
    return _scattered(b, flat, places, elements, x.shape, combine)


def _scattered(b: Builder, x: Value, tuples: Value, parts: Value, shape: Shape, combine: Combine) -> Value:
    if x.dtype != parts.dtype:
        raise UnsupportedNodeError(f"{parts.dtype} updates of a {x.dtype} value are not supported")
    made = b.op(Scatter, [b.plain(x), b.plain(parts), b.plain(tuples)], x.shape, combine=combine)
    return b.value(made, shape)


def one_hot(b: Builder, indices: Value, depth: int, axis: int, on: Value, off: Value) -> Value:
    """One value at the given index of a new axis, another one at all other indices."""
    at = axis + indices.rank + 1 if axis < 0 else axis
    given = as_indices(b, indices, depth)
    shape = (*indices.shape[:at], depth, *indices.shape[at:])
    made = b.op(OneHot, [b.plain(given), b.plain(on), b.plain(off)], shape, on.dtype, axis=at, depth=depth)
    return b.value(made, shape)


def reverse_sequence(b: Builder, x: Value, lengths: Value, axis: int, batch_axis: int) -> Value:
    """The first `lengths` elements along an axis reversed, for each batch entry."""
    if lengths.shape != (x.shape[x.axis(batch_axis)],) or x.axis(axis) == x.axis(batch_axis):
        raise UnsupportedNodeError(
            f"sequence lengths of the shape {lengths.shape} do not fit a value of the shape {x.shape}"
        )
    given = lengths if lengths.dtype in INDICES else elementwise.cast(b, lengths, DType.INT32)
    made = b.op(
        ReverseSequence, [b.plain(x), b.plain(given)], x.shape, axis=x.axis(axis), batch_axis=x.axis(batch_axis)
    )
    return b.value(made, x.shape)
