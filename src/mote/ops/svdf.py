"""SVDF: a fully connected layer over the last inputs, as a product of two small ones.

Each filter reduces an input to one number and keeps the last `memory` of them; a unit of the output is the sum of
`rank` filters, each a product of its numbers with weights over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mote.graph import Graph, Op
from mote.graph.fixedpoint import quantize_multiplier, rescale, wrap32
from mote.graph.ranges import Peak, Range
from mote.graph.tensor import Array, Shape
from mote.graph.types import Activation, DType
from mote.ops.common import (
    absolute_weights,
    activation_type,
    bias_values,
    clamp_float,
    float_bias,
    hybrid,
    real_constant,
    real_weights,
    rounded_inputs,
    scale_problem,
)
from mote.ops.sums import vector_peak

BIAS, STATE = 3, 4
"""The positions of the bias, which may be absent, and of the state among the inputs."""


@dataclass(frozen=True, kw_only=True)
class Svdf(Op):
    """Inputs: what is new, weights of filters, weights over time, biases of units, what the filters remember. LiteRT
    takes int8 only with RELU, and leaves it to the output's range."""

    rank: int
    activation: Activation = Activation.NONE
    kind = "SVDF"
    weights = 1

    @property
    def updates(self) -> dict[int, int]:
        return {1: STATE}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).shape[0], self.input(g, 1).shape[0] // self.rank), self.input(g, STATE).shape]

    def macs(self, g: Graph) -> int:
        filters, inputs = self.input(g, 1).shape
        return self.input(g).shape[0] * filters * (inputs + self.input(g, 2).shape[1])

    def unsupported(self, g: Graph) -> str | None:
        if problem := activation_type(g, self):
            return problem
        quantized = self.input(g).dtype == DType.INT8
        real = (DType.INT8,) * 2 + (DType.FLOAT32,) * 2 if hybrid(g, self) else (DType.FLOAT32,) * 4
        wanted = (DType.INT8, DType.INT16, DType.INT32, DType.INT16) if quantized else real
        names = ("weights", "weights over time", "bias", "state")
        for position, (what, dtype) in enumerate(zip(names, wanted, strict=True), 1):
            t = self.tensor(g, position)
            if t is None:
                continue
            if t.dtype != dtype:
                return f"{self.input(g).dtype} input with {t.dtype} {what} is not supported (LiteRT wants {dtype})"
            if position != STATE and t.data is None:
                return f"{what} that are computed at run time are not supported"
            integers = t.dtype.integer and position != BIAS
            if integers and (t.quant is None or t.quant.per_channel or t.zero_point or t.scale <= 0):
                return f"{what} must have one scale and zero point 0"
        if quantized and self.activation != Activation.RELU:
            return f"int8 with fused activation {self.activation} is not supported (nor by LiteRT, only RELU)"
        return scale_problem(*self.scales(g)) if quantized else None

    def scales(self, g: Graph) -> tuple[tuple[int, int], tuple[int, int]]:
        """Multiplier and shift from products to what a filter remembers, and from its products to the output."""
        x, w, time, state = (np.float32(self.input(g, p).scale) for p in (0, 1, 2, STATE))
        y = np.float32(self.output(g).scale)
        return quantize_multiplier(float(x * w / state)), quantize_multiplier(float(state * time / y))

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Of the filters, and of what they remember, which may be anything: kernels let that wrap, as LiteRT does."""
        w, time = self.input(g, 1).data, self.input(g, 2).data
        if inputs[0] is None or w is None or time is None:
            return None
        zero, none = self.input(g).zero_point, np.zeros(len(w), np.int64)
        filters = vector_peak(w, zero, none, inputs[0], self.scales(g)[0][1])
        bias = np.abs(bias_values(self.tensor(g, BIAS), len(time) // self.rank))
        kept = np.abs(time.astype(np.int64)).sum(axis=1).reshape(-1, self.rank).sum(axis=1) << 15
        return Peak(max(filters.total, int((kept + bias).max())), filters.part)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w, time, _, state = values
        assert x is not None and w is not None and time is not None and state is not None
        filters, memory = time.shape
        kept = state.reshape(-1, filters, memory)[:, :, 1:]
        new = (x.astype(np.float64) - self.input(g).zero_point) @ real_weights(g, self, w).T
        quantized = x.dtype == np.int8
        if quantized:
            new = np.clip(rescale(wrap32(new.astype(np.int64)), *self.scales(g)[0]), -32768, 32767)
        after = np.concatenate([kept, new[:, :, None].astype(state.dtype)], axis=2)
        wide = after.astype(np.int64 if quantized else np.float64)
        time = time if quantized else real_constant(self.input(g, 2), time)
        sums = (wide * time).sum(axis=2).reshape(len(x), -1, self.rank).sum(axis=2)
        if quantized:
            total = wrap32(sums + bias_values(self.tensor(g, BIAS), sums.shape[1]))
            y = wrap32(rescale(total, *self.scales(g)[1]) + self.output(g).zero_point)
            return [np.clip(y, -128, 127).astype(np.int8), after.reshape(state.shape)]
        y = sums + float_bias(self.tensor(g, BIAS), sums.shape[1])
        return [clamp_float(y, self.activation), after.reshape(state.shape)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, absolute_weights(values, 1, 2))

    def misjudged(self, g: Graph) -> str | None:
        return rounded_inputs(g, self)
