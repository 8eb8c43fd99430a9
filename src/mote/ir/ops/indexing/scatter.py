"""Operators that write elements at positions of an output: SCATTER_ND, SPARSE_TO_DENSE, ONE_HOT, DYNAMIC_UPDATE_SLICE,
MATRIX_DIAG, MATRIX_SET_DIAG, and REVERSE_SEQUENCE.

LiteRT reports an error for an index out of range. Generated code cannot report errors: elements out of range are
dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.indexing.gather import flat_indices, index_problem, output_type_problem
from mote.ir.ops.moves.pad_concat_transpose import TOO_LONG, CopySpan, Loop, span_loops, steps, too_long

WIDE_INDICES = (DType.INT32, DType.INT64)
SUMMED = (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT32, DType.INT64, DType.BOOL)
"""Element types supported by SCATTER_ND."""


class ScatterNd(Op):
    """SCATTER_ND: adds slices (input 0) to zeros at index tuples (input 1). Duplicate indices accumulate, with
    wrapping."""

    shape: Shape
    kind = "SCATTER_ND"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        depth = self.input(g, 1).shape[-1]
        return (0, min(self.shape[:depth]) - 1) if position == 1 else None

    def unsupported(self, g: Graph) -> str | None:
        x = self.input(g)
        if x.dtype not in SUMMED:
            return f"{x.dtype} input is not supported (only {', '.join(SUMMED)})"
        return output_type_problem(g, self) or index_problem(g, self, 1, (DType.INT32,))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, indices = values
        assert x is not None and indices is not None
        at, inside = flat_indices(indices, self.shape)
        part = prod(self.shape[indices.shape[-1] :])
        result = np.zeros((prod(self.shape) // part, part), x.dtype)
        np.add.at(result, at[inside], x.reshape(-1, part)[inside])
        return [result.reshape(self.shape)]


class SparseToDense(Op):
    """SPARSE_TO_DENSE: filled with a default (input 2), with values (input 0; one value for all is allowed) written at
    indices (input 1); of duplicate indices the last one wins."""

    shape: Shape
    kind = "SPARSE_TO_DENSE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return (0, min(self.shape) - 1) if position == 1 else None

    def unsupported(self, g: Graph) -> str | None:
        if self.input(g).dtype != self.input(g, 2).dtype:
            return "values and default have different types"
        return output_type_problem(g, self) or index_problem(g, self, 1, WIDE_INDICES)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, indices, default = values
        assert x is not None and indices is not None and default is not None
        at, inside = flat_indices(indices.reshape(-1, len(self.shape)), self.shape)
        dense = np.full(prod(self.shape), default.reshape(-1)[0])
        dense[at[inside]] = np.broadcast_to(x.reshape(-1), at.shape)[inside]
        return [dense.reshape(self.shape)]


class OneHot(Op):
    """ONE_HOT: a new axis of `depth` elements with the value of input 1 at the index (input 0) and that of input 2
    elsewhere."""

    axis: int
    depth: int
    kind = "ONE_HOT"

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        return [(*x[: self.axis], self.depth, *x[self.axis :])]

    def unsupported(self, g: Graph) -> str | None:
        types = {self.input(g, 1).dtype, self.input(g, 2).dtype, self.output(g).dtype}
        return "its values have different types" if len(types) > 1 else index_problem(g, self, 0, WIDE_INDICES)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """The one-hot encoding; as in LiteRT, only the low 32 bits of an index count."""
        x, on, off = values
        assert x is not None and on is not None and off is not None
        low = np.expand_dims(x.astype(np.int64).astype(np.int32), self.axis)
        places = np.arange(self.depth, dtype=np.int64).reshape(-1, *[1] * (x.ndim - self.axis))
        return [np.where(low == places, on.reshape(-1)[0], off.reshape(-1)[0])]


class Overlay(Op):
    """Base of operators that overwrite some elements of the first input with those of the second."""

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def loops(self, g: Graph) -> list[Loop]:
        """Loops that copy the second input, in bytes."""
        raise NotImplementedError

    def unsupported(self, g: Graph) -> str | None:
        if self.input(g, 1).dtype != self.input(g).dtype:
            return f"{self.input(g, 1).dtype} elements over {self.input(g).dtype} are not supported"
        return output_type_problem(g, self) or (TOO_LONG if too_long(self.loops(g)) else None)


class DynamicUpdateSlice(Overlay):
    """DYNAMIC_UPDATE_SLICE: the second input overwrites the first at begins from the third, shifted to fit."""

    kind = "DYNAMIC_UPDATE_SLICE"

    def last(self, g: Graph) -> list[int]:
        """Largest valid begin of the second input on each axis."""
        return [n - m for n, m in zip(self.input(g).shape, self.input(g, 1).shape, strict=True)]

    def loops(self, g: Graph) -> list[Loop]:
        axes = zip(self.input(g).shape, self.input(g, 1).shape, strict=True)
        return span_loops([CopySpan(m, 0, 1, m, 0, n) for n, m in axes], self.output(g).dtype.itemsize)

    def unsupported(self, g: Graph) -> str | None:
        return super().unsupported(g) or index_problem(g, self, 2, WIDE_INDICES)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, update, begin = values
        assert x is not None and update is not None and begin is not None
        starts = [min(max(at, 0), last) for at, last in zip(begin.reshape(-1).tolist(), self.last(g), strict=True)]
        result = x.copy()
        result[tuple(slice(at, at + n) for at, n in zip(starts, update.shape, strict=True))] = update
        return [result]


class StateUpdate(DynamicUpdateSlice):
    """DYNAMIC_UPDATE_SLICE of a state in place: a key or value cache of attention."""

    @property
    def updates(self) -> dict[int, int]:
        return {0: 0}


class MatrixSetDiag(Overlay):
    """MATRIX_SET_DIAG: the second input overwrites the diagonals of the matrices in the first."""

    kind = "MATRIX_SET_DIAG"

    def loops(self, g: Graph) -> list[Loop]:
        return diagonals(self.output(g).shape, self.output(g).dtype.itemsize)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, diagonal = values
        assert x is not None and diagonal is not None
        result = x.copy()
        at = np.arange(min(x.shape[-2:]), dtype=np.int64)
        result[..., at, at] = diagonal
        return [result]


class MatrixDiag(Op):
    """MATRIX_DIAG: zero matrices with the input on their diagonals."""

    kind = "MATRIX_DIAG"

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        return [(*x, x[-1])]

    def loops(self, g: Graph) -> list[Loop]:
        return diagonals(self.output(g).shape, self.output(g).dtype.itemsize)

    def unsupported(self, g: Graph) -> str | None:
        return output_type_problem(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [np.where(np.eye(x.shape[-1], dtype=bool), x[..., None], np.zeros((), x.dtype))]


def diagonals(shape: Shape, width: int) -> list[Loop]:
    """Loops that write contiguous vectors to the diagonals of matrices, in bytes."""
    rows, columns = shape[-2:]
    size = min(rows, columns)
    return [(prod(shape[:-2]), size * width, rows * columns * width), (size, width, (columns + 1) * width)]


class ReverseSequence(Op):
    """REVERSE_SEQUENCE: reverses the first n elements along `axis`, where input 1 has n for each index on
    `batch_axis`."""

    axis: int
    batch_axis: int
    kind = "REVERSE_SEQUENCE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return (1, self.input(g).shape[self.axis]) if position == 1 else None

    def unsupported(self, g: Graph) -> str | None:
        return output_type_problem(g, self) or index_problem(g, self, 1, WIDE_INDICES)

    def loops(self, g: Graph) -> tuple[int, int, int, int, int]:
        """Loops in elements: count and stride outside of both axes, count and stride between them, size after them."""
        x = self.input(g).shape
        first, second = sorted((self.axis, self.batch_axis))
        step = steps(x, 1)
        outer, between = prod(x[:first]), prod(x[first + 1 : second])
        return outer, step[first] * x[first], between, step[second] * x[second], step[second]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, lengths = values
        assert x is not None and lengths is not None
        size = x.shape[self.axis]
        count = np.clip(lengths.reshape(-1, 1), 0, size)
        at = np.arange(size, dtype=np.int64)
        places: Ints = np.where(at < count, count - 1 - at, at)
        shape = [1] * x.ndim
        shape[self.batch_axis], shape[self.axis] = x.shape[self.batch_axis], size
        ordered = places if self.batch_axis < self.axis else places.T
        return [np.take_along_axis(x, ordered.reshape(shape), self.axis)]
