"""FULLY_CONNECTED with weights that are computed, int16, or have a zero point."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints, rescale, rescale_wide, scale_once, wrap32
from mote.ir.graph.ranges import LEAST, Peak, Range
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import (
    WIDEST,
    activation_type,
    bias_values,
    channel_scales,
    clamp_float,
    float_bias,
    quantized_range,
    real_scales,
    scale_problem,
    wide_scale_problem,
)

WEIGHTS = {DType.INT8: (DType.INT8,), DType.INT16: (DType.INT8, DType.INT16), DType.FLOAT32: (DType.FLOAT32,)}
"""Supported element types of the weights, by element type of the input."""
BIASES = {DType.INT8: (DType.INT32,), DType.INT16: (DType.INT32, DType.INT64), DType.FLOAT32: (DType.FLOAT32,)}


class Projection(Op):
    """FULLY_CONNECTED with computed, int16 or asymmetric weights: [.., depth] x [channels, depth]. LiteRT scales
    accumulators in double precision and rounds once; with int16 weights it scales 64-bit accumulators by 15-bit
    multipliers. TensorFlow Lite Micro never uses doubles."""

    activation: Activation = Activation.NONE
    keep_dims: bool = False
    rounding: Rounding = Rounding.ONCE
    kind = "FULLY_CONNECTED"

    def shapes(self, g: Graph) -> list[Shape]:
        x, (channels, depth) = self.input(g).shape, self.input(g, 1).shape
        return [(*x[:-1], channels) if self.keep_dims else (prod(x) // depth, channels)]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.input(g, 1).shape[1]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """Computed weights must be contiguous, so output rows cannot be computed one by one; constant weights are a
        single row, as they are passed by address."""
        if position == 1:
            return None if self.input(g, 1).data is None else (0,)
        return (y,) if self.input(g).shape[:-1] == self.output(g).shape[:-1] else None

    def unsupported(self, g: Graph) -> str | None:
        if problem := activation_type(g, self, dtypes=tuple(WEIGHTS)):
            return problem
        x, w, b = self.input(g), self.input(g, 1), self.tensor(g, 2)
        if w.dtype not in WEIGHTS[x.dtype]:
            return f"{x.dtype} input with {'computed ' if w.data is None else ''}{w.dtype} weights is not supported"
        if b is not None and (b.data is None or b.dtype not in BIASES[x.dtype]):
            return f"a {'computed' if b.data is None else b.dtype} bias is not supported with {x.dtype} input"
        if b is not None and b.size != w.shape[0]:
            return f"a bias of {b.size} elements does not fit {w.shape[0]} output channels"
        return None if x.dtype == DType.FLOAT32 else self._quantization_problem(g)

    def _quantization_problem(self, g: Graph) -> str | None:
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        if w.quant is None or w.quant.scale.min() <= 0 or w.quant.scale.size not in (1, w.shape[0]):
            return f"{w.dtype} weights '{w.name}' have no quantization that fits"
        if w.quant.per_channel and w.data is None:
            return "computed weights with a scale for each channel are not supported"
        zeros = [x.zero_point, y.zero_point, *w.quant.zero_point]
        if x.dtype == DType.INT16 and any(zeros):
            return "with int16 input all zero points must be 0"
        most, largest = float(self.real(g).max()), self.largest(g)
        if self.rounds_once(g) and largest * most >= INT32_MAX + LEAST:
            return (
                f"sums of up to {largest:,} times {most:g} leave 32 bits: the output's scale {y.scale:g} is too small"
            )
        if x.dtype == DType.INT16 and largest > WIDEST << (0 if self.rounds_once(g) else 6):
            return f"sums of up to {largest:,} are not supported"
        problem = scale_problem if self.rounds_once(g) else wide_scale_problem
        return problem(*zip(*map(np.ndarray.tolist, channel_scales(x, w, y, w.shape[0])), strict=True))

    def rounds_once(self, g: Graph) -> bool:
        return self.rounding is Rounding.ONCE and self.input(g, 1).dtype != DType.INT16

    def narrow(self, g: Graph) -> bool:
        """Whether LiteRT accumulates in 32 bits: int8 inputs, or int16 inputs with int8 weights and an int32 bias."""
        bias = self.tensor(g, 2)
        int32 = bias is not None and bias.dtype == DType.INT32
        return self.input(g).dtype == DType.INT8 or (int32 and self.input(g, 1).dtype == DType.INT8)

    def _tensors(self, g: Graph) -> tuple[Tensor, Tensor, Tensor]:
        return self.input(g), self.input(g, 1), self.output(g)

    def real(self, g: Graph) -> Array:
        """The requantization scale of each channel."""
        return real_scales(*self._tensors(g), self.input(g, 1).shape[0])

    def largest(self, g: Graph) -> int:
        """Maximum magnitude of sums for any values; limited to int32 where they wrap."""
        part = self._part(g)
        return min(part, INT32_MAX + 1) if self.narrow(g) else part

    def _part(self, g: Graph) -> int:
        x, w = self.input(g), self.input(g, 1)
        far = [max(t.dtype.limits[1] - t.zero_point, t.zero_point - t.dtype.limits[0]) for t in (x, w)]
        return w.shape[1] * far[0] * far[1] + int(np.abs(bias_values(self.tensor(g, 2), w.shape[0])).max())

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        if self.input(g).dtype == DType.FLOAT32 or not self.narrow(g):
            return None
        part, (_, shifts) = self._part(g), channel_scales(*self._tensors(g), self.input(g, 1).shape[0])
        return Peak(part, (part << max(int(shifts.max()), 0)) - LEAST)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w, y = values[0], values[1], self.output(g)
        assert x is not None and w is not None
        channels, depth = w.shape
        vectors = x.reshape(-1, depth)
        if y.dtype == DType.FLOAT32:
            sums = vectors.astype(np.float64) @ w.astype(np.float64).T
            return [clamp_float(sums + float_bias(self.tensor(g, 2), channels), self.activation)]
        parts = ((t.astype(np.int64) - self.input(g, p).zero_point) for p, t in enumerate((vectors, w)))
        left, right = parts
        total: Ints = left @ right.T + bias_values(self.tensor(g, 2), channels)
        total = wrap32(total) if self.narrow(g) else total
        if self.rounds_once(g):
            scaled = scale_once(total, self.real(g))
        else:
            scales = channel_scales(*self._tensors(g), channels)
            scaled = (rescale if self.narrow(g) else rescale_wide)(total, *scales)
        return [np.clip(wrap32(scaled + y.zero_point), *quantized_range(self.activation, y)).astype(y.dtype.numpy)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, values)
