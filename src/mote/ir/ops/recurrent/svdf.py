"""SVDF: a fully connected layer over the last `memory` inputs, factorized by singular values.

Each filter reduces an input to one number and keeps the last `memory` of them; an output unit is the sum of `rank`
filters, each the dot product of its numbers with weights over time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multiplier, rescale, wrap32
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import (
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
from mote.ir.ops.matrix.accumulators import vector_peak

BIAS, STATE = 3, 4
"""Input positions of the bias, which may be absent, and the state."""


class Svdf(Op):
    """SVDF. Inputs: new input, feature weights, time weights, bias; the state: the last numbers of each filter. LiteRT
    supports int8 only with an int16 state and RELU, which the output's range implements. TFLite Micro also supports
    int8 state and time weights, with any activation ignored."""

    rank: int
    activation: Activation = Activation.NONE
    double_scales: bool = False
    """Whether products of scales are computed in double precision, as in TFLite Micro, or in float32, as in LiteRT."""
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
        quantized, small = self.input(g).dtype == DType.INT8, self.small_state(g)
        real = (DType.INT8,) * 2 + (DType.FLOAT32,) * 2 if hybrid(g, self) else (DType.FLOAT32,) * 4
        kept = DType.INT8 if small else DType.INT16
        wanted = (DType.INT8, kept, DType.INT32, kept) if quantized else real
        judge = "TFLite Micro wants {} with an int8 state" if small else "LiteRT wants {}"
        names = ("weights", "weights over time", "bias", "state")
        for position, (what, dtype) in enumerate(zip(names, wanted, strict=True), 1):
            t = self.tensor(g, position)
            if t is None:
                continue
            if t.dtype != dtype:
                return f"{self.input(g).dtype} input with {t.dtype} {what} is not supported ({judge.format(dtype)})"
            if position != STATE and t.data is None:
                return f"{what} that are computed at run time are not supported"
            integers, shifted = t.dtype.integer and position != BIAS, small and position == STATE
            if integers and (t.quant is None or t.quant.per_channel or t.scale <= 0):
                return f"{what} must have one scale"
            if integers and t.zero_point and not shifted:
                return f"{what} must have zero point 0"
        if small and self.activation not in (Activation.NONE, Activation.RELU):
            return f"int8 with fused activation {self.activation} is not supported (TFLite Micro omits it)"
        if quantized and not small and self.activation != Activation.RELU:
            return f"int8 with fused activation {self.activation} is not supported (nor by LiteRT, only RELU)"
        return scale_problem(*self.scales(g)) if quantized else None

    def small_state(self, g: Graph) -> bool:
        """Whether an int8 layer has an int8 state, which only TFLite Micro supports."""
        return self.input(g).dtype == self.input(g, STATE).dtype == DType.INT8

    def scales(self, g: Graph) -> tuple[tuple[int, int], tuple[int, int]]:
        """Multipliers and shifts from feature sums to the state, and from time sums to the output."""
        kind = np.float64 if self.double_scales or self.small_state(g) else np.float32
        x, w, time, state = (kind(self.input(g, p).scale) for p in (0, 1, 2, STATE))
        y = kind(self.output(g).scale)
        return quantize_multiplier(float(x * w / state)), quantize_multiplier(float(state * time / y))

    def start(self, g: Graph) -> Ints:
        """The initial accumulator of each unit: its bias, less the contribution of the state's zero point."""
        time, zero = self.input(g, 2).data, self.input(g, STATE).zero_point
        assert time is not None
        sums = time.astype(np.int64).reshape(len(time) // self.rank, -1).sum(axis=1)
        return wrap32(bias_values(self.tensor(g, BIAS), len(sums)) - zero * sums)

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Accumulator bounds of feature sums and time sums, for any state; kernels let the latter wrap, as LiteRT
        does."""
        w, time = self.input(g, 1).data, self.input(g, 2).data
        if inputs[0] is None or w is None or time is None:
            return None
        zero, none = self.input(g).zero_point, np.zeros(len(w), np.int64)
        filters = vector_peak(w, zero, none, inputs[0], self.scales(g)[0][1])
        bits = 7 if self.small_state(g) else 15
        kept = np.abs(time.astype(np.int64)).sum(axis=1).reshape(-1, self.rank).sum(axis=1) << bits
        return Peak(max(filters.total, int((kept + np.abs(self.start(g))).max())), filters.part)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w, time, _, state = values
        assert x is not None and w is not None and time is not None and state is not None
        filters, memory = time.shape
        kept = state.reshape(-1, filters, memory)[:, :, 1:]
        new: Array = (x.astype(np.float64) - self.input(g).zero_point) @ real_weights(g, self, w).T
        quantized = x.dtype == np.int8
        zero = self.input(g, STATE).zero_point
        if quantized:
            limits = np.iinfo(state.dtype)
            new = np.clip(rescale(wrap32(new.astype(np.int64)), *self.scales(g)[0]), limits.min, limits.max) + zero
        after = np.concatenate([kept, new[:, :, None].astype(state.dtype)], axis=2)
        wide = after.astype(np.int64 if quantized else np.float64) - zero
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
        return "LiteRT reads an int8 state as int16" if self.small_state(g) else rounded_inputs(g, self)
