"""SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ANY, REDUCE_ALL.

MEAN is in `mote.ir.ops.reductions.mean`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multiplier, rescale, wrap32
from mote.ir.graph.ranges import LEAST, Peak, Range
from mote.ir.graph.rows import row_count
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import FLOAT_MAX, MOST_SUMMED, scale_problem
from mote.ir.ops.matrix.accumulators import rescaled
from mote.ir.ops.pointwise import rising

LOOPS = 3
"""Maximum number of nested loops over kept axes, and over reduced axes, in C kernels (adjacent axes are merged)."""
QUANTIZED = (DType.INT8, DType.INT16)
"""Element types that may be quantized."""
MOST_PRODUCT_SHIFT = 14
"""Limit of the multiplier's shift: LiteRT shifts products right by 15 minus it, at least by one."""


class Reduction(Op):
    """Base of reductions along `axes` (sorted, non-negative)."""

    axes: tuple[int, ...]
    keep_dims: bool = False
    types: ClassVar[tuple[DType, ...]]

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        if self.keep_dims:
            return [tuple(1 if i in self.axes else n for i, n in enumerate(x))]
        return [tuple(n for i, n in enumerate(x) if i not in self.axes)]

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        flow = flows[0]
        if flow.axis in self.axes:
            return None
        dropped = 0 if self.keep_dims else sum(a < flow.axis for a in self.axes)
        return Increment(self, flow.on(flow.axis - dropped), {0: flow.fresh})

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        mixed = len(self.input(g).shape) - 1 in self.axes
        return None if mixed else {0: np.arange(self.output(g).channels, dtype=np.int64)}

    def count(self, g: Graph) -> int:
        """Number of elements that each result is reduced from."""
        return prod(self.input(g).shape[i] for i in self.axes)

    def of_lines(self, g: Graph) -> bool:
        """Whether the reduction is over the last axis only (contiguous elements)."""
        return self.axes == (len(self.input(g).shape) - 1,)

    def every_axis(self, g: Graph) -> bool:
        """Whether all axes are reduced."""
        return len(self.axes) == len(self.input(g).shape)

    def work(self, g: Graph) -> int:
        return self.input(g).size

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if x.dtype not in self.types:
            return f"{x.dtype} input is not supported (only {', '.join(self.types)})"
        if y.dtype != x.dtype:
            return f"{x.dtype} input with {y.dtype} output is not supported"
        kept, reduced, _ = self.loops(g)
        if max(len(kept), len(reduced)) > LOOPS:
            return f"more than {LOOPS} separate groups of axes are not supported"
        return None

    def loops(self, g: Graph) -> tuple[list[tuple[int, int]], list[tuple[int, int]], int]:
        """The input as nested loops (size, stride): over kept axes, over reduced axes, and the number of contiguous
        kept elements at the end. Adjacent axes of a kind are merged."""
        groups: list[tuple[bool, int, int]] = []
        step = 1
        for i, size in reversed(list(enumerate(self.input(g).shape))):
            if size > 1:
                reduced = i in self.axes
                if groups and groups[-1][0] == reduced:
                    groups[-1] = (reduced, groups[-1][1] * size, groups[-1][2])
                else:
                    groups.append((reduced, size, step))
            step *= size
        inner = groups.pop(0)[1] if groups and not groups[0][0] else 1
        kept, reduced_loops = (
            [(size, step) for is_reduced, size, step in reversed(groups) if is_reduced == wanted]
            for wanted in (False, True)
        )
        return kept, reduced_loops, inner


class RowReduction(Reduction):
    """Base of reductions that kernels compute row by row if rows are not mixed."""

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        shape = self.input(g).shape
        outer = outer_axes(shape)
        mixed = any(shape[i] > 1 for i in self.axes if i < outer)
        return None if mixed or row_count(shape) != row_count(self.output(g).shape) else (y,)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        with np.errstate(all="ignore"):
            return [np.asarray(self.reduced(g, x)).astype(x.dtype).reshape(self.output(g).shape)]

    def reduced(self, g: Graph, x: Array) -> NDArray[Any]:
        """The results without the reduced axes, possibly in int64 before truncation to the output's type."""
        raise NotImplementedError


