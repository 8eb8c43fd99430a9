"""GATHER, GATHER_ND, EMBEDDING_LOOKUP and SLICE with indices computed at run time.

LiteRT reports an error for an index out of range. Generated code cannot report errors: elements out of range are zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.moves.pad_concat_transpose import AXES, TOO_LONG, CopySpan, Loop, span_loops, steps, too_long

INDEX_TYPES = (DType.INT16, DType.INT32, DType.INT64)


def index_problem(g: Graph, op: Op, position: int, types: Sequence[DType] = INDEX_TYPES) -> str | None:
    """Why the indices of an operator are not supported, or None."""
    dtype = op.input(g, position).dtype
    return None if dtype in types else f"{dtype} indices are not supported (only {', '.join(types)})"


def output_type_problem(g: Graph, op: Op) -> str | None:
    """Why an operator that copies elements of its first input cannot have this output type, or None."""
    x, y = op.input(g), op.output(g)
    return None if x.dtype == y.dtype else f"{x.dtype} input with {y.dtype} output is not supported"


class Gather(Op):
    """GATHER: picks slices along `axis` by indices (input 1). The first `batch_axes` axes are batch axes, each batch
    with its own indices."""

    axis: int
    batch_axes: int = 0
    kind = "GATHER"

    def shapes(self, g: Graph) -> list[Shape]:
        x, indices = self.input(g).shape, self.input(g, 1).shape
        return [(*x[: self.axis], *indices[self.batch_axes :], *x[self.axis + 1 :])]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return (0, self.input(g).shape[self.axis] - 1) if position == 1 else None

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        """Streaming form: indices may be streamed if the data is not."""
        flow = flows.get(1)
        if flow is None or len(flows) > 1 or flow.axis < self.batch_axes:
            return None
        return Increment(self, flow.on(self.axis + flow.axis - self.batch_axes), {1: flow.fresh})

    def sizes(self, g: Graph) -> tuple[int, int, int, int, int]:
        """Sizes: batches, elements before the axis, the axis, indices, elements after it."""
        x, indices = self.input(g).shape, self.input(g, 1).shape
        before = prod(x[self.batch_axes : self.axis])
        behind = prod(x[self.axis + 1 :])
        return prod(x[: self.batch_axes]), before, x[self.axis], prod(indices[self.batch_axes :]), behind

    def unsupported(self, g: Graph) -> str | None:
        return output_type_problem(g, self) or index_problem(g, self, 1)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, indices = values
        assert x is not None and indices is not None
        batches, before, size, count, behind = self.sizes(g)
        at = indices.reshape(batches, 1, count, 1)
        inside = (at >= 0) & (at < size)
        gathered = np.take_along_axis(x.reshape(batches, before, size, behind), np.where(inside, at, 0), 2)
        return [np.where(inside, gathered, np.zeros((), x.dtype)).reshape(self.shapes(g)[0])]


class EmbeddingLookup(Gather):
    """EMBEDDING_LOOKUP: picks rows of a table by indices."""

    kind = "EMBEDDING_LOOKUP"


class ScaledLookup(Gather):
    """EMBEDDING_LOOKUP of an int8 table: picks rows and dequantizes them, with a per-tensor or per-row scale."""

    kind = "EMBEDDING_LOOKUP"

    def scales(self, g: Graph) -> Array:
        """The scale of each row, or a single one."""
        quant = self.input(g).quant
        assert quant is not None
        return quant.scale

    def unsupported(self, g: Graph) -> str | None:
        table, y = self.input(g), self.output(g)
        if table.dtype != DType.INT8 or y.dtype != DType.FLOAT32:
            return f"a table of {table.dtype} with {y.dtype} output is not supported"
        if table.quant is None or np.any(table.quant.zero_point != 0) or (table.quant.per_channel and table.quant.axis):
            return "the table must have zero point 0, and one scale or one for each row"
        return index_problem(g, self, 1)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        table, indices = values
        assert table is not None and indices is not None
        rows = np.broadcast_to(self.scales(g), (len(table),)).reshape(-1, *[1] * (table.ndim - 1))
        return super().evaluate(g, [table.astype(np.float32) * rows, indices])


class GatherNd(Op):
    """GATHER_ND: picks slices of the input by index tuples along its first axes."""

    kind = "GATHER_ND"

    def shapes(self, g: Graph) -> list[Shape]:
        x, indices = self.input(g).shape, self.input(g, 1).shape
        return [(*indices[:-1], *x[indices[-1] :])]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        depth = self.input(g, 1).shape[-1]
        return (0, min(self.input(g).shape[:depth]) - 1) if position == 1 else None

    def unsupported(self, g: Graph) -> str | None:
        return output_type_problem(g, self) or index_problem(g, self, 1)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, indices = values
        assert x is not None and indices is not None
        at, inside = flat_indices(indices, x.shape)
        parts = x.reshape(-1, prod(x.shape[indices.shape[-1] :]))
        gathered = np.where(inside[:, None], parts[at], np.zeros((), x.dtype))
        return [gathered.reshape(self.shapes(g)[0])]


def flat_indices(indices: Array, shape: Shape) -> tuple[Ints, Array]:
    """Flat slice index for each index tuple (0 if out of range), and a mask of tuples in range."""
    depth = indices.shape[-1]
    tuples = indices.reshape(-1, depth).astype(np.int64)
    inside = np.all((tuples >= 0) & (tuples < np.array(shape[:depth])), axis=1)
    at = np.where(inside[:, None], tuples, 0) @ np.array(steps(shape[:depth], 1), np.int64)
    return at, inside


class DynamicSlice(Op):
    """SLICE with computed begins (input 1). Negative begins count from the end if `wraps`. A slice that would exceed an
    axis is shifted to fit. Axes that are not in `given` begin at `fixed`."""

    size: tuple[int, ...]
    strides: tuple[int, ...]
    given: tuple[int, ...]
    """Axis that each element of input 1 is the begin of; ABSENT: the element is ignored."""
    fixed: tuple[int, ...]
    wraps: bool
    shape: Shape
    kind = "SLICE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.shape]

    def last(self, g: Graph) -> list[int]:
        """Largest valid begin on each axis."""
        axes = zip(self.input(g).shape, self.size, self.strides, strict=True)
        return [n - 1 - (size - 1) * step for n, size, step in axes]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        if position != 1:
            return None
        last = self.last(g)
        return 0, min((last[axis] for axis in self.given if axis >= 0), default=0)

    def loops(self, g: Graph) -> list[Loop]:
        axes = zip(self.input(g).shape, self.strides, self.size, strict=True)
        return span_loops(
            [CopySpan(n, 0, step, size, 0, size) for n, step, size in axes], self.output(g).dtype.itemsize
        )

    def unsupported(self, g: Graph) -> str | None:
        if len(self.given) > AXES or too_long(self.loops(g)):
            return TOO_LONG
        return output_type_problem(g, self) or index_problem(g, self, 1, (DType.INT32, DType.INT64))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, begin = values
        assert x is not None and begin is not None
        starts, last = list(self.fixed), self.last(g)
        for axis, at in zip(self.given, begin.reshape(-1).tolist(), strict=True):
            if axis >= 0:
                at += x.shape[axis] if at < 0 and self.wraps else 0
                starts[axis] = min(max(at, 0), last[axis])
        axes = zip(starts, self.size, self.strides, strict=True)
        return [
            x[np.ix_(*(start + step * np.arange(size, dtype=np.int64) for start, size, step in axes))].reshape(
                self.shape
            )
        ]
