"""MEAN over any axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import quantize_multiplier
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.reductions.reduce import QUANTIZED, ScaledSum


class Mean(ScaledSum):
    """MEAN. int8 and int16: as in LiteRT the sum is rescaled in one step, division included. Other integers are divided
    and rounded towards zero."""

    kind = "MEAN"
    types = (DType.INT8, DType.FLOAT32, DType.INT16, DType.INT32, DType.INT64)

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """Kernels for int8 and float32 take whole tensors, or accumulate rows into running sums, so rows are not
        independent; except for int8 means over the last axis."""
        x = self.input(g)
        by_rows = x.dtype not in (DType.INT8, DType.FLOAT32) or (x.dtype == DType.INT8 and self.of_lines(g))
        return super().reads(g, position, y) if by_rows else None

    def reduced(self, g: Graph, x: Array) -> NDArray[Any]:
        if x.dtype == np.float32:
            return np.asarray(x.mean(axis=self.axes, dtype=np.float64))
        if self.input(g).dtype in QUANTIZED:
            return self.scaled(g, x)
        total, count = np.asarray(x.sum(axis=self.axes, dtype=np.int64)), np.int64(self.count(g))
        quotient = total // count
        return np.asarray(quotient + ((quotient < 0) & (quotient * count != total)))

    def work(self, g: Graph) -> int:
        return 0

    def scale(self, g: Graph) -> tuple[int, int]:
        """Multiplier and shift: as in LiteRT the multiplier is divided by the count, after a left shift that keeps
        precision, and truncated."""
        mult, shift = quantize_multiplier(self.input(g).scale / self.output(g).scale)
        count = self.count(g)
        left = min(count.bit_length() - 1, 32, 31 + shift)
        return (mult << left) // count, shift - left
