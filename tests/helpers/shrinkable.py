"""Small models with parts that cannot matter: outputs and inputs without weights, biases that saturate, copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph.tensor import Shape
from tests.helpers.network import FLOAT, SCALE, Net

ZEROS = (-128, -7, 20)
LARGE = 3 * 10**6
"""A bias that saturates."""


def random_model(seed: int) -> bytes:
    """Layers, some of whose outputs and inputs have no weights and some of whose biases saturate."""
    net = Net(seed)
    rng = net.rng

    def some(channels: int, most: float = 0.5) -> NDArray[np.bool_]:
        return rng.random(channels) < rng.choice([0.0, most])

    def layer(x: int, depthwise: bool) -> int:
        channels = net.shapes[x][3]
        kernel = min(int(rng.choice([1, 3])), *net.shapes[x][1:3])
        padding, quant = str(rng.choice(["SAME", "VALID"])), (SCALE, int(rng.choice(ZEROS)))
        window = {"padding": padding, "quant": quant, "stride": int(rng.choice([1, 2]))}
        outputs = channels * int(rng.choice([1, 1, 2])) if depthwise else int(rng.integers(2, 13))
        weights = net.weights(*((1, kernel, kernel, outputs) if depthwise else (outputs, kernel, kernel, channels)))
        weights[..., 1:] //= np.int8(rng.choice([1, 4]))
        bias = np.where(some(outputs, 0.2), rng.choice([-LARGE, LARGE], outputs), rng.integers(-2000, 2000, outputs))
        if depthwise:
            weights[..., some(outputs)] = 0
            return net.depthwise(x, weights, bias=bias, **window)
        weights[some(outputs)] = 0
        weights[..., some(channels)] = 0
        copy = rng.integers(outputs)
        weights[copy], bias[copy] = weights[0], bias[0]
        return net.conv(x, weights, bias=bias, **window)

    x = net.input(1, int(rng.integers(3, 8)), int(rng.integers(3, 8)), int(rng.integers(1, 5)))
    outputs = []
    for _ in range(int(rng.integers(3, 8))):
        *_, height, width, channels = net.shapes[x]
        kind = rng.choice(["conv", "conv", "depthwise", "depthwise", "add", "pool", "table", "pad", "join", "part"])
        if kind in ("conv", "depthwise"):
            x = layer(x, kind == "depthwise")
        elif kind == "add":
            other = net.depthwise(x, kernel=1, bias=rng.integers(-9999, 9999, channels), quant=(SCALE, -128))
            x = net.add(x, other, (0.09, 5))
        elif kind == "pool" and min(height, width) >= 2:
            x = net.pool(x, 2, str(rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])))
        elif kind == "table":
            x = net.op("QUANTIZE", [x], quant=(0.08, -20))
        elif kind == "pad":
            x = net.pad(x, (0, 0), (1, 0), (0, 2), (0, 0))
        elif kind == "join":
            x = net.concatenate(3, x, net.conv(x, np.zeros((3, 1, 1, channels), np.int8), quant=net.quants[x]))
        elif kind == "part" and channels > 2:
            x = net.slice(x, (0, 0, 0, 1), (1, height, width, channels - 2))
        if rng.random() < 0.1:
            outputs.append(x)
    flat = net.mean(x) if rng.random() < 0.5 else net.flat(x)
    last = net.weights(3, net.shapes[flat][1])
    last[:, some(last.shape[1])] = 0
    return net.finish(net.fully_connected(flat, last), *dict.fromkeys(outputs))


def example() -> bytes:
    """Channels that nobody reads, others that are constant, layers in between."""
    net = Net(1)
    first, second, last = net.weights(12, 3, 3, 3), net.weights(8, 1, 1, 12), net.weights(4, 8)
    second[..., [1, 3, 4, 9]] = 0
    second[[0, 2, 5]] = 0
    bias = net.rng.integers(-2000, 2000, 8)
    bias[7] = LARGE
    x = net.conv(net.input(1, 8, 8, 3), first, stride=2)
    x = net.pool(net.conv(net.depthwise(x), second, bias=bias), 4)
    return net.finish(net.fully_connected(net.flat(x), last))


@dataclass
class _Tail:
    """A tensor of any shape that grows by operators whose attributes are channels: which ones, how many, in which
    order."""

    net: Net
    x: int

    @property
    def shape(self) -> Shape:
        return self.net.shapes[self.x]

    def moved(self, kind: str, operands: Sequence[int], shape: Sequence[int], **options: Any) -> int:
        return self.net.moved(kind, [self.x, *operands], tuple(shape), **options)

    def slice(self) -> int:
        begin = [int(self.net.rng.integers(0, n)) for n in self.shape]
        return self.net.slice(self.x, tuple(begin), tuple(n - b for n, b in zip(self.shape, begin, strict=True)))

    def stride(self) -> int:
        *outer, channels = self.shape
        step = int(self.net.rng.choice([-1, 1, 2]))
        first, last = (0, channels) if step > 0 else (channels - 1, -channels - 1)
        ends = [*[0] * len(outer), first], [*outer, last], [*[1] * len(outer), step]
        operands = [self.net.ints(*values) for values in ends]
        return self.moved("STRIDED_SLICE", operands, (*outer, -(-channels // abs(step))))

    def unpack(self) -> int:
        """One of the parts is left."""
        axis, net = int(self.net.rng.integers(0, len(self.shape))), self.net
        shape, count = (*self.shape[:axis], *self.shape[axis + 1 :]), self.shape[axis]
        parts = [net._tensor(net.writer.tensor, shape, net.quants[self.x]) for _ in range(count)]
        net.writer.op("UNPACK", [self.x], parts, num=count, axis=axis)
        return parts[int(net.rng.integers(0, count))]

    def split(self) -> int:
        *outer, channels = self.shape
        net, first = self.net, int(self.net.rng.integers(1, max(2, channels)))
        sizes = [n for n in (first, channels - first) if n]
        parts = [net._tensor(net.writer.tensor, (*outer, n), net.quants[self.x]) for n in sizes]
        last = net.writer.const("axis", np.array(len(outer), np.int32))
        net.writer.op("SPLIT_V", [self.x, net.ints(*sizes), last], parts, num_splits=len(parts))
        return net.concatenate(len(outer), *reversed(parts))

    def gather(self) -> int:
        axis, count = int(self.net.rng.integers(0, len(self.shape))), int(self.net.rng.integers(1, 5))
        places = self.net.rng.integers(0, self.shape[axis], count)
        shape = (*self.shape[:axis], count, *self.shape[axis + 1 :])
        return self.moved("GATHER", [self.net.ints(*places)], shape, axis=axis)

    def pad(self) -> int:
        return self.net.pad(self.x, *((int(n), int(n) // 2) for n in self.net.rng.integers(0, 3, len(self.shape))))

    def mirror(self) -> int:
        paddings = [(int(self.net.rng.integers(0, min(n, 3))), 0) for n in self.shape]
        shape = [n + before for n, (before, _) in zip(self.shape, paddings, strict=True)]
        return self.moved("MIRROR_PAD", [self.net.ints(*paddings)], shape, mode="SYMMETRIC")

    def transpose(self) -> int:
        order = self.net.rng.permutation(len(self.shape))
        return self.moved("TRANSPOSE", [self.net.ints(*order)], [self.shape[i] for i in order])

    def reshape(self) -> int:
        """Channels are split, joined with pixels, or stay."""
        size, last = int(np.prod(self.shape)), int(self.net.rng.choice([1, 2, 3, self.shape[-1], 2 * self.shape[-1]]))
        return self.net.reshape(self.x, size // last, last) if size % last == 0 else self.net.flat(self.x)

    def pack(self) -> int:
        axis, other = int(self.net.rng.integers(0, len(self.shape) + 1)), self.net.moved("RELU", [self.x])
        shape = (*self.shape[:axis], 2, *self.shape[axis:])
        return self.moved("PACK", [other], shape, values_count=2, axis=axis)

    def tile(self) -> int:
        times = self.net.rng.integers(1, 3, len(self.shape))
        return self.moved("TILE", [self.net.ints(*times)], [n * int(k) for n, k in zip(self.shape, times, strict=True)])

    def reverse(self) -> int:
        return self.moved("REVERSE_V2", [self.net.ints(int(self.net.rng.integers(0, len(self.shape))))], self.shape)

    def broadcast(self) -> int:
        shape = (2, *self.shape)
        return self.moved("BROADCAST_TO", [self.net.ints(*shape)], shape, version=2)

    def blocks(self) -> int:
        if len(self.shape) != 4:
            return self.reshape()
        n, height, width, channels = self.shape
        if channels % 4 == 0:
            return self.moved("DEPTH_TO_SPACE", [], (n, 2 * height, 2 * width, channels // 4), block_size=2)
        if height % 2 or width % 2:
            return self.reshape()
        return self.moved("SPACE_TO_DEPTH", [], (n, height // 2, width // 2, 4 * channels), block_size=2)

    def product(self) -> int:
        other = self.net.reshape(self.net.moved("RELU", [self.x]), *self.shape)
        rows = self.shape[-2]
        return self.net.op("BATCH_MATMUL", [self.x, other], (*self.shape[:-1], rows), adj_y=True, version=4)

    def slope(self) -> int:
        alpha = self.net.writer.const("alpha", self.net.weights(self.shape[-1]), 0.01)
        return self.net.op("PRELU", [self.x, alpha], self.shape)

    def scale(self) -> int:
        """A constant for each channel, or for each pixel of a line."""
        shape = (self.shape[-1],) if self.net.rng.random() < 0.5 else (self.shape[-2], 1)
        return self.net.op("MUL", [self.x, self.net.writer.const("by", self.net.weights(*shape), 0.01)], self.shape)

    def prefix(self) -> int:
        constant = self.net.weights(*self.shape)
        before = self.net.writer.const("before", constant, *self.net.quants[self.x])
        self.net.shapes[before], self.net.quants[before] = self.shape, self.net.quants[self.x]
        return self.net.concatenate(int(self.net.rng.integers(0, len(self.shape))), before, self.x)


BY_CHANNEL = tuple(
    name for name, method in vars(_Tail).items() if callable(method) and name[0] != "_" and name != "moved"
)
"""Operators whose attributes or constants are by channel."""


def channel_model(seed: int, *kinds: str) -> bytes:
    """A layer with copies, dead and constant channels, operators that read channels by position, and a layer that has
    weights for some of what they give. Beside it, float32 values that none of this is about are taken apart."""
    net = Net(seed)
    rng = net.rng
    x = net.input(1, 2, 4, 3)
    weights, bias = net.weights(8, 1, 1, 3), rng.integers(-2000, 2000, 8)
    weights[rng.random(8) < 0.3] = 0
    bias[rng.random(8) < 0.2] = LARGE
    copy = rng.integers(0, 8, 8)
    copied = np.where(rng.random(8) < 0.4, copy, np.arange(8))
    weights, bias = weights[copied], bias[copied]
    operands = [x, *net.constants(x, weights, bias, None)]
    made = net.op("CONV_2D", operands, (1, 2, 4, 8), quant=(SCALE, int(rng.choice(ZEROS))), padding="VALID")
    tail = _Tail(net, made)
    for kind in kinds or rng.choice(BY_CHANNEL, int(rng.integers(1, 4))):
        tail.x = getattr(tail, str(kind))() if 2 <= len(tail.shape) <= 4 else net.flat(tail.x)
    rest = net.flat(tail.x)
    last = net.weights(3, net.shapes[rest][1]) // np.int8(2)
    last[:, rng.random(last.shape[1]) < 0.4] = 0
    dead = net.weights(2, 1, 1, 8)
    dead[..., rng.random(8) < 0.5] = 0
    aside = net.op("DEQUANTIZE", [net.reshape(x, 8, 3)], quant=FLOAT)
    part = _Tail(net, aside).unpack()
    return net.finish(net.fully_connected(rest, last), net.conv(net.conv(x, 8, 1), dead), part)
