"""Operators along one axis: ARG_MAX and ARG_MIN, CUMSUM, TOPK_V2, SEGMENT_SUM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.base.integers import repeat
from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import quantize_multiplier, rescale, wrap32
from mote.ir.graph.ranges import Range
from mote.ir.graph.rows import row_count
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import activation_type
from mote.ir.ops.pointwise import pointwise
from mote.ir.ops.reductions.reduce import outer_axes, same_scale_problem

INDEX_TYPES = (DType.INT32, DType.INT64)
SUM_POINT = 19
"""Fraction bits of int8 running sums."""
MOST_SHORT_INDEX = (1 << 15) - 1


def _type_problem(op: Op, g: Graph, types: tuple[DType, ...]) -> str | None:
    """Why an operator's input type is not supported, or None."""
    dtype = op.input(g).dtype
    return None if dtype in types else f"{dtype} input is not supported (only {', '.join(types)})"


class ArgExtreme(Op):
    """ARG_MAX and ARG_MIN: index of the first largest or smallest element along an axis. NaN is ignored; 0 if all are
    NaN."""

    axis: int
    largest: ClassVar[bool]
    types: ClassVar = (DType.INT8, DType.UINT8, DType.INT32, DType.FLOAT32, DType.BOOL)

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        return [(*x[: self.axis], *x[self.axis + 1 :])]

    def unsupported(self, g: Graph) -> str | None:
        dtype = self.output(g).dtype
        if dtype not in INDEX_TYPES:
            return f"{dtype} indices are not supported (only {', '.join(INDEX_TYPES)})"
        return _type_problem(self, g, self.types)

    def work(self, g: Graph) -> int:
        return self.input(g).size

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        shape = self.input(g).shape
        same = row_count(shape) == row_count(self.output(g).shape)
        return (y,) if same and self.axis >= outer_axes(shape) else None

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        flow = flows[0]
        if flow.axis == self.axis:
            return None
        return Increment(self, flow.on(flow.axis - (self.axis < flow.axis)), {0: flow.fresh})

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        pick = (np.fmax if self.largest else np.fmin) if x.dtype == np.float32 else self._whole
        is_extreme = x == pick.reduce(x, axis=self.axis, keepdims=True)
        return [np.argmax(is_extreme, axis=self.axis).astype(self.output(g).dtype.numpy)]

    @property
    def _whole(self) -> np.ufunc:
        return np.maximum if self.largest else np.minimum


class ArgMax(ArgExtreme):
    kind = "ARG_MAX"
    largest = True


class ArgMin(ArgExtreme):
    kind = "ARG_MIN"
    largest = False


class CumSum(Op):
    """CUMSUM along an axis. `exclusive`: without the element itself; `reverse`: from the end. Integers wrap. int8 is
    supported by TFLite Micro only: int32 sums with 19 fraction bits, starting from minus the zero point."""

    axis: int
    exclusive: bool = False
    reverse: bool = False
    kind = "CUMSUM"
    types: ClassVar = (DType.INT8, DType.INT32, DType.INT64, DType.FLOAT32)

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def unsupported(self, g: Graph) -> str | None:
        if problem := activation_type(g, self, dtypes=self.types):
            return problem
        if self.input(g).dtype == DType.INT8 and self.scale(g)[1] > 0:
            return "the output's scale is too small for the input's"
        return None

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no CUMSUM of int8" if self.input(g).dtype == DType.INT8 else None

    def scale(self, g: Graph) -> tuple[int, int]:
        """Multiplier and shift from int8 running sums to the output."""
        return quantize_multiplier(self.input(g).scale / self.output(g).scale / (1 << SUM_POINT))

    def work(self, g: Graph) -> int:
        return self.input(g).size

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if self.axis >= outer_axes(self.input(g).shape) else None

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        return None if flows[0].axis == self.axis else pointwise(self, flows)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        if x.dtype != np.int8:
            wide: NDArray[Any] = x.astype(np.float64) if x.dtype == np.float32 else x
            return [self._sums(wide).astype(x.dtype)]
        y, zero = self.output(g), self.input(g).zero_point
        sums = wrap32(self._sums(x.astype(np.int64) - zero) - zero << SUM_POINT)
        return [np.clip(wrap32(rescale(sums, *self.scale(g)) + y.zero_point), -128, 127).astype(np.int8)]

    def _sums(self, x: NDArray[Any]) -> NDArray[Any]:
        x = np.flip(x, self.axis) if self.reverse else x
        sums = np.cumsum(x, self.axis, dtype=x.dtype)
        sums = sums - x if self.exclusive else sums
        return np.flip(sums, self.axis) if self.reverse else sums

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(exclusive=False).evaluate(g, values)


class TopK(Op):
    """TOPK_V2: the `k` largest elements along the last axis in descending order, or with `indices` their indices. Of
    equal elements the earlier comes first; NaN comes last."""

    k: int
    indices: bool = False
    kind = "TOPK_V2"
    types: ClassVar = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32)

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape[:-1], self.k)]

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if problem := _type_problem(self, g, self.types):
            return problem
        if not self.indices:
            mixed = f"{x.dtype} input with {y.dtype} values is not supported" if y.dtype != x.dtype else None
            return mixed or same_scale_problem(x, y)
        if y.dtype not in (DType.INT32, DType.INT16):
            return f"{y.dtype} indices are not supported (only int32, int16)"
        if y.dtype == DType.INT16 and x.shape[-1] > MOST_SHORT_INDEX:
            return f"indices of {x.shape[-1]} elements do not fit int16"
        return None

    def work(self, g: Graph) -> int:
        return 8 * self.input(g).size

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        same = row_count(self.input(g).shape) == row_count(self.output(g).shape)
        return (y,) if same else None

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        return None if flows[0].axis == len(self.input(g).shape) - 1 else pointwise(self, flows)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        if inputs[0] is None or self.indices:
            return None
        hull = inputs[0].hull
        return Range(repeat(hull.low, self.k), repeat(hull.high, self.k))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        falling = np.argsort(-x if x.dtype == np.float32 else ~x, axis=-1, kind="stable")[..., : self.k]
        return [falling.astype(self.output(g).dtype.numpy) if self.indices else np.take_along_axis(x, falling, -1)]


class SegmentSum(Op):
    """SEGMENT_SUM: sums of consecutive segments along the first axis, with constant `lengths`. Integers wrap."""

    lengths: tuple[int, ...]
    kind = "SEGMENT_SUM"
    types: ClassVar = (DType.INT32, DType.FLOAT32)

    def shapes(self, g: Graph) -> list[Shape]:
        return [(len(self.lengths), *self.input(g).shape[1:])]

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if y.dtype != x.dtype:
            return f"{x.dtype} input with {y.dtype} output is not supported"
        return _type_problem(self, g, self.types)

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no reference kernel for SEGMENT_SUM"

    def work(self, g: Graph) -> int:
        return self.input(g).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        wide = np.float64 if x.dtype == np.float32 else np.int64
        begins = np.cumsum((0, *self.lengths[:-1]))
        return [np.add.reduceat(x.astype(wide), begins, axis=0).astype(x.dtype)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)
