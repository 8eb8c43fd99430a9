"""DEPTHWISE_CONV_2D."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mote.graph import Graph
from mote.graph.fixedpoint import Ints
from mote.graph.ranges import Range
from mote.graph.tensor import Array, Shape
from mote.graph.types import Activation, DType
from mote.ops.common import (
    WindowOp,
    bias_values,
    channel_scales,
    channel_structs,
    float_bias,
    float_range,
    output_params,
    pad_to,
    weight_problem,
)
from mote.ops.conv import finish
from mote.ops.depthwise_column import lower_column
from mote.ops.depthwise_planar import lower_planar, planar_layout
from mote.ops.depthwise_time import lower_time
from mote.ops.narrow import Sums
from mote.ops.sums import layer_range, layer_sums, window_ends
from mote.plan.kernel import Call, Kernel, Layout, Lowering


@dataclass(frozen=True, kw_only=True)
class DepthwiseConv2D(WindowOp):
    """Each channel convolved by itself; output channel c reads input channel c // multiplier."""

    multiplier: int = 1
    activation: Activation = Activation.NONE
    kind = "DEPTHWISE_CONV_2D"
    pads_with_zero = True

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        return [(x[0], *self.spatial(g), x[3] * self.multiplier)]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.vertical.kernel * self.horizontal.kernel

    def unsupported(self, g: Graph) -> str | None:
        return weight_problem(g, self)

    def sums(self, g: Graph, inputs: Range) -> Sums:
        x, w = self.input(g), self.input(g, 1)
        assert w.data is not None
        ends = [np.repeat(e - x.zero_point, self.multiplier) * w.data[0] for e in (inputs.low, inputs.high)]
        return layer_sums(g, self, window_ends((np.minimum(*ends), np.maximum(*ends)), *self.present(g)))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return layer_range(g, self, self.activation, self.sums(g, inputs[0])) if inputs[0] else None

    def threads(self, g: Graph) -> dict[int, Ints] | None:
        return {0: np.arange(self.output(g).channels) // self.multiplier}

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        zero = self.input(g).zero_point
        patches = self.windows(x, zero).astype(np.float64) - zero
        patches = np.repeat(patches, self.multiplier, axis=3)
        sums = np.einsum("nyxckl,klc->nyxc", patches, w[0].astype(np.float64), optimize=True)
        return [finish(g, self, sums, self.activation)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, values)

    def lower(self, g: Graph, how: Lowering) -> Kernel:
        x, y, bias = self.input(g), self.output(g), self.tensor(g, 2)
        weights = self.input(g, 1).data
        assert weights is not None
        channels, taps = y.shape[3], self.vertical.kernel
        params = self.window_params(g)
        if x.dtype == DType.FLOAT32:
            low, high = float_range(self.activation)
            params |= {"in_channels": x.shape[3], "channels": channels, "multiplier": self.multiplier}
            params |= {"low": low, "high": high, "weights": weights[0], "bias": float_bias(bias, channels)}
            return Kernel("depthwise_f32", params, Call.ROWS, row="depthwise_f32_row", taps=taps)
        scales = channel_scales(x, self.input(g, 1), y, channels)
        constants = channel_structs(bias_values(bias, channels), *scales)
        params |= {"channels": channels, "in_zero": x.zero_point, "channel": constants}
        params |= {"output": output_params(self.activation, y, constants)}
        params |= {"in_channels": x.shape[3], "multiplier": self.multiplier, "weights": _by_four(weights[0])}
        if self.adds(g, how):
            return Kernel("depthwise_add_s8", params, Call.ADDS, sums=4 * y.size, dsp=True)
        row = "depthwise_s8_row"
        return Kernel("depthwise_s8", params, Call.ROWS, row=row, taps=taps, family="depthwise", dsp=True)

    def variants(self, g: Graph, how: Lowering) -> list[Kernel]:
        if how.reads.planar:
            found = [lower_planar(g, self, how, compact=compact) for compact in (False, True)]
        else:
            found = [self.lower(g, how), *(self._over_time(g, how) if "dsp" in how.features else [])]
        return [kernel for kernel in found if kernel is not None]

    def _over_time(self, g: Graph, how: Lowering) -> list[Kernel]:
        """All rows at once, and one by one: where that is the only way, or flash is what counts."""
        at_once = lower_time(g, self, how)
        one_by_one = lower_column(g, self, how) if at_once is None or how.optimize == "size" else []
        return [*([at_once] if at_once else []), *one_by_one]

    def preferred(self, g: Graph, how: Lowering) -> Layout | None:
        """Planar rows, where there is a kernel for them."""
        if "dsp" not in how.features or self.input(g).dtype != DType.INT8:
            return None
        layout = planar_layout(g, self)
        over_time = len(self.kernels(g, replace(how, reads=Layout.NHWC))) > 1
        return layout if layout and not over_time and self.kernels(g, replace(how, reads=layout)) else None


def _by_four(weights: Array) -> Array:
    """[kernel rows, kernel columns, channels] as [blocks of 4 channels][tap][4]."""
    taps = weights.reshape(-1, weights.shape[2])
    blocks = pad_to(taps, 1, 4).reshape(taps.shape[0], -1, 4).transpose(1, 0, 2)
    return np.ascontiguousarray(blocks).reshape(-1)
