"""AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D. Padding is excluded: averages divide by the number of pixels inside the
image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import LEAST, Peak, Range
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import MOST_SUMMED, Axis, WindowOp, activation_type, clamp_float, quantized_range
from mote.ir.ops.pointwise import rising

MOST_AVERAGED = {DType.INT8: MOST_SUMMED, DType.INT16: (1 << 16) - 1}
"""Window sizes from which the sum plus rounding term may overflow int32."""


class Pool(WindowOp):
    """Base of pooling. As in LiteRT nothing is rescaled: integers keep the input's quantization."""

    activation: Activation = Activation.NONE
    types: ClassVar[tuple[DType, ...]] = (DType.INT8, DType.INT16, DType.FLOAT32)

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        return [(x[0], *self.spatial(g), x[3])]

    def work(self, g: Graph) -> int:
        """Estimated cost in multiplications: the reference visits each element of each window."""
        return 8 * self.output(g).size * self.vertical.kernel * self.horizontal.kernel

    def unsupported(self, g: Graph) -> str | None:
        return activation_type(g, self, dtypes=self.types)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        return {0: np.arange(self.output(g).channels, dtype=np.int64)}

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        y = self.output(g)
        pooled = self.pool(x)
        if y.dtype == DType.FLOAT32:
            return [clamp_float(pooled.astype(np.float64), self.activation)]
        return [np.clip(pooled, *quantized_range(self.activation, y)).astype(y.dtype.numpy)]

    def pool(self, x: Array) -> NDArray[Any]:
        raise NotImplementedError


class Average(Pool):
    """Base of AVERAGE_POOL_2D; subclasses define the rounding of integers."""

    kind = "AVERAGE_POOL_2D"

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        count, most = self.count(g), MOST_AVERAGED.get(self.input(g).dtype)
        return None if most is None or count < most else f"a mean of {count} elements is not supported"

    def count(self, g: Graph) -> int:
        """Maximum number of pixels inside the image in any window."""
        return int(np.prod([ways.sum(axis=1).max() for ways in self.present(g)]))

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Accumulator bounds, also for kernels that add 128 to each value, and half the count for rounding."""
        if inputs[0] is None:
            return None
        return Peak(self.count(g) * inputs[0].max_distance(), -2 * LEAST * self.count(g))

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, values)

    def pool(self, x: Array) -> NDArray[Any]:
        rows, columns = ((a.positions(n) != OUTSIDE).sum(axis=1) for a, n in self._axes(x))
        count = rows[:, None, None] * columns[:, None]
        wide = np.float64 if x.dtype == np.float32 else np.int64
        total = np.concatenate([w.sum(axis=(4, 5), dtype=wide) for w in self.windows(x, 0)], axis=1)
        if x.dtype == np.float32:
            return np.asarray(total / count)
        return self.rounded(total, count)

    def rounded(self, total: Ints, count: Ints) -> Ints:
        raise NotImplementedError

    def _axes(self, x: Array) -> tuple[tuple[Axis, int], tuple[Axis, int]]:
        return (self.vertical, x.shape[1]), (self.horizontal, x.shape[2])


class AveragePool(Average):
    """AVERAGE_POOL_2D that rounds halves away from zero."""

    def rounded(self, total: Ints, count: Ints) -> Ints:
        return np.asarray(np.sign(total) * ((np.abs(total) + count // 2) // count))


class AveragePoolUpward(Average):
    """AVERAGE_POOL_2D that rounds halves up, as LiteRT does for uint8."""

    def rounded(self, total: Ints, count: Ints) -> Ints:
        return np.asarray((total + count // 2) // count)


class MaxPool(Pool):
    kind = "MAX_POOL_2D"

    def pool(self, x: Array) -> NDArray[Any]:
        lowest = -np.inf if x.dtype == np.float32 else np.iinfo(x.dtype).min
        return np.concatenate([w.max(axis=(4, 5)) for w in self.windows(x, lowest)], axis=1)


class L2Pool(Average):
    """L2_POOL_2D: root of the mean of squares."""

    kind = "L2_POOL_2D"
    types = (DType.FLOAT32,)

    def pool(self, x: Array) -> NDArray[Any]:
        return np.asarray(np.sqrt(super().pool(np.square(x))))
