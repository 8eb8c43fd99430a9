"""CAST and BITCAST: type conversion of stored values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.pointwise import Pointwise

TYPES = (
    DType.BOOL,
    DType.INT8,
    DType.UINT8,
    DType.INT16,
    DType.INT32,
    DType.UINT16,
    DType.UINT32,
    DType.UINT64,
    DType.INT64,
    DType.FLOAT32,
)


class Cast(Pointwise):
    """CAST. Integers that do not fit wrap. Floats are rounded towards zero and saturate; NaN becomes the largest
    integer, as in LiteRT. To bool, everything but zero is true."""

    kind = "CAST"

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g).dtype, self.output(g).dtype
        if x in TYPES and y in TYPES:
            return None
        return f"{x} to {y} is not supported (only {', '.join(TYPES)})"

    def is_identity(self, g: Graph) -> bool:
        x, y = self.input(g), self.output(g)
        same = x.quant is y.quant if x.quant is None else x.quant.same_as(y.quant)
        return x.dtype == y.dtype and same

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, to = values[0], self.output(g).dtype
        assert x is not None
        if x.dtype != np.float32 or not to.integer:
            return [x.astype(to.numpy)]
        low, high = to.limits
        inside = (x >= np.float32(low)) & (x < np.float32(high + 1))
        whole = np.where(inside, x, np.float32(0)).astype(to.numpy)
        return [np.where(inside, whole, np.where(x < np.float32(low), low, high)).astype(to.numpy)]


class BitCast(Pointwise):
    """BITCAST: reinterprets the bits as another type of the same size."""

    kind = "BITCAST"

    def unsupported(self, g: Graph) -> str | None:
        x, y = self.input(g).dtype, self.output(g).dtype
        if x in TYPES and y in TYPES and x.itemsize == y.itemsize:
            return None
        return f"{x} to {y} is not supported (only types of one size among {', '.join(TYPES)})"

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no such operator"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [np.ascontiguousarray(x).view(self.output(g).dtype.numpy).reshape(x.shape)]
