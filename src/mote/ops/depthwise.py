"""DEPTHWISE_CONV_2D."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        assert w.data is not None
        params = {
            **self.window_params(g),
            "in_channels": x.shape[3],
            "channels": y.shape[3],
            "multiplier": self.multiplier,
        }
        bias = self.tensor(g, 2)
        if x.dtype == "float32":
            low, high = float_range(self.activation)
            params |= {"low": low, "high": high, "weights": w.data[0], "bias": float_bias(bias, y.shape[3])}
            return Kernel("depthwise_f32", params, Call.ROWS, taps=self.vertical.kernel)
        channels = y.shape[3]
        if how.reads is Layout.PLANAR:
            return self._lower_planar(g, how)
        taps = w.data.reshape(-1, channels)
        blocks = pad_to(taps, 1, 4).reshape(taps.shape[0], -1, 4).transpose(1, 0, 2)
        constants = channel_structs(bias_values(bias, channels), *channel_scales(x, w, y, channels))
        params |= {
            "in_zero": x.zero_point,
            "output": output_params(self.activation, y, constants),
            "weights": np.ascontiguousarray(blocks).reshape(-1),
            "channel": constants,
        }
        return Kernel("depthwise_s8", params, Call.ROWS, taps=self.vertical.kernel, dsp=True)

    def preferred(self, g: Graph, how: Lowering) -> Layout | None:
        """Planar rows where windows are three wide and rows long enough for blocks of four outputs."""
        h = self.horizontal
        fits = (h.kernel, h.dilation, self.multiplier) == (3, 1, 1) and h.stride in (1, 2) and h.before < 3
        inside = (self.input(g).shape[2] - 3) // h.stride + 1
        worth = "dsp" in how.features and inside >= PLANAR_WIDTH and how.optimize != "size"
        return Layout.PLANAR if fits and worth and self.input(g).dtype == "int8" else None

    def _lower_planar(self, g: Graph, how: Lowering) -> Kernel:
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        assert w.data is not None
        channels = y.shape[3]
        pixel, channel = how.writes.steps(y.shape)
        constants = channel_structs(bias_values(self.tensor(g, 2), channels), *channel_scales(x, w, y, channels))
        by_channel = pad_to(w.data[0].transpose(2, 0, 1), 2, 4)
        params = {
            **self.window_params(g),
            "channels": channels,
            "in_zero": x.zero_point,
            "pixel": pixel,
            "channel_step": channel,
            "output": output_params(self.activation, y, constants),
            "weights": np.ascontiguousarray(by_channel).reshape(-1),
            "channel": constants,
        }
        taps = self.vertical.kernel
        return Kernel("depthwise_planar_s8", params, Call.ROWS, taps=taps, reads=how.reads, writes=how.writes, dsp=True)


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
