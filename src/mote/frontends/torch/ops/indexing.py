"""Gather, scatter and indexing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import indexing, moves
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.elementwise import add, cast, mul, scalar
from mote.frontends.torch.node import Node, Parser
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType


def _embedding(node: Node) -> Value:
    return indexing.gather(node.b, node.value("weight"), 0, node.value("indices"))


def _index_select(node: Node) -> Value:
    x = node.value("self")
    return indexing.gather(node.b, x, node.integer("dim"), node.value("index"))


def _index(node: Node) -> Value:
    """Advanced indexing as in NumPy: constant indices on any axes, a computed one on one axis."""
    b, x, given = node.b, node.value("self"), node.maybe_several("indices")
    axes = [axis for axis, index in enumerate(given) if index is not None]
    indices = [index for index in given if index is not None]
    if any(not index.constant for index in indices):
        if len(indices) > 1 or indices[0].dtype == DType.BOOL:
            raise UnsupportedNodeError("several indices, or masks, that are computed are not supported")
        return indexing.gather(b, x, axes[0], indices[0])
    spread, places = _places(b, x, given)
    first = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
    rest = [a for a in range(x.rank) if a not in spread]
    turned = moves.transpose(b, x, [*rest[:first], *spread, *rest[first:]])
    sizes = [x.shape[a] for a in spread]
    flat = moves.reshape(b, turned, (*turned.shape[:first], prod(sizes), *turned.shape[first + len(spread) :]))
    return moves.reshape(b, moves.gather(b, flat, first, b.constant(places)), node.shape)


def _places(b: Builder, x: Value, given: Sequence[Value | None]) -> tuple[list[int], Array]:
    """The axes of constant indices, and the flat indices over these axes. Boolean masks are converted to the indices of
    their true elements."""
    spread: list[int] = []
    arrays: list[Array] = []
    at = 0
    for index in given:
        if index is None:
            at += 1
            continue
        data = b.known(index, "an index")
        parts = list(np.nonzero(data)) if data.dtype == np.bool_ else [data]
        for part in parts:
            size = x.shape[at]
            if part.size and not -size <= part.min() <= part.max() < size:
                raise UnsupportedNodeError(f"an index is outside an axis of {size} elements")
            spread.append(at)
            arrays.append(np.where(part < 0, part + size, part))
            at += 1
    places = np.ravel_multi_index(np.broadcast_arrays(*arrays), [x.shape[a] for a in spread])
    return spread, np.asarray(places)


def _gather(node: Node) -> Value:
    """An element along an axis for each index."""
    b, x, index = node.b, node.value("self"), node.value("index")
    if index.constant and x.rank:
        return _picked(b, x, _elements(node, x, b.known(index, "an index")))
    axis = x.axis(node.integer("dim"))
    steps = [prod(x.shape[a + 1 :]) for a in range(x.rank)]
    grids = np.indices(index.shape)
    offsets = sum(grids[a] * steps[a] for a in range(x.rank) if a != axis) + np.zeros(index.shape)
    at = cast(b, index, DType.INT32)
    at = mul(b, at, scalar(b, steps[axis], DType.INT32))
    return indexing.gather(b, moves.reshape(b, x, (-1,)), 0, add(b, at, b.constant(offsets.astype(np.int32))))


def _elements(node: Node, x: Value, index: Array) -> Array:
    """The flat indices of elements that are given by indices along one axis."""
    axis = x.axis(node.integer("dim"))
    grids: list[Array] = list(np.indices(index.shape))
    grids[axis] = np.where(index < 0, index + x.shape[axis], index)
    return np.asarray(np.ravel_multi_index(tuple(grids), x.shape))


def _picked(b: Builder, x: Value, places: Array) -> Value:
    """Elements at flat indices."""
    return moves.gather(b, moves.reshape(b, x, (-1,)), 0, b.constant(places))


def _replaced(b: Builder, x: Value, axis: int, places: Array, new: Value) -> Value:
    """A value with new elements at indices along an axis."""
    axis = x.axis(axis)
    size = x.shape[axis]
    at = np.arange(size, dtype=np.int64)
    at[places] = size + np.arange(len(places), dtype=np.int64)
    return moves.gather(b, moves.concat(b, [x, new], axis), axis, b.constant(at))


def _slice_scatter(node: Node) -> Value:
    x, axis = node.value("self"), node.integer("dim")
    places = np.arange(x.shape[x.axis(axis)], dtype=np.int64)[
        slice(node.given("start"), node.given("end"), node.integer("step"))
    ]
    return _replaced(node.b, x, axis, places, node.value("src")) if len(places) else x


def _index_put(node: Node) -> Value:
    """A value with new elements at constant indices."""
    b, x, given = node.b, node.value("self"), node.maybe_several("indices")
    if node.flag("accumulate"):
        raise UnsupportedNodeError("index_put with accumulate is not supported")
    spread, places = _places(b, x, given)
    count = len(spread)
    if spread != list(range(spread[0], spread[0] + count)):
        raise UnsupportedNodeError("indices on axes that are apart are not supported where elements are replaced")
    first, shape = spread[0], x.shape
    flat = moves.reshape(b, x, (*shape[:first], prod(shape[first : first + count]), *shape[first + count :]))
    new = moves.expand(b, node.value("values"), (*shape[:first], *places.shape, *shape[first + count :]))
    new = moves.reshape(b, new, (*shape[:first], places.size, *shape[first + count :]))
    return moves.reshape(b, _replaced(b, flat, first, places.reshape(-1), new), shape)


def _scatter(node: Node) -> Value:
    """A value with new elements at constant indices along an axis, one for each element."""
    b, x = node.b, node.value("self")
    index = node.known("index")
    places = _elements(node, x, index).reshape(-1)
    if len(set(places.tolist())) < len(places):
        raise UnsupportedNodeError("duplicate indices are not supported")
    if "src" in node.arguments:
        source = node.value("src")
        for axis, n in enumerate(index.shape):
            source = moves.slice_(b, source, axis, 0, n)
        new = moves.reshape(b, source, (-1,))
    else:
        new = moves.expand(b, moves.reshape(b, node.operand("value", node.dtype), (1,)), (len(places),))
    flat = _replaced(b, moves.reshape(b, x, (-1,)), 0, places, new)
    return moves.reshape(b, flat, x.shape)


PARSERS: Mapping[str, Parser] = {
    "aten.embedding.default": _embedding,
    "aten.index_select.default": _index_select,
    "aten.index.Tensor": _index,
    "aten.gather.default": _gather,
    "aten.slice_scatter.default": _slice_scatter,
    "aten.index_put.default": _index_put,
    "aten.scatter.src": _scatter,
    "aten.scatter.value": _scatter,
}
