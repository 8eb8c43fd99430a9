"""FULLY_CONNECTED."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from mote.frontends.tflite import Node, UnsupportedNodeError, parses
from mote.graph import Graph, Op
from mote.graph.fixedpoint import Ints, rescale, rescale_once, wrap32
from mote.graph.flow import Flow, Increment, pointwise
from mote.graph.ranges import Range
from mote.graph.tensor import Array, Shape
from mote.ops.common import (
    bias_values,
    channel_scales,
    channel_structs,
    float_bias,
    float_range,
    int8_range,
    interleave,
    output_params,
    pad_to,
    weight_problem,
)
from mote.ops.conv import finish
from mote.ops.narrow import Sums
from mote.ops.sums import layer_range, layer_sums, products
from mote.plan.kernel import Call, Kernel, Lowering, Structs, Value, units_of


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

    def increment(self, g: Graph, flows: Mapping[int, Flow], causal: bool) -> Increment | None:
        """Vectors of a stream, where the axis is still one of the output."""
        flow, x = flows[0], self.input(g).shape
        if flow.axis == len(x) - 1 or x[-1] != self.input(g, 1).shape[1]:
            return None
        if self.keep_dims or len(x) == 2:
            return pointwise(self, flows)
        return Increment(self, flow.on(0), {0: flow.fresh}) if prod(x[:-1]) == flow.size else None

    def unsupported(self, g: Graph) -> str | None:
        return weight_problem(g, self)

    def columns(self, g: Graph) -> Ints | None:
        """The input's channel that each column of the weights belongs to; None where columns are no whole pixels."""
        channels, depth = self.input(g).channels, self.input(g, 1).shape[1]
        return None if depth % channels else np.arange(depth) % channels

    def sums(self, g: Graph, inputs: Range) -> Sums:
        x, w, columns = self.input(g), self.input(g, 1), self.columns(g)
        assert w.data is not None
        if columns is None:
            columns, inputs = np.zeros(w.shape[1], np.int64), inputs.hull
        ends = products(w.data, inputs.low[columns] - x.zero_point, inputs.high[columns] - x.zero_point)
        return layer_sums(g, self, ends, once=self.rounding == "once")

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return layer_range(g, self, self.activation, self.sums(g, inputs[0])) if inputs[0] else None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        vectors = x.reshape(-1, w.shape[1]).astype(np.float64) - self.input(g).zero_point
        sums = vectors @ w.astype(np.float64).T
        scale = rescale_once if self.rounding == "once" else rescale
        return [finish(g, self, sums, self.activation, scale)]

    def lower(self, g: Graph, how: Lowering) -> Kernel:
        return self.variants(g, how)[0]

    def variants(self, g: Graph, how: Lowering) -> list[Kernel]:
        """The first one takes no more flash than the model's weights, and the least working memory."""
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        if x.dtype == "float32":
            return [self._real(g)]
        assert w.data is not None
        start = bias_values(self.tensor(g, 2), w.shape[0]) - x.zero_point * w.data.astype(np.int64).sum(axis=1)
        channel = channel_structs(start, *channel_scales(x, w, y, w.shape[0]))
        least = 1 if self.rounding == "once" else 0
        plain = int8_range(self.activation, y) == (-128, 127) and channel.rows[:, 2].min() >= least
        four = "dsp" in how.features and plain
        if four and pairs_fit(w.data, channel.rows[:, 0]):
            small = self._four(g, channel.rows, wide=False)
        else:
            small = [self._portable(g, channel)]
        return [*small, *self._four(g, channel.rows, wide=True)] if four else small

    def _real(self, g: Graph) -> Kernel:
        w = self.input(g, 1)
        assert w.data is not None
        channels, depth = w.shape
        low, high = float_range(self.activation)
        params: dict[str, Value] = {
            "depth": depth,
            "channels": channels,
            "low": low,
            "high": high,
            "weights": w.data,
            "bias": float_bias(self.tensor(g, 2), channels),
        }
        return Kernel("fully_connected_f32", params, Call.FLAT, units_of(self.input(g).shape, depth))

    def _portable(self, g: Graph, channel: Structs) -> Kernel:
        w = self.input(g, 1)
        assert w.data is not None
        params: dict[str, Value] = {
            "depth": w.shape[1],
            "channels": w.shape[0],
            "round_once": int(self.rounding == "once"),
            "output": output_params(self.activation, self.output(g)),
            "weights": interleave(w.data, 4),
            "channel": channel,
        }
        vectors = units_of(self.input(g).shape, w.shape[1])
        return Kernel("fully_connected_s8", params, Call.FLAT, vectors, family="fully_connected", dsp=True)

    def _four(self, g: Graph, channel: Ints, *, wide: bool) -> list[Kernel]:
        """Four outputs at a time: with inputs that are widened as they are read, and once."""
        w, y = self.input(g, 1), self.output(g)
        assert w.data is not None
        channels, inputs = w.shape
        start, mult, shift = channel.T
        if self.rounding == "once":
            scale = four_scales(mult, shift - 1, 0 if wide else 8)
        else:
            scale = four_scales(mult << 1, shift, 0)
        weights = four_outputs(w.data, start, wide=wide)
        depth = inputs + -inputs % DEPTH
        params: dict[str, Value] = {
            "inputs": inputs,
            "channels": channels,
            "depth": depth,
            "block": weights.shape[1],
            "zero": 2 * y.zero_point + 1,
            "step": 8 if len(scale) > 1 else 0,
            "scale": scale.reshape(-1),
            "weights": weights.reshape(-1),
        }
        kind = "fully_connected4_wide" if wide else "fully_connected4"
        name = kind if self.rounding == "once" else f"{kind}_twice"
        vectors, header = units_of(self.input(g).shape, inputs), "fully_connected4_s8"
        found = []
        if inputs == depth:
            found.append(Kernel(f"{name}_s8", params, Call.FLAT, vectors, header=header, family=kind, dsp=True))
        if inputs < depth or channels >= WORTH_WIDENING:
            family, room = f"{kind}_roomy", 2 * depth
            found.append(
                Kernel(
                    f"{name}_roomy_s8", params, Call.FLAT, vectors, scratch=room, header=header, family=family, dsp=True
                )
            )
        return found


