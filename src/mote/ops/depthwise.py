"""DEPTHWISE_CONV_2D."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mote.frontends.tflite import Node, UnsupportedNodeError, parses
from mote.graph import Graph, Op
from mote.graph.tensor import Array, Shape
from mote.ops.common import (
    WindowOp,
    bias_values,
    channel_scales,
    channel_structs,
    float_bias,
    float_range,
    image_shape,
    output_params,
    pad_to,
    weight_problem,
    window_axes,
)
from mote.ops.conv import finish
from mote.plan.kernel import Call, Kernel, Layout, Lowering

PLANAR_WIDTH = 23
"""With DSP instructions planar rows pay off (measured) from this many outputs on whose window lies inside the image."""


@dataclass(frozen=True, kw_only=True)
class DepthwiseConv2D(WindowOp):
    """Each channel convolved by itself; output channel c reads input channel c // multiplier."""

    multiplier: int = 1
    activation: str = "NONE"
    kind = "DEPTHWISE_CONV_2D"

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g).shape
        return [(x[0], *self.spatial(g), x[3] * self.multiplier)]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.vertical.kernel * self.horizontal.kernel

    def unsupported(self, g: Graph) -> str | None:
        return weight_problem(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        zero = self.input(g).zero_point
        patches = self.windows(x, zero).astype(np.float64) - zero
        patches = np.repeat(patches, self.multiplier, axis=3)
        sums = np.einsum("nyxckl,klc->nyxc", patches, w[0].astype(np.float64), optimize=True)
        return [finish(g, self, sums, self.activation)]

    def lower(self, g: Graph, how: Lowering) -> Kernel:
        x, y, bias = self.input(g), self.output(g), self.tensor(g, 2)
        weights = self.input(g, 1).data
        assert weights is not None
        channels, taps = y.shape[3], self.vertical.kernel
        params = self.window_params(g)
        if x.dtype == "float32":
            low, high = float_range(self.activation)
            params |= {"in_channels": x.shape[3], "channels": channels, "multiplier": self.multiplier}
            params |= {"low": low, "high": high, "weights": weights[0], "bias": float_bias(bias, channels)}
            return Kernel("depthwise_f32", params, Call.ROWS, row="depthwise_f32_row", taps=taps)
        scales = channel_scales(x, self.input(g, 1), y, channels)
        constants = channel_structs(bias_values(bias, channels), *scales)
        params |= {"channels": channels, "in_zero": x.zero_point, "channel": constants}
        params |= {"output": output_params(self.activation, y, constants)}
        if how.reads is Layout.PLANAR:
            pixel, channel = how.writes.steps(y.shape)
            params |= {"pixel": pixel, "channel_step": channel, "weights": _by_channel(weights[0])}
            layouts: dict[str, Any] = {"reads": how.reads, "writes": how.writes}
            row = "depthwise_planar_s8_row"
            return Kernel("depthwise_planar_s8", params, Call.ROWS, row=row, taps=taps, dsp=True, **layouts)
        params |= {"in_channels": x.shape[3], "multiplier": self.multiplier, "weights": _by_four(weights[0])}
        if self.adds(g, how):
            return Kernel("depthwise_add_s8", params, Call.ADDS, sums=4 * y.size, dsp=True)
        return Kernel("depthwise_s8", params, Call.ROWS, row="depthwise_s8_row", taps=taps, dsp=True)

    def preferred(self, g: Graph, how: Lowering) -> Layout | None:
        """Planar rows where windows are three wide and rows long enough for blocks of four outputs."""
        h = self.horizontal
        fits = (h.kernel, h.dilation, self.multiplier) == (3, 1, 1) and h.stride in (1, 2) and h.before < 3
        inside = (self.input(g).shape[2] - 3) // h.stride + 1
        worth = "dsp" in how.features and inside >= PLANAR_WIDTH and how.optimize != "size"
        return Layout.PLANAR if fits and worth and self.input(g).dtype == "int8" else None


def _by_four(weights: Array) -> Array:
    """[kernel rows, kernel columns, channels] as [blocks of 4 channels][tap][4]."""
    taps = weights.reshape(-1, weights.shape[2])
    blocks = pad_to(taps, 1, 4).reshape(taps.shape[0], -1, 4).transpose(1, 0, 2)
    return np.ascontiguousarray(blocks).reshape(-1)


def _by_channel(weights: Array) -> Array:
    """[kernel rows, 3, channels] as [channel][row][4]."""
    return np.ascontiguousarray(pad_to(weights.transpose(2, 0, 1), 2, 4)).reshape(-1)


@parses("DEPTHWISE_CONV_2D")
def parse(node: Node) -> Op:
    node.arity(range(2, 4))
    *_, channels = image_shape(node.tensors[node.inputs[0]].shape, "the input")
    _, height, width, outputs = image_shape(node.tensors[node.inputs[1]].shape, "the weights")
    if outputs % channels:
        raise UnsupportedNodeError(f"{outputs} output channels are no multiple of {channels} input channels")
    vertical, horizontal = window_axes(node, (height, width), dilations=(5, 6))
    return DepthwiseConv2D(
        **node.same(),
        vertical=vertical,
        horizontal=horizontal,
        multiplier=outputs // channels,
        activation=node.activation(4),
    )
