"""CONV_2D, and the final steps of layers with weights: bias, requantization, activation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints, rescale, rescale_wide, scale_even, scale_once, wrap32
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import (
    Axis,
    WindowOp,
    absolute_weights,
    channel_scales,
    clamp_float,
    even_scales,
    integer_bias,
    quantized_range,
    real_bias,
    real_scales,
    real_weights,
    rounded_inputs,
    weight_problem,
    wide_sums,
)
from mote.ir.ops.matrix import half_precision
from mote.ir.ops.matrix.accumulators import (
    Accumulators,
    layer_peak,
    layer_products,
    layer_range,
    layer_sums,
    narrow_peak,
    window_ends,
)
from mote.ir.ops.matrix.half_precision import bias_of, computes_in_half


class Conv2D(WindowOp):
    """CONV_2D: convolution of NHWC images with [out, kh, kw, in] weights; padded with the zero point."""

    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TWICE
    kind = "CONV_2D"
    pads_with_zero = True
    weights = 1

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).shape[0], *self.spatial(g), self.input(g, 1).shape[0])]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.depth(g)

    def depth(self, g: Graph) -> int:
        return self.input(g, 1).size // self.input(g, 1).shape[0]

    def unsupported(self, g: Graph) -> str | None:
        return weight_problem(g, self)

    def columns(self, g: Graph) -> Ints | None:
        """Input channel of each index of the weights' last axis."""
        return np.arange(self.input(g).channels, dtype=np.int64)

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        x, w = self.input(g), self.input(g, 1)
        ends = layer_products(w, inputs.low - x.zero_point, inputs.high - x.zero_point)
        low, high = (taps.transpose(1, 2, 0) for taps in ends)
        return layer_sums(g, self, window_ends((low, high), *self.present(g)), self.rounding)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return layer_range(g, self, self.activation, self.sums(g, inputs[0])) if inputs[0] else None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        return layer_peak(g, self, self.sums(g, inputs[0])) if inputs[0] else narrow_peak(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        zero = self.input(g).zero_point
        if computes_in_half(g, self):
            return [np.concatenate([self._in_half(g, patches, w) for patches in self.windows(x, zero)], axis=1)]
        weights = real_weights(g, self, w).reshape(w.shape[0], -1).T
        sums = []
        for patches in self.windows(x, zero):
            columns = (patches.astype(np.float64) - zero).transpose(0, 1, 2, 4, 5, 3)
            block = columns.reshape(-1, len(weights)) @ weights
            sums.append(block.reshape(*patches.shape[:3], -1))
        return [finish(g, self, values, np.concatenate(sums, axis=1), self.activation, self.rounding)]

    def _in_half(self, g: Graph, patches: Array, w: Array) -> Array:
        vectors = patches.transpose(0, 1, 2, 4, 5, 3).reshape(-1, w[0].size)
        outputs = half_precision.layer(vectors, w.reshape(len(w), -1), bias_of(g, self, len(w)), self.activation)
        return outputs.reshape(*patches.shape[:3], -1)

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, absolute_weights(values, 1))

    def misjudged(self, g: Graph) -> str | None:
        return rounded_inputs(g, self)

    @property
    def pointwise(self) -> bool:
        return self.vertical == self.horizontal == Axis(1)


def finish(
    g: Graph,
    op: Op,
    values: Sequence[Array | None],
    sums: NDArray[np.float64],
    activation: Activation,
    rounding: Rounding = Rounding.TWICE,
) -> NDArray[Any]:
    """From sums of products (channels last) to a layer's output: adds the bias, requantizes, applies the activation."""
    x, w, y = op.input(g), op.input(g, 1), op.output(g)
    channels = sums.shape[-1]
    if y.dtype == DType.FLOAT32:
        return clamp_float(sums + real_bias(g, op, values, channels), activation)
    total = sums.astype(np.int64) + integer_bias(g, op, values, channels)
    wide = wide_sums(g, op)
    total = total if wide else wrap32(total)
    of = x, w, y, channels
    if rounding is Rounding.ONCE:
        scaled = scale_once(total, real_scales(*of))
    elif rounding is Rounding.EVEN:
        scaled = scale_even(total, even_scales(*of))
    else:
        scaled = (rescale_wide if wide else rescale)(total, *channel_scales(*of))
    return np.clip(wrap32(scaled + y.zero_point), *quantized_range(activation, y)).astype(y.dtype.numpy)
