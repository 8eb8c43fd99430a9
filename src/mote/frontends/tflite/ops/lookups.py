"""GATHER, GATHER_ND, EMBEDDING_LOOKUP and MIRROR_PAD: gathers."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.frontends.tflite.ops.moves import reshaped
from mote.ir.graph import Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.indexing.gather import EmbeddingLookup, Gather, GatherNd, ScaledLookup
from mote.ir.ops.matrix.blockwise import BlockwiseLookup
from mote.ir.ops.moves.gather_constant import MirrorPad, Pick
from mote.ir.ops.moves.slice import Slice

MIRRORED = {"REFLECT": 1, "SYMMETRIC": 0}
"""Number of edge elements that are not repeated, by mode."""


def gather(node: Node) -> Op:
    """GATHER; constant indices are a slice where they are evenly spaced."""
    node.arity(2)
    x, indices = node.input(), node.input(1)
    rank = len(x.shape)
    axis, batches = node.options.integer("axis"), node.options.integer("batch_dims")
    batches += len(indices.shape) if batches < 0 else 0
    axis += rank if axis < 0 else 0
    if not 0 <= batches <= axis < rank or x.shape[:batches] != indices.shape[:batches]:
        raise UnsupportedNodeError(
            f"axis {axis} and {batches} batch axes do not fit indices of {indices.shape} into an input of {x.shape}"
        )
    if indices.data is None:
        return Gather(**node.same(), axis=axis, batch_axes=batches)
    _check(indices.data, (x.shape[axis],))
    if batches:
        return Gather(**node.same(), axis=axis, batch_axes=batches)
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    return _listed(node, axis, indices.data.reshape(-1).astype(np.int64), shape)


def _listed(node: Node, axis: int, places: Ints, shape: Shape) -> Op:
    """The constant indices of an axis."""
    x = node.input()
    fields = {**node.same(), "inputs": (x.id,)}
    steps = np.unique(np.diff(places))
    if steps.size > 1 or 0 in steps:
        taken = tuple(int(p) for p in places)
        return Pick(**fields, places=tuple(taken if a == axis else None for a in range(len(x.shape))), shape=shape)
    if np.array_equal(places, np.arange(x.shape[axis], dtype=np.int64)):
        return reshaped(node, shape=shape)
    return Slice(
        **fields,
        begin=tuple(int(places[0]) if a == axis else 0 for a in range(len(x.shape))),
        size=tuple(places.size if a == axis else n for a, n in enumerate(x.shape)),
        strides=tuple(int(steps[0]) if a == axis and steps.size else 1 for a in range(len(x.shape))),
        shape=shape,
    )


def gather_nd(node: Node) -> Op:
    node.arity(2)
    x, indices = node.input(), node.input(1)
    if not x.shape or not indices.shape or indices.shape[-1] > len(x.shape):
        raise UnsupportedNodeError(f"indices of shape {indices.shape} do not fit an input of shape {x.shape}")
    if indices.data is not None:
        _check(indices.data, x.shape[: indices.shape[-1]])
    return GatherNd(**node.same())


def _check(indices: Array, sizes: Shape) -> None:
    """Refuse constant indices that are out of range."""
    last = indices.reshape(-1, len(sizes))
    if np.any((last < 0) | (last >= np.array(sizes))):
        raise UnsupportedNodeError(f"an index from {indices.min()} to {indices.max()} is outside of {sizes}")


def embedding_lookup(node: Node) -> Op:
    node.arity(2)
    places, table = node.input(0), node.input(1)
    if len(places.shape) != 1 or len(table.shape) < 2:
        raise UnsupportedNodeError(
            f"indices of shape {places.shape} for a table of shape {table.shape} are not supported"
        )
    if places.data is not None:
        _check(places.data, table.shape[:1])
    if (scales := node.block_scales(1)) is not None:
        return BlockwiseLookup(**{**node.same(), "inputs": (places.id, table.id, scales)})
    kind = EmbeddingLookup if table.dtype == node.output().dtype else ScaledLookup
    return kind(**{**node.same(), "inputs": (table.id, places.id)}, axis=0)


def mirror_pad(node: Node) -> Op:
    node.arity(2)
    x, table, mode = node.input().shape, node.constant(1, "the paddings"), node.options.choice("mode")
    if mode not in MIRRORED:
        raise UnsupportedNodeError(f"mode {mode} is not supported")
    skipped = MIRRORED[mode]
    if table.shape != (len(x), 2) or table.min() < 0 or np.any(table > np.array(x)[:, None] - skipped):
        raise UnsupportedNodeError(f"paddings {table.tolist()} do not fit an input of shape {x} that is mirrored")
    places = tuple(mirrored(n, int(a), int(b), skipped) if a or b else None for n, (a, b) in zip(x, table, strict=True))
    shape = tuple(n if p is None else len(p) for n, p in zip(x, places, strict=True))
    if prod(shape) == prod(x):
        return reshaped(node)
    return MirrorPad(**{**node.same(), "inputs": node.inputs[:1]}, places=places, shape=shape)


def mirrored(n: int, before: int, after: int, skipped: int) -> tuple[int, ...]:
    """The indices of an axis of n elements with mirrored edges."""
    head = [before + skipped - 1 - i for i in range(before)]
    tail = [n - 1 - skipped - i for i in range(after)]
    return (*head, *range(n), *tail)
