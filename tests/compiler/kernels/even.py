"""Layers whose results are rounded to even, for tests: random ones, also with scales at which sums meet halves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from mote.ir.graph import Graph, Op, Quantization, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.common import Axis
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.transpose_conv import TransposeConv


def quantization(scale: Array | float, zero: int = 0, axis: int = 0, *, unsigned: bool = False) -> Quantization:
    scales = np.atleast_1d(np.asarray(scale, np.float32))
    return Quantization(scales, np.full(scales.size, zero, np.int64), axis, unsigned)


@dataclass
class Layers:
    """Random operators, each in a graph of its own. `halves`: all scales are powers of two."""

    seed: int
    halves: bool = False
    wide: bool = False
    """Weights have 9 bits."""
    coarse: float = 1.0
    """By how much steps of outputs are larger than usual."""
    first: int | None = None
    """The zero point of inputs, where it is given."""
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def scale(self, size: float, count: int = 1) -> Array:
        """About that large."""
        found = size * self.rng.uniform(0.6, 1.6, count)
        return np.exp2(np.round(np.log2(found))) if self.halves else found

    def zero(self) -> int:
        return int(self.rng.choice([-128, 0, int(self.rng.integers(-128, 128))]))

    def layer(self, op: type[Op], x: Shape, w: Shape, y: Shape, axis: int = 0, **more: object) -> Graph:
        """With weights, whose outputs are as spread as int8 is wide."""
        low = -int(self.rng.integers(0, 256)) if self.wide else -127
        weights = self.rng.integers(low, low + 255, w).astype(np.int16 if self.wide else np.int8)
        channels = w[axis]
        weights[(slice(None),) * axis + (slice(0, 1),)] //= 8
        depth = weights.size // channels
        scales = self.scale(0.01, channels if self.rng.random() < 0.7 and not self.wide else 1)
        size = self.coarse * 0.05 * 0.01 * float(np.sqrt(depth)) * 75.0 * 75.0 / 60.0
        bias = self.rng.integers(-2000, 2000, channels).astype(np.int32)
        dtype = DType.INT16 if self.wide else DType.INT8
        zero = self.zero() if self.first is None else self.first
        tensors = {
            0: Tensor(0, "x", x, DType.INT8, quantization(self.scale(0.05), zero)),
            1: Tensor(1, "w", w, dtype, quantization(scales, 0, axis, unsigned=self.wide), weights),
            2: Tensor(2, "b", bias.shape, DType.INT32, None, bias),
            3: Tensor(3, "y", y, DType.INT8, quantization(self.scale(size), self.zero())),
        }
        made = op(inputs=(0, 1, 2), outputs=(3,), name="y", index=0, rounding=Rounding.EVEN, **more)  # type: ignore[call-arg]
        graph = Graph("layer", tensors, (made,), (0,), (3,))
        assert made.shapes(graph) == [y], (made.shapes(graph), y)
        assert not made.unsupported(graph), made.unsupported(graph)
        return graph

    def some(self) -> Iterator[Graph]:
        """One of each kind."""
        three, one = Axis(3, before=1, after=1), Axis(1)
        yield self.layer(Conv2D, (1, 5, 6, 8), (6, 1, 1, 8), (1, 5, 6, 6), vertical=one, horizontal=one)
        yield self.layer(Conv2D, (1, 7, 6, 4), (8, 3, 3, 4), (1, 7, 6, 8), vertical=three, horizontal=three)
        two = Axis(3, 2, before=0, after=1)
        yield self.layer(Conv2D, (1, 8, 8, 3), (8, 3, 3, 3), (1, 4, 4, 8), vertical=two, horizontal=two)
        yield self.layer(Conv2D, (1, 5, 1, 8), (12, 5, 1, 8), (1, 1, 1, 12), vertical=Axis(5), horizontal=one)
        yield self.layer(DepthwiseConv2D, (1, 6, 6, 8), (1, 3, 3, 8), (1, 6, 6, 8), 3, vertical=three, horizontal=three)
        yield self.layer(DepthwiseConv2D, (1, 9, 1, 8), (1, 9, 1, 8), (1, 1, 1, 8), 3, vertical=Axis(9), horizontal=one)
        yield self.layer(FullyConnected, (3, 20), (9, 20), (3, 9))
        yield self.layer(FullyConnected, (1, 64), (16, 64), (1, 16))
        if not self.wide:
            yield self.layer(GroupedConv2D, (1, 5, 5, 8), (6, 3, 3, 4), (1, 5, 5, 6), vertical=three, horizontal=three)
            yield self.layer(
                TransposeConv, (1, 3, 3, 4), (5, 2, 2, 4), (1, 6, 6, 5), size=(6, 6), vertical=Axis(2, 2),
                horizontal=Axis(2, 2),
            )  # fmt: skip
