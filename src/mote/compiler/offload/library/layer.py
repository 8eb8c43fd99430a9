"""The quantization parameters of layers with weights, in the form that libraries take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.contract import Blob
from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import INT32_MAX
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.common import bias_values, channel_scales, quantized_range, real_scales, wide_sums
from mote.ir.ops.matrix.accumulators import wide_parts
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.transpose_conv import TransposeConv

Layer = Conv2D | DepthwiseConv2D | FullyConnected | TransposeConv


@dataclass(frozen=True, eq=False)
class Requantization:
    """The requantization of a layer's accumulators to its outputs."""

    mult: NDArray[np.int32]
    shift: NDArray[np.int32]
    """Shift per channel; negative shifts go to the right."""
    input_offset: int
    """The negated zero point of the inputs."""
    output_offset: int
    low: int
    high: int
    once: bool
    """Whether it rounds only once, halves up; else also after the multiplication."""

    @property
    def blobs(self) -> tuple[Blob, Blob]:
        return Blob("mult", self.mult), Blob("shift", self.shift)

    @property
    def per_tensor(self) -> bool:
        """Whether all channels share one multiplier and shift."""
        return bool(np.all(self.mult == self.mult[0]) and np.all(self.shift == self.shift[0]))


def requantization(graph: Graph, op: Layer) -> Requantization | Refusal:
    """The requantization of an int8 layer, or an int16 layer with int8 weights, with LiteRT's results; or the reason
    why there is none."""
    x, w, y = op.input(graph), op.input(graph, 1), op.output(graph)
    if x.dtype not in (DType.INT8, DType.INT16) or y.dtype != x.dtype or w.dtype != DType.INT8 or w.data is None:
        return Refusal(f"it computes int8 and int16 with constant int8 weights, not {x.dtype} with {w.dtype}")
    if op.rounding is Rounding.EVEN:
        return Refusal("it does not round to even")
    peak = graph.peak(op)
    if peak is not None and peak.wraps:
        return Refusal("sums may leave 32 bits")
    low, high = quantized_range(op.activation, y)
    mult, shift = channel_scales(x, w, y, y.channels)
    once = op.rounding is Rounding.ONCE
    if x.dtype == DType.INT8:
        sums = op.sums(graph, graph.ranges[x.id])
        if not np.all(sums.exact):
            return Refusal("no multiplier rounds its results as LiteRT does, which computes them in double precision")
        mult, shift = sums.mult, sums.shift
    elif problem := _wide_problem(graph, op):
        return Refusal(problem)
    return Requantization(mult.astype(np.int32), shift.astype(np.int32), -x.zero_point, y.zero_point, low, high, once)


def _wide_problem(graph: Graph, op: Layer) -> str:
    """Why an int16 layer cannot be computed with 32-bit products, 64-bit biases and 15-bit multipliers; empty if it
    can."""
    x, w, y = op.input(graph), op.input(graph, 1), op.output(graph)
    assert w.data is not None
    if op.rounding is Rounding.ONCE:
        return "LiteRT scales its sums in double precision, and not with a multiplier of 15 bits"
    if not wide_sums(graph, op):
        return "its biases have 32 bits"
    bias = bias_values(op.tensor(graph, 2), y.channels)
    axis = w.data.ndim - 1 if isinstance(op, DepthwiseConv2D) else 0
    largest = wide_parts(w.data, axis, bias)
    if wide_parts(w.data, axis, 0 * bias) > INT32_MAX or largest * real_scales(x, w, y, y.channels).max() > 1 << 29:
        return "sums may leave 32 bits"
    return ""


def bias_blob(graph: Graph, op: Layer) -> Blob:
    """The biases of a layer as a constant: zeros if it has none; 64-bit for int16 layers."""
    kind = np.int64 if op.input(graph).dtype == DType.INT16 else np.int32
    return Blob("bias", bias_values(op.tensor(graph, 2), op.output(graph).channels).astype(kind))


def weights_blob(graph: Graph, op: Layer) -> Blob:
    data = op.input(graph, 1).data
    assert data is not None
    return Blob("weights", data)
