"""SOFTMAX over the last axis.

LiteRT's int8 reference computes it in fixed point (gemmlowp's exp and reciprocal). All arithmetic below is
on integers that stand for real numbers: "Q5.26" has 5 bits before the point and 26 after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mote.graph import Graph, Op
from mote.graph.fixedpoint import (
    INT32_MAX,
    exp_on_negative,
    high_mul,
    quantize_multiplier,
    reciprocal,
    rescale,
    rounding_shift_right,
)
from mote.graph.flow import Flow
from mote.graph.graph import Increment
from mote.graph.ranges import Peak, Range
from mote.graph.tensor import Array, Shape
from mote.graph.types import DType
from mote.ops.analysis import pointwise
from mote.ops.common import activation_type

INPUT_BITS = 5
"""Bits before the point in the argument of exp."""

SUM_BITS = 12
"""Bits before the point in the sum."""

MAX_DEPTH = (1 << SUM_BITS) - 1


@dataclass(frozen=True, kw_only=True)
class Softmax(Op):
    """exp(beta * x) over its sum."""

    beta: float = 1.0
    kind = "SOFTMAX"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)

    def increment(self, g: Graph, flows: Mapping[int, Flow], causal: bool) -> Increment | None:
        return None if flows[0].axis == len(self.input(g).shape) - 1 else pointwise(self, flows)

    def unsupported(self, g: Graph) -> str | None:
        if problem := activation_type(g, self):
            return problem
        x, y = self.input(g), self.output(g)
        if x.dtype == DType.FLOAT32:
            return None
        if y.zero_point != -128 or abs(y.scale * 256 - 1) > 0.001:
            return f"the output is {y.quant}, LiteRT wants 0.00390625 * (q - -128)"
        if self.beta * x.scale * (1 << 31 - INPUT_BITS) <= 1:
            return f"beta {self.beta:g} is too small for the input's scale {x.scale:g}"
        if x.shape[-1] > MAX_DEPTH:
            return f"more than {MAX_DEPTH} classes are not supported"
        return None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Of exponentials, each at most one."""
        total = self.input(g).shape[-1] << 31 - SUM_BITS
        return Peak(total, total) if inputs[0] else None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x = values[0]
        assert x is not None
        if x.dtype == np.float32:
            z = x.astype(np.float64)
            e = np.exp((z - z.max(axis=-1, keepdims=True)) * np.float32(self.beta))
            return [(e / e.sum(axis=-1, keepdims=True)).astype(np.float32)]
        mult, shift, radius = self.scaling(g)
        q = x.astype(np.int64)
        below = q.max(axis=-1, keepdims=True) - q
        e = np.where(below <= radius, exp_on_negative(rescale(-below, mult, shift), INPUT_BITS), 0)
        total = rounding_shift_right(e, SUM_BITS).sum(axis=-1, keepdims=True)
        bits = np.frexp(total.astype(np.float64))[1]
        scaled = high_mul(reciprocal(total << (32 - bits)), e)
        share = rounding_shift_right(scaled, bits + SUM_BITS - 32 + 31 - 8)
        return [np.clip(share - 128, -128, 127).astype(np.int8)]

    def scaling(self, g: Graph) -> tuple[int, int, int]:
        """Multiplier and left shift from steps of the input to Q5.26, and how many steps that can hold."""
        real = min(self.beta * self.input(g).scale * (1 << 31 - INPUT_BITS), INT32_MAX)
        mult, shift = quantize_multiplier(real)
        return mult, shift, min(((1 << INPUT_BITS) - 1 << 31 - INPUT_BITS) >> shift, 255)
