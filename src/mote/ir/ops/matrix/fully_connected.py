"""FULLY_CONNECTED with constant or trainable weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints
from mote.ir.graph.ranges import LEAST, Peak, Range
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import absolute_weights, real_scales, real_weights, rounded_inputs, weight_problem, wide_sums
from mote.ir.ops.matrix import half_precision
from mote.ir.ops.matrix.accumulators import (
    Accumulators,
    extreme_weights,
    largest_bias,
    layer_peak,
    layer_products,
    layer_range,
    layer_sums,
    narrow_peak,
    parts,
    wide_parts,
)
from mote.ir.ops.matrix.half_precision import bias_of, computes_in_half
from mote.ir.ops.pointwise import pointwise
from mote.ir.ops.windows.conv import finish


class FullyConnected(Op):
    """FULLY_CONNECTED: [.., depth] x [channels, depth]. LiteRT rounds results once, TensorFlow Lite Micro twice, ONNX
    Runtime to even."""

    activation: Activation = Activation.NONE
    keep_dims: bool = False
    rounding: Rounding = Rounding.ONCE
    product: bool = False
    """Whether the file has it as BATCH_MATMUL with a constant matrix."""
    kind = "FULLY_CONNECTED"
    weights = 1

    def shapes(self, g: Graph) -> list[Shape]:
        x, (channels, depth) = self.input(g).shape, self.input(g, 1).shape
        if self.keep_dims:
            return [(*x[:-1], channels)]
        return [(prod(x) // depth, channels)]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.input(g, 1).shape[1]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        if self.input(g).shape[:-1] != self.output(g).shape[:-1]:
            return None
        return (0,) if position > 0 else (y,)

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        """Streaming form, if the streamed axis is also an axis of the output."""
        flow, x = flows[0], self.input(g).shape
        if flow.axis == len(x) - 1 or x[-1] != self.input(g, 1).shape[1]:
            return None
        if self.keep_dims or len(x) == 2:
            return pointwise(self, flows)
        return Increment(self, flow.on(0), {0: flow.fresh}) if prod(x[:-1]) == flow.size else None

    def unsupported(self, g: Graph) -> str | None:
        if problem := weight_problem(g, self):
            return problem
        return self._once_problem(g) if self.input(g).dtype.integer and self.rounding is Rounding.ONCE else None

    def _once_problem(self, g: Graph) -> str | None:
        """Why LiteRT's result is undefined: a float beyond int32 is converted, which depends on the platform. None if
        it is defined."""
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        weights, bias = extreme_weights(w), largest_bias(g, self, w.shape[0])
        most = float(real_scales(x, w, y, w.shape[0]).max())
        largest = wide_parts(weights, 0, bias) if x.dtype == DType.INT16 else parts(weights, 0, x.zero_point, bias)
        if not wide_sums(g, self):
            largest = min(largest, INT32_MAX + 1)
        if largest * most < INT32_MAX + LEAST:
            return None
        return f"sums of up to {largest:,} times {most:g} leave 32 bits: the output's scale {y.scale:g} is too small"

    def columns(self, g: Graph) -> Ints | None:
        """Input channel of each column of the weights; None if the depth is no multiple of the channels."""
        channels, depth = self.input(g).channels, self.input(g, 1).shape[1]
        return None if depth % channels else np.arange(depth, dtype=np.int64) % channels

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        x, w, columns = self.input(g), self.input(g, 1), self.columns(g)
        if columns is None:
            columns, inputs = np.zeros(w.shape[1], np.int64), inputs.hull
        ends = layer_products(w, inputs.low[columns] - x.zero_point, inputs.high[columns] - x.zero_point)
        return layer_sums(g, self, ends, self.rounding)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return layer_range(g, self, self.activation, self.sums(g, inputs[0])) if inputs[0] else None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        return layer_peak(g, self, self.sums(g, inputs[0])) if inputs[0] else narrow_peak(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        if computes_in_half(g, self):
            outputs = half_precision.layer(x.reshape(-1, w.shape[1]), w, bias_of(g, self, len(w)), self.activation)
            return [outputs.reshape(self.output(g).shape)]
        vectors = x.reshape(-1, w.shape[1]).astype(np.float64) - self.input(g).zero_point
        sums = vectors @ real_weights(g, self, w).T
        return [finish(g, self, values, sums, self.activation, self.rounding)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, absolute_weights(values, 1))

    def misjudged(self, g: Graph) -> str | None:
        w = self.input(g, 1)
        if self.product and w.quant is not None and w.quant.per_channel:
            return "LiteRT's BATCH_MATMUL treats per-channel scales as 0"
        return rounded_inputs(g, self)
