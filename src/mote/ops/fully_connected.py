"""FULLY_CONNECTED."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.frontends.tflite import Node, UnsupportedNodeError, parses
from mote.graph import Graph, Op
from mote.graph.fixedpoint import rescale, rescale_once
from mote.graph.tensor import Array, Shape
from mote.ops.common import (
    bias_values,
    channel_scales,
    channel_structs,
    float_bias,
    float_range,
    interleave,
    output_params,
    pair_channels,
    two_channels_fit,
    weight_problem,
)
from mote.ops.conv import finish
from mote.plan.kernel import Call, Kernel, Lowering, Value, units_of


@dataclass(frozen=True, kw_only=True)
class FullyConnected(Op):
    """[.., depth] x [channels, depth]: LiteRT rounds the result once, TensorFlow Lite Micro twice."""

    activation: str = "NONE"
    keep_dims: bool = False
    rounding: str = "once"
    kind = "FULLY_CONNECTED"

    def shapes(self, g: Graph) -> list[Shape]:
        x, (channels, depth) = self.input(g).shape, self.input(g, 1).shape
        if self.keep_dims:
            return [(*x[:-1], channels)]
        return [(units_of(x, depth), channels)]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.input(g, 1).shape[1]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if self.input(g).shape[:-1] == self.output(g).shape[:-1] else None

    def unsupported(self, g: Graph) -> str | None:
        return weight_problem(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        vectors = x.reshape(-1, w.shape[1]).astype(np.float64) - self.input(g).zero_point
        sums = vectors @ w.astype(np.float64).T
        scale = rescale_once if self.rounding == "once" else rescale
        return [finish(g, self, sums, self.activation, scale)]

    def lower(self, g: Graph, how: Lowering) -> Kernel:
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        assert w.data is not None
        channels, depth = w.shape
        vectors = units_of(x.shape, depth)
        bias = self.tensor(g, 2)
        if x.dtype == "float32":
            low, high = float_range(self.activation)
            params: dict[str, Value] = {
                "depth": depth,
                "channels": channels,
                "low": low,
                "high": high,
                "weights": w.data,
                "bias": float_bias(bias, channels),
            }
            return Kernel("fully_connected_f32", params, Call.FLAT, vectors)
        sums = bias_values(bias, channels) - x.zero_point * w.data.astype(np.int64).sum(axis=1)
        constants = channel_structs(sums, *channel_scales(x, w, y, channels))
        params = {
            "depth": depth,
            "channels": channels,
            "round_once": int(self.rounding == "once"),
            "output": output_params(self.activation, y),
            "channel": constants,
        }
        if "dsp" in how.features and channels >= 8 and depth % 4 == 0 and two_channels_fit(w, constants):
            return Kernel(
                "fully_connected8_s8", {**params, "weights": eight_outputs(w.data)}, Call.FLAT, vectors, dsp=True
            )
        return Kernel("fully_connected_s8", {**params, "weights": interleave(w.data, 4)}, Call.FLAT, vectors, dsp=True)


def eight_outputs(matrix: NDArray[np.int8]) -> NDArray[np.int16]:
    """Weights for `mote_fully_connected8_s8`: [eights of outputs][fours of inputs][0 and 2, then 1 and 3][4 pairs]."""
    pairs = pair_channels(matrix, outputs=8, depth=4)
    blocks = pairs.reshape(pairs.shape[0] // 4, 4, -1, 2, 2).transpose(0, 2, 3, 1, 4)
    return np.ascontiguousarray(blocks).reshape(-1)


@parses("FULLY_CONNECTED")
def parse(node: Node) -> Op:
    node.arity(range(2, 4))
    x, w = (node.tensors[i] for i in node.inputs[:2])
    if len(w.shape) != 2 or x.size % w.shape[1]:
        raise UnsupportedNodeError(f"weights {w.shape} do not fit an input of shape {x.shape}")
    if node.integer(1, fmt="b") != 0:
        raise UnsupportedNodeError("shuffled weights are not supported")
    return FullyConnected(**node.same(), activation=node.activation(0), keep_dims=node.flag(2))