def outer_axes(shape: Shape) -> int:
    """Number of leading axes whose product is the number of rows: all but the last two; of a matrix, one."""
    return len(shape) - (2 if len(shape) > 2 else 1)


def quantization_problem(x: Tensor, y: Tensor) -> str | None:
    """Why the quantization of input or output is not supported, or None: int16 requires zero points of 0, as in
    LiteRT."""
    for t in (x, y):
        if t.quant is None or t.quant.per_channel or t.scale <= 0:
            return f"{t.dtype} tensor '{t.name}' has no per-tensor quantization"
        if t.dtype == DType.INT16 and t.zero_point:
            return f"int16 tensor '{t.name}' has the zero point {t.zero_point}, LiteRT wants 0"
    return None


class ScaledSum(RowReduction):
    """Base of reductions of quantized values by int32 sums that are rescaled once."""

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        x, y = self.input(g), self.output(g)
        if x.dtype not in QUANTIZED:
            return None
        if problem := quantization_problem(x, y):
            return problem
        if x.dtype == DType.INT8 and self.count(g) >= MOST_SUMMED:
            return f"{'a mean' if self.kind == 'MEAN' else 'a sum'} of {self.count(g)} elements is not supported"
        return scale_problem(self.scale(g))

    def scale(self, g: Graph) -> tuple[int, int]:
        """Multiplier and shift that rescale the sum to the output's quantization."""
        raise NotImplementedError

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """Value range of the reduction's output; None (unknown) if sums might overflow."""
        return rising(g, self, inputs) if self.count(g) << 8 + max(self.scale(g)[1], 0) < 1 << 31 else None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        if inputs[0] is None:
            return None
        zero, count = self.input(g).zero_point, self.count(g)
        largest = count * inputs[0].max_distance(zero)
        return Peak(largest, max(count * (abs(zero) - LEAST), rescaled(largest, max(self.scale(g)[1], 0))))

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)

    def scaled(self, g: Graph, x: Array) -> Ints:
        """Sums of quantized values, rescaled to the output's quantization."""
        y = self.output(g)
        total = wrap32(x.astype(np.int64).sum(axis=self.axes) - self.input(g).zero_point * self.count(g))
        return np.clip(wrap32(rescale(total, *self.scale(g)) + y.zero_point), *y.dtype.limits)


class Sum(ScaledSum):
    """SUM. Unquantized integers wrap; for bool it is logical or."""

    kind = "SUM"
    types = (DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32, DType.BOOL)

    def scale(self, g: Graph) -> tuple[int, int]:
        return quantize_multiplier(self.input(g).scale / self.output(g).scale)

    def misjudged(self, g: Graph) -> str | None:
        x = self.input(g)
        right = x.dtype not in QUANTIZED or (x.quant is not None and x.quant.unsigned)
        return None if right else "LiteRT's reference takes the bytes of int8 and int16 sums for uint8"

    def reduced(self, g: Graph, x: Array) -> NDArray[Any]:
        if self.input(g).dtype in QUANTIZED:
            return self.scaled(g, x)
        return np.asarray(x.sum(axis=self.axes, dtype=np.float64 if x.dtype == np.float32 else np.int64))


class ReduceExtreme(RowReduction):
    """Base of REDUCE_MAX and REDUCE_MIN. Input and output have equal quantization, as LiteRT requires."""

    infinite: bool | None = None
    """Whether results may be infinite, as in most runtimes; LiteRT starts from the largest or smallest finite float."""
    types = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32, DType.BOOL)

    def unsupported(self, g: Graph) -> str | None:
        return super().unsupported(g) or same_scale_problem(self.input(g), self.output(g))

    @property
    def begin(self) -> float:
        """Magnitude of the initial value of a float maximum or minimum."""
        return math.inf if self.infinite else FLOAT_MAX

    def is_identity(self, g: Graph) -> bool:
        return self.input(g).shape == self.output(g).shape and self.input(g).dtype != DType.FLOAT32

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)


def same_scale_problem(x: Tensor, y: Tensor) -> str | None:
    """Why values cannot be copied from one quantized tensor to another without rescaling, or None."""
    if x.dtype not in QUANTIZED or (x.quant is None and y.quant is None):
        return None
    if x.quant is None or not x.quant.same_as(y.quant):
        return f"the output is {y.quant}, LiteRT wants the input's {x.quant}"
    return quantization_problem(x, y) if x.dtype == DType.INT16 else None


