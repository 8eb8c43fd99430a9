"""FULLY_CONNECTED."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from mote.graph import Graph, Op
from mote.graph.fixedpoint import Ints, rescale, rescale_once
from mote.graph.flow import Flow
from mote.graph.graph import Increment
from mote.graph.ranges import Range
from mote.graph.tensor import Array, Shape
from mote.graph.types import Activation, DType, Rounding
from mote.ops.analysis import pointwise
from mote.ops.coding import encode
from mote.ops.common import (
    bias_values,
    channel_scales,
    channel_structs,
    float_bias,
    float_range,
    int8_range,
    interleave,
    output_params,
    weight_problem,
)
from mote.ops.conv import finish
from mote.ops.narrow import Sums
from mote.ops.sums import layer_range, layer_sums, products
from mote.ops.vector import Matrix
from mote.plan.kernel import Call, Coding, Kernel, Lowering, Structs, Value, units_of


@dataclass(frozen=True, kw_only=True)
class FullyConnected(Op):
    """[.., depth] x [channels, depth]: LiteRT rounds the result once, TensorFlow Lite Micro twice."""

    activation: Activation = Activation.NONE
    keep_dims: bool = False
    rounding: Rounding = Rounding.ONCE
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
        return layer_sums(g, self, ends, once=self.rounding == Rounding.ONCE)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return layer_range(g, self, self.activation, self.sums(g, inputs[0])) if inputs[0] else None

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w = values[0], values[1]
        assert x is not None and w is not None
        vectors = x.reshape(-1, w.shape[1]).astype(np.float64) - self.input(g).zero_point
        sums = vectors @ w.astype(np.float64).T
        scale = rescale_once if self.rounding == Rounding.ONCE else rescale
        return [finish(g, self, sums, self.activation, scale)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.with_(activation=Activation.NONE).evaluate(g, values)

    def lower(self, g: Graph, how: Lowering) -> Kernel:
        return self.variants(g, how)[0]

    def variants(self, g: Graph, how: Lowering) -> list[Kernel]:
        """The first one has weights of one byte, and the least working memory."""
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        if x.dtype == DType.FLOAT32:
            return [self._real(g)]
        assert w.data is not None
        channel = self._channels(g)
        plain = "dsp" in how.features and int8_range(self.activation, y) == (-128, 127)
        matrix = Matrix(w.data, channel.rows, self.sums(g, g.ranges[x.id]))
        pairs, wide = (
            matrix.kernels(units_of(x.shape, w.shape[1]), wide=wide) if plain else [] for wide in (False, True)
        )
        portable = [] if pairs and w.shape[0] >= 4 else [self._portable(g, channel)]
        return [*pairs, *portable, *wide]

    def coded(self, g: Graph, how: Lowering) -> list[Kernel]:
        x, w = self.input(g), self.input(g, 1)
        if x.dtype == DType.FLOAT32:
            return []
        assert w.data is not None
        code = encode(w.data)
        channel = self._channels(g)
        scale = channel.rows[:, 1:].astype(np.int32)
        same = bool(np.all(scale == scale[0]))
        params: dict[str, Value] = {
            "depth": w.shape[1],
            "channels": w.shape[0],
            "round_once": int(self.rounding == Rounding.ONCE),
            "output": output_params(self.activation, self.output(g)),
            "code": code.params,
            "start": channel.rows[:, 0].astype(np.int32),
            "scale": scale[0] if same else scale.reshape(-1),
            "step": 0 if same else 2,
        }
        vectors = units_of(x.shape, w.shape[1])
        coding = Coding(vectors * code.symbols)
        family = "fully_connected_coded"
        return [Kernel(f"{family}_s8", params, Call.FLAT, vectors, family=family, coding=coding)]

    def _channels(self, g: Graph) -> Structs:
        """`mote_channel_t`: the input's zero point is folded into the bias."""
        x, w, y = self.input(g), self.input(g, 1), self.output(g)
        assert w.data is not None
        start = bias_values(self.tensor(g, 2), w.shape[0]) - x.zero_point * w.data.astype(np.int64).sum(axis=1)
        return channel_structs(start, *channel_scales(x, w, y, w.shape[0]))

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
        fours = w.shape[0] // 4 * 4
        params: dict[str, Value] = {
            "depth": w.shape[1],
            "channels": w.shape[0],
            "round_once": int(self.rounding == Rounding.ONCE),
            "output": output_params(self.activation, self.output(g)),
            "weights": np.concatenate([interleave(w.data[:fours], 4), w.data[fours:].reshape(-1)]),
            "channel": channel,
        }
        vectors = units_of(self.input(g).shape, w.shape[1])
        return Kernel("fully_connected_s8", params, Call.FLAT, vectors, family="fully_connected", dsp=True)