DEPTH = 8
"""`mote_fully_connected4_s8` multiplies this many inputs at a time."""
WORTH_WIDENING = 8
"""Of fewer outputs inputs need not be widened once for all."""


def pairs_fit(weights: NDArray[np.int8], start: Ints) -> bool:
    """Whether two outputs' weights fit a half word, w0 + 256 * w1, and their sums a register."""
    matrix = weights.astype(np.int64)
    most = start + np.maximum(127 * matrix, -128 * matrix).sum(axis=1)
    least = start + np.minimum(127 * matrix, -128 * matrix).sum(axis=1)
    largest = int(np.maximum(np.abs(most), np.abs(least)).max())
    return bool(matrix.min() > -128) and 257 * largest < 1 << 31


def four_scales(mult: Ints, shift: Ints, more: int) -> NDArray[np.int32]:
    """Multiplier and shift of four outputs in a row, one row where all are the same. Every other output's sum comes
    shifted left by `more`."""
    fours = [np.pad(a, (0, -len(a) % 4), "edge").reshape(-1, 4) for a in (wrap32(mult), shift)]
    rows = np.stack([fours[0], np.minimum(fours[1] + more * (np.arange(4) % 2), 31)], axis=2).astype(np.int32)
    return rows[:1] if np.all(rows == rows[0]) else rows


def four_outputs(matrix: NDArray[np.int8], start: Ints, *, wide: bool) -> NDArray[np.int32]:
    """Weights for `mote_fully_connected4_s8`, four outputs in a row: where their sums start, then words of two weights
    of each output, or pair of outputs, in turn."""
    starts = pad_to(start, 0, 4).reshape(-1, 4)
    lanes = pad_to(pad_to(matrix.astype(np.int64), 0, 4), 1, DEPTH)
    if not wide:
        starts[:, 1::2] = starts[:, 0::2] + 256 * starts[:, 1::2]
        lanes = lanes[0::2] + 256 * lanes[1::2]
    ordered = lanes.reshape(len(lanes), -1, 4)[:, :, [0, 2, 1, 3]]
    pairs = ordered.reshape(len(starts), len(lanes) // len(starts), -1, 2).transpose(0, 2, 1, 3)
    words = (pairs[..., 0] & 0xFFFF | pairs[..., 1] << 16).reshape(len(starts), -1)
    return np.concatenate([wrap32(starts), words], axis=1).astype(np.int32)


@parses("FULLY_CONNECTED")
def parse(node: Node) -> Op:
    node.arity(range(2, 4))
    x, w = (node.tensors[i] for i in node.inputs[:2])
    if len(w.shape) != 2 or x.size % w.shape[1]:
        raise UnsupportedNodeError(f"weights {w.shape} do not fit an input of shape {x.shape}")
    if node.integer(1, fmt="b") != 0:
        raise UnsupportedNodeError("shuffled weights are not supported")
    return FullyConnected(**node.same(), activation=node.activation(0), keep_dims=node.flag(2))
