"""EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS and LESS_EQUAL: element-wise, with boolean results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multiplier, rescale
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import NUMBERS, QUANTIZED, Binary, quantization_problem

PLACES = 8
"""Left shift of quantized values before LiteRT rescales and compares them: additional fractional bits."""


class Comparison(Binary):
    """Base of comparisons. Quantized values are rescaled to a common scale first, where close values become equal."""

    types: ClassVar[frozenset[DType]] = NUMBERS
    compare: ClassVar[np.ufunc]
    scaled16: ClassVar[bool] = False
    """Whether LiteRT's kernel also rescales int16 inputs before comparing them."""

    def unsupported(self, g: Graph) -> str | None:
        a, b, y = self.input(g), self.input(g, 1), self.output(g)
        if a.dtype not in self.types:
            return f"{a.dtype} input is not supported (only {', '.join(sorted(self.types))})"
        if b.dtype != a.dtype or y.dtype != DType.BOOL:
            return f"{a.dtype} and {b.dtype} inputs with {y.dtype} output are not supported"
        return self._scale_problem(g) or self.axes_problem(g)

    def _scale_problem(self, g: Graph) -> str | None:
        if not self.scaled(g):
            return None
        for t in (self.input(g), self.input(g, 1)):
            if problem := quantization_problem(t):
                return problem
            if t.scale >= 1:
                return f"LiteRT compares no numbers with scales of 1 and more ('{t.name}' has {t.scale:g})"
        return None

    def scaled(self, g: Graph) -> bool:
        """Whether quantized inputs are rescaled to a common scale before they are compared."""
        x = self.input(g)
        return x.dtype == DType.INT8 or (x.dtype == DType.INT16 and self.scaled16 and x.quant is not None)

    def scale(self, g: Graph, position: int) -> tuple[int, int]:
        return quantize_multiplier(self.input(g, position).scale)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        if self.scaled(g):
            a, b = self._common(g, 0, a), self._common(g, 1, b)
        return [self.compare(a, b)]

    def _common(self, g: Graph, position: int, codes: Array) -> Ints:
        numbers = codes.astype(np.int64) - self.input(g, position).zero_point
        return rescale(numbers << PLACES, *self.scale(g, position))


class Equal(Comparison):
    types: ClassVar[frozenset[DType]] = NUMBERS | {DType.BOOL}
    scaled16: ClassVar[bool] = True
    compare: ClassVar[np.ufunc] = np.equal
    kind = "EQUAL"


class NotEqual(Comparison):
    types: ClassVar[frozenset[DType]] = NUMBERS | {DType.BOOL}
    scaled16: ClassVar[bool] = True
    compare: ClassVar[np.ufunc] = np.not_equal
    kind = "NOT_EQUAL"

    def unsupported(self, g: Graph) -> str | None:
        x = self.input(g)
        if x.dtype in QUANTIZED and x.quant is None:
            return f"{x.dtype} inputs without a scale are not supported: LiteRT computes nothing of them"
        return super().unsupported(g)


class Greater(Comparison):
    compare: ClassVar[np.ufunc] = np.greater
    kind = "GREATER"


class GreaterEqual(Comparison):
    compare: ClassVar[np.ufunc] = np.greater_equal
    kind = "GREATER_EQUAL"


class Less(Comparison):
    compare: ClassVar[np.ufunc] = np.less
    kind = "LESS"


class LessEqual(Comparison):
    compare: ClassVar[np.ufunc] = np.less_equal
    kind = "LESS_EQUAL"
