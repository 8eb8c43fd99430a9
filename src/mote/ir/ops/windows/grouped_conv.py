"""Grouped CONV_2D: each group of output channels reads one group of input channels."""

from __future__ import annotations

from collections.abc import Sequence

from mote.ir.graph import Graph
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, Rounding
from mote.ir.ops.common import weight_problem
from mote.ir.ops.matrix.accumulators import Accumulators, layer_peak, layer_range, layer_sums, narrow_peak
from mote.ir.ops.windows.conv import finish
from mote.ir.ops.windows.grouped_window import GroupedWindow


class GroupedConv2D(GroupedWindow):
    """Grouped CONV_2D of NHWC images with [out, kh, kw, in per group] weights; padded with the zero point."""

    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TWICE

    def unsupported(self, g: Graph) -> str | None:
        outputs, groups = self.input(g, 1).shape[0], self.groups(g)
        if outputs % groups:
            return f"{outputs} output channels cannot be divided into {groups} groups"
        return weight_problem(g, self)

    def sums(self, g: Graph, inputs: Range) -> Accumulators:
        return layer_sums(g, self, self.ends(g, inputs), self.rounding)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return layer_range(g, self, self.activation, self.sums(g, inputs[0])) if inputs[0] else None

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        return layer_peak(g, self, self.sums(g, inputs[0])) if inputs[0] else narrow_peak(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return [finish(g, self, values, self.window_sums(g, values), self.activation, self.rounding)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, values)
