"""SQUARED_DIFFERENCE: (a - b)^2, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mote.graph import Graph
from mote.graph.fixedpoint import Ints, quantize_multiplier, rescale
from mote.graph.tensor import Array
from mote.graph.types import Activation, DType
from mote.ops.arithmetic import Binary, finish

PLACES = 7
"""LiteRT subtracts int8 numbers with this many more bits."""


@dataclass(frozen=True, kw_only=True)
class SquaredDifference(Binary):
    """int8: both inputs are brought to the scale 2 * max / 2^7, and the square of their difference to the output's.
    Integers wrap."""

    types: ClassVar[frozenset[DType]] = frozenset({DType.INT8, DType.INT32, DType.FLOAT32})
    kind = "SQUARED_DIFFERENCE"

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        if self.output(g).dtype == DType.INT8 and self.multipliers(g)[2][1] > 0:
            return f"the output's scale {self.output(g).scale:g} is too small for the inputs'"
        return None

    def multipliers(self, g: Graph) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Multiplier and shift of each input and of the square."""
        a, b, y = self.input(g), self.input(g, 1), self.output(g)
        common = 2 * max(a.scale, b.scale)
        real = (a.scale / common, b.scale / common, common * common / ((1 << 2 * PLACES) * y.scale))
        first, second, result = map(quantize_multiplier, real)
        return first, second, result

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        first, second, result = self.multipliers(g)
        x = rescale((a - self.input(g).zero_point) << PLACES, *first)
        y = rescale((b - self.input(g, 1).zero_point) << PLACES, *second)
        return finish(rescale((x - y) ** 2, *result), Activation.NONE, self.output(g))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        if a.dtype == np.int8:
            return [self.exact(g, a.astype(np.int64), b.astype(np.int64)).astype(np.int8)]
        with np.errstate(over="ignore"):
            difference = np.subtract(a, b)
            return [np.multiply(difference, difference)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        return [np.square(np.add(a, b))]
