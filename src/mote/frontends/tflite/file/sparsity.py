"""Sparse constants: the file holds those elements only that are not zero, and where they belong.

The axes of the tensor, and inside of them those of small dense blocks, are levels that are gone through in an order of
the file's own. A level is dense, and has all of its indices, or it lists the indices that occur below each index of the
level before it. Nothing of that is trusted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.base.integers import repeat
from mote.frontends.tflite.file import schema
from mote.frontends.tflite.file.flatbuffer import MalformedError
from mote.frontends.tflite.file.record import TableRecord
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array, Shape


@dataclass(frozen=True)
class Sparsity:
    """The sparsity parameters of a tensor of this shape."""

    shape: Shape
    order: list[int]
    """The axes in traversal order: those of the tensor, then those of a block."""
    blocks: list[int]
    """The tensor axis of each block axis."""
    levels: list[TableRecord]

    def places(self) -> Ints:
        """The flat indices of the stored elements in the dense tensor."""
        sizes, strides = self._axes()
        positions = np.zeros(1, np.int64)
        for level, axis in zip(self.levels, self.order, strict=True):
            if level.choice("format") == "DENSE":
                if level.integer("dense_size") != sizes[axis]:
                    raise MalformedError(f"a level has {level.integer('dense_size')} indices, its axis {sizes[axis]}")
                positions = (positions[:, None] + np.arange(sizes[axis], dtype=np.int64) * strides[axis]).reshape(-1)
            elif axis < len(self.shape):
                above, indices = _listed(level, len(positions), sizes[axis])
                positions = positions[above] + indices * strides[axis]
            else:
                raise MalformedError("the inside of a block is not dense")
        return positions

    def _axes(self) -> tuple[list[int], list[int]]:
        """The size of each axis, and its stride in the dense tensor: those of the tensor in steps of blocks, then those
        inside of a block."""
        rank, count = len(self.shape), len(self.shape) + len(self.blocks)
        wanted = [*range(rank)], [*range(rank, count)]
        if (sorted(self.order[:rank]), sorted(self.order[rank:])) != wanted or len(self.levels) != count:
            raise MalformedError(f"the levels {self.order} are not those of {rank} axes and {count - rank} of a block")
        if self.blocks != sorted(set(self.blocks) & set(range(rank))):
            raise MalformedError(f"blocks along {self.blocks} do not fit {rank} axes")
        strides = [int(np.prod(self.shape[axis + 1 :], dtype=np.int64)) for axis in range(rank)]
        sizes = list(self.shape)
        inner = []
        for i, axis in enumerate(self.blocks):
            size = self.levels[self.order.index(rank + i)].integer("dense_size")
            if size < 1 or sizes[axis] % size:
                raise MalformedError(f"blocks of {size} do not divide {sizes[axis]} elements")
            inner.append((size, strides[axis]))
            sizes[axis] //= size
            strides[axis] *= size
        return sizes + [size for size, _ in inner], strides + [stride for _, stride in inner]


def sparsity(tensor: TableRecord, shape: Shape) -> Sparsity | None:
    """The sparsity parameters of a tensor's record; None where the tensor is dense."""
    table = tensor.child("sparsity")
    if table is None:
        return None
    record = TableRecord(schema.SPARSITY, table)
    levels = record.children("dim_metadata", schema.DIMENSION)
    return Sparsity(shape, record.integers("traversal_order"), record.integers("block_map"), levels)


def densified(listed: Array, where: Ints, size: int) -> Array:
    """The flat dense tensor."""
    dense = np.zeros(size, listed.dtype)
    dense[where] = listed
    return dense


def _listed(level: TableRecord, above: int, size: int) -> tuple[Ints, Ints]:
    """The parent position and the index of each entry of a sparse (CSR) level."""
    segments, indices = (_integers(level, name) for name in ("array_segments", "array_indices"))
    counts = np.diff(segments)
    if len(segments) != above + 1 or segments[0] != 0 or np.any(counts < 0) or segments[-1] != len(indices):
        raise MalformedError(f"the segments of a level do not divide {len(indices)} indices among {above}")
    parents = repeat(np.arange(above, dtype=np.int64), counts)
    rising = (np.diff(indices) > 0) | (np.diff(parents) > 0)
    if np.any((indices < 0) | (indices >= size)) or not np.all(rising):
        raise MalformedError(f"the indices of a level do not increase from 0 to {size - 1}")
    return parents, indices


def _integers(level: TableRecord, name: str) -> Ints:
    kind = schema.INDEX_TYPES.get(level.integer(f"{name}_type"))
    values = None if kind is None else TableRecord(schema.INDEX_VECTOR, level.child(name)).vector("values")
    if kind is None or values is None:
        return np.zeros(0, np.int64)
    return values.array(kind).astype(np.int64)
