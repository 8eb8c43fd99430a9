"""SQUARED_DIFFERENCE: (a - b)^2, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multiplier, rescale
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import scale_problem
from mote.ir.ops.elementwise.arithmetic import QUANTIZED, Binary, finish, zero_point_problem

PLACES = {DType.INT8: 7, DType.INT16: 0}
"""Left shift of quantized values before the subtraction: additional fractional bits."""


class SquaredDifference(Binary):
    """SQUARED_DIFFERENCE. int8: both inputs are rescaled to the scale 2 * max / 2^7, and the squared difference to the
    output's scale; int16, which only TensorFlow Lite Micro has, likewise without the 2^7. Other integers wrap."""

    types: ClassVar[frozenset[DType]] = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32})
    kind = "SQUARED_DIFFERENCE"

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g) or zero_point_problem(g, self):
            return problem
        return scale_problem(self.multipliers(g)[2]) if self.output(g).dtype in QUANTIZED else None

    def misjudged(self, g: Graph) -> str | None:
        dtype = self.output(g).dtype
        if dtype == DType.INT16:
            return "LiteRT has no int16 SQUARED_DIFFERENCE"
        aborts = dtype == DType.INT8 and self.multipliers(g)[2][1] > 0
        return "LiteRT aborts where the output's scale is small" if aborts else None

    def multipliers(self, g: Graph) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Multipliers and shifts of the two inputs and of the squared difference."""
        a, b, y = self.input(g), self.input(g, 1), self.output(g)
        common = 2 * max(a.scale, b.scale)
        real = (a.scale / common, b.scale / common, common * common / ((1 << 2 * PLACES[y.dtype]) * y.scale))
        first, second, result = map(quantize_multiplier, real)
        return first, second, result

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        first, second, result = self.multipliers(g)
        places = PLACES[self.output(g).dtype]
        x = rescale((a - self.input(g).zero_point) << places, *first)
        y = rescale((b - self.input(g, 1).zero_point) << places, *second)
        return finish(rescale((x - y) ** 2, *result), Activation.NONE, self.output(g))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        if self.output(g).dtype in QUANTIZED:
            return [self.exact(g, a.astype(np.int64), b.astype(np.int64)).astype(a.dtype)]
        with np.errstate(over="ignore"):
            difference = np.subtract(a, b)
            return [np.multiply(difference, difference)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        return [np.square(np.add(a, b))]
