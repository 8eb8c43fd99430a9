"""TRANSPOSE_CONV: the input gradient of a convolution, used for upsampling.

Input pixel i contributes to outputs i * stride - before .. + kernel - 1. For an output o, with o' = o + before, the
contributing inputs are o' // stride and those before it, through the taps o' % stride, + stride, + 2 stride ... So all
outputs with the same remainder (phase) are an ordinary convolution of stride 1 with every stride-th tap of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.rows import OUTSIDE, inside
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, Rounding
from mote.ir.ops.common import Axis, weight_problem
from mote.ir.ops.matrix.accumulators import Accumulators, layer_peak, layer_range, layer_sums, narrow_peak, products
from mote.ir.ops.windows.conv import finish

TAP = 10_000
"""Estimated cost of one kernel tap in the reference, in multiplications."""


class TransposeConv(Op):
    """TRANSPOSE_CONV. Inputs: images, [out, kh, kw, in] weights, bias (in another order than in the file). `vertical`
    and `horizontal` are the axes of the forward convolution, from images of the output's `size` to the input's."""

    size: tuple[int, int]
    vertical: Axis
    horizontal: Axis
    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TWICE
    kind = "TRANSPOSE_CONV"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).shape[0], *self.size, self.input(g, 1).shape[0])]

    def macs(self, g: Graph) -> int:
        n, height, width, _ = self.input(g).shape
        return n * height * width * self.input(g, 1).size

    def work(self, g: Graph) -> int:
        """Estimated cost in multiplications: kernel taps are computed one by one."""
        return self.macs(g) + TAP * self.vertical.kernel * self.horizontal.kernel

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """The input rows that contribute to output row y, from top to bottom, then OUTSIDE up to the number of taps of
        the longest phase."""
        height, v = self.input(g).shape[1], self.vertical
        image, row = divmod(y, self.size[0])
        last, phase = divmod(row + v.before, v.stride)
        count = len(range(phase, v.kernel, v.stride))
        rows = [inside(r, height) for r in range(last - count + 1, last + 1)]
        rows += [OUTSIDE] * (self.taps - count)
        return tuple(r if r == OUTSIDE else r + image * height for r in rows)

    @property
    def taps(self) -> int:
        """Maximum number of input rows that contribute to an output row (taps of the longest phase)."""
        return -(-self.vertical.kernel // self.vertical.stride)

    def unsupported(self, g: Graph) -> str | None:
        if problem := weight_problem(g, self):
            return problem
        sizes = (self.vertical.size(self.size[0]), self.horizontal.size(self.size[1]))
        if sizes != self.input(g).shape[1:3]:
            return f"an output of {self.size} comes from images of {sizes}, not {self.input(g).shape[1:3]}"
        return None

    def columns(self, g: Graph) -> Ints | None:
        """Input channel of each index of the weights' last axis."""
        return np.arange(self.input(g).channels, dtype=np.int64)

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        """Accumulators whose range covers sums over any subset of the kernel taps."""
        x, w = self.input(g), self.input(g, 1)
        assert w.data is not None
        low, high = products(w.data, inputs.low - x.zero_point, inputs.high - x.zero_point)
        ends = np.minimum(low, 0).sum(axis=(1, 2)), np.maximum(high, 0).sum(axis=(1, 2))
        return layer_sums(g, self, ends, self.rounding)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return layer_range(g, self, self.activation, self.sums(g, inputs[0])) if inputs[0] else None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        return layer_peak(g, self, self.sums(g, inputs[0])) if inputs[0] else narrow_peak(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        v, h = self.vertical, self.horizontal
        n, height, width, _ = x.shape
        images = x.astype(np.float64) - self.input(g).zero_point
        rows = max((height - 1) * v.stride + v.kernel, v.before + self.size[0])
        columns = max((width - 1) * h.stride + h.kernel, h.before + self.size[1])
        sums = np.zeros((n, rows, columns, w.shape[0]))
        for ky in range(v.kernel):
            for kx in range(h.kernel):
                outputs = sums[:, ky :: v.stride, kx :: h.stride]
                outputs[:, :height, :width] += images @ w[:, ky, kx].astype(np.float64).T
        cropped = sums[:, v.before : v.before + self.size[0], h.before : h.before + self.size[1]]
        return [finish(g, self, values, cropped, self.activation, self.rounding)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, values)