class ReduceMax(ReduceExtreme):
    """REDUCE_MAX. LiteRT starts from the smallest finite float, or if there is a single result from the first
    element."""

    kind = "REDUCE_MAX"

    def reduced(self, g: Graph, x: Array) -> NDArray[Any]:
        return extreme(x, self.axes, np.maximum, np.fmax, -self.begin, self.every_axis(g))


class ReduceMin(ReduceExtreme):
    """REDUCE_MIN. LiteRT starts from the largest finite float, or if there is a single result from the first
    element."""

    kind = "REDUCE_MIN"

    def reduced(self, g: Graph, x: Array) -> NDArray[Any]:
        return extreme(x, self.axes, np.minimum, np.fmin, self.begin, self.every_axis(g))


def extreme(x: Array, axes: tuple[int, ...], whole: np.ufunc, real: np.ufunc, begin: float, single: bool) -> Array:
    """Maximum or minimum along axes. NaN is ignored, except as the first element of a single result."""
    if x.dtype != np.float32:
        return np.asarray(whole.reduce(x, axis=axes))
    if not single:
        return np.asarray(real(real.reduce(x, axis=axes), np.float32(begin)))
    first = x.reshape(-1)[0]
    return np.asarray(first if np.isnan(first) else real.reduce(x, axis=axes))


class ReduceProd(RowReduction):
    """REDUCE_PROD. Unquantized integers wrap; for bool it is logical and. Quantized values are multiplied sequentially,
    and each product is rescaled by input scale / output scale ^ (1 / count), with a 15-bit multiplier, rounded halves
    up."""

    kind = "REDUCE_PROD"
    types = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32, DType.BOOL)

    def quantized(self, g: Graph) -> bool:
        return self.input(g).dtype in QUANTIZED and self.input(g).quant is not None

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return None if self.quantized(g) else super().reads(g, position, y)

    def work(self, g: Graph) -> int:
        return self.input(g).size + (1000 * self.count(g) if self.quantized(g) else 0)

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g), self.output(g)
        if problem := super().unsupported(g):
            return problem
        if not self.quantized(g):
            return "a quantized output of an input that is not is not supported" if y.quant is not None else None
        if problem := quantization_problem(x, y):
            return problem
        if self.scale(g)[1] > MOST_PRODUCT_SHIFT:
            return f"results would be multiplied by 2^{MOST_PRODUCT_SHIFT} and more in each step"
        return None

    def scale(self, g: Graph) -> tuple[int, int]:
        """Multiplier (15 bits) and shift of each product."""
        root = float(self.output(g).scale) ** (1.0 / self.count(g))
        mult, shift = quantize_multiplier(self.input(g).scale / root)
        return (mult + (1 << 15) >> 16 if mult < 0x7FFF0000 else 0x7FFF), shift

    def reduced(self, g: Graph, x: Array) -> NDArray[Any]:
        if self.input(g).dtype == DType.BOOL:
            return np.asarray(x.all(axis=self.axes))
        if not self.quantized(g):
            return np.asarray(np.multiply.reduce(x, axis=self.axes))
        mult, shift = self.scale(g)
        total = 15 - shift

        def scaled(product: Ints) -> Ints:
            return wrap32((product * mult + (1 << total >> 1)) >> total)

        kept = [i for i in range(x.ndim) if i not in self.axes]
        factors = x.transpose(*self.axes, *kept).reshape(self.count(g), -1).astype(np.int64) - self.input(g).zero_point
        product = factors[0]
        for factor in factors[1:]:
            product = scaled(product * factor)
        y = self.output(g)
        return np.clip(wrap32(scaled(product) + y.zero_point), *y.dtype.limits)


class ReduceAny(RowReduction):
    kind = "REDUCE_ANY"
    types = (DType.BOOL,)

    def reduced(self, g: Graph, x: Array) -> NDArray[Any]:
        return np.asarray(x.any(axis=self.axes))


class ReduceAll(RowReduction):
    kind = "REDUCE_ALL"
    types = (DType.BOOL,)

    def reduced(self, g: Graph, x: Array) -> NDArray[Any]:
        return np.asarray(x.all(axis=self.axes))
