"""PRELU: a slope for negative elements, broadcast to the input's shape."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import quantize_multiplier, rescale, wrap32
from mote.ir.graph.ranges import LEAST, MOST, Peak, Range, between
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.elementwise.arithmetic import (
    MAX_LEFT_SHIFT,
    QUANTIZED,
    Binary,
    finish,
    quantization_problem,
    type_problem,
)
from mote.ir.ops.matrix.accumulators import rescaled


class PRelu(Binary):
    """PRELU: x, or alpha * x where x < 0; the tensor alpha is broadcast to x. With int16 x, alpha is int8."""

    types: ClassVar[frozenset[DType]] = frozenset({DType.INT8, DType.INT16, DType.FLOAT32})
    kind = "PRELU"

    def unsupported(self, g: Graph) -> str | None:
        x, alpha = self.input(g), self.input(g, 1)
        if x.dtype == DType.INT16 and alpha.dtype == DType.INT8:
            problem = type_problem(g, self.with_(inputs=self.inputs[:1]), self.types) or quantization_problem(alpha)
        else:
            problem = type_problem(g, self, self.types - {DType.INT16})
        if problem := problem or self.axes_problem(g):
            return problem
        if self.output(g).shape != x.shape:
            return f"alpha {alpha.shape} does not fit an input of shape {x.shape}"
        if x.dtype in QUANTIZED and max(m[1] for m in self.multipliers(g)) > MAX_LEFT_SHIFT:
            return f"the output's scale {self.output(g).scale:g} is too small for the input's"
        return None

    def multipliers(self, g: Graph) -> tuple[tuple[int, int], tuple[int, int]]:
        """Multipliers and shifts of the requantization: for x >= 0, and for x < 0."""
        x, alpha, y = (np.float32(t.scale) for t in (self.input(g), self.input(g, 1), self.output(g)))
        return quantize_multiplier(float(x / y)), quantize_multiplier(float(x * alpha / y))

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        sizes = self.sizes(g, inputs)
        if sizes is None:
            return None
        return Peak(largest := prod(sizes), rescaled(largest, max(0, *(shift for _, shift in self.multipliers(g)))))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """Range from the results at the ends of the input range and at zero, the only turning point."""
        x, alpha, zero = inputs[0], self.input(g, 1).data, self.input(g).zero_point
        if x is None or alpha is None:
            return None
        ends = (np.clip(v, x.low, x.high) for v in (LEAST, MOST, zero, zero - 1))
        shape = self.input(g).shape
        return between(self.evaluate(g, [np.broadcast_to(v, shape).astype(np.int8), alpha])[0] for v in ends)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, alpha = values
        assert x is not None and alpha is not None
        if x.dtype == np.float32:
            return [np.where(np.greater_equal(x, 0), x, np.multiply(x, alpha))]
        above, below = self.multipliers(g)
        q = x.astype(np.int64) - self.input(g).zero_point
        slope = alpha.astype(np.int64) - self.input(g, 1).zero_point
        scaled = np.where(q >= 0, rescale(q, *above), rescale(wrap32(q * slope), *below))
        return [finish(scaled, Activation.NONE, self.output(g)).astype(x.dtype)]
