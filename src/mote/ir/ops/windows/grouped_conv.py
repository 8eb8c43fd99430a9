"""Grouped CONV_2D: each group of output channels reads one group of input channels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, Rounding
from mote.ir.ops.common import WindowOp, weight_problem
from mote.ir.ops.matrix.accumulators import (
    Accumulators,
    layer_peak,
    layer_range,
    layer_sums,
    narrow_peak,
    products,
    window_ends,
)
from mote.ir.ops.windows.conv import finish


class GroupedConv2D(WindowOp):
    """Grouped CONV_2D of NHWC images with [out, kh, kw, in per group] weights; padded with the zero point."""

    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TWICE
    kind = "CONV_2D"
    pads_with_zero = True

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).shape[0], *self.spatial(g), self.input(g, 1).shape[0])]

    def groups(self, g: Graph) -> int:
        return self.input(g).shape[3] // self.input(g, 1).shape[3]

    def macs(self, g: Graph) -> int:
        w = self.input(g, 1)
        return self.output(g).size * (w.size // w.shape[0])

    def unsupported(self, g: Graph) -> str | None:
        outputs, groups = self.input(g, 1).shape[0], self.groups(g)
        if outputs % groups:
            return f"{outputs} output channels cannot be divided into {groups} groups"
        return weight_problem(g, self)

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        x, w, groups = self.input(g), self.input(g, 1), self.groups(g)
        assert w.data is not None
        low, high = (np.split(end - x.zero_point, groups) for end in (inputs.low, inputs.high))
        ends = [products(part, *read) for part, *read in zip(np.split(w.data, groups), low, high, strict=True)]
        least, most = (np.concatenate(end).transpose(1, 2, 0) for end in zip(*ends, strict=True))
        return layer_sums(g, self, window_ends((least, most), *self.present(g)), self.rounding)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return layer_range(g, self, self.activation, self.sums(g, inputs[0])) if inputs[0] else None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        return layer_peak(g, self, self.sums(g, inputs[0])) if inputs[0] else narrow_peak(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        zero, groups = self.input(g).zero_point, self.groups(g)
        weights = w.astype(np.float64).reshape(groups, w.shape[0] // groups, *w.shape[1:])
        sums = []
        for patches in self.windows(x, zero):
            n, rows, columns, _, *kernel = patches.shape
            grouped = (patches.astype(np.float64) - zero).reshape(n, rows, columns, groups, -1, *kernel)
            total = np.einsum("nyxgckl,goklc->nyxgo", grouped, weights, optimize=True)
            sums.append(total.reshape(n, rows, columns, -1))
        return [finish(g, self, values, np.concatenate(sums, axis=1), self.activation, self.rounding)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, values)
