"""Small models with parts that cannot matter: outputs and inputs without weights, biases that saturate, copies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflite_writer import Writer

Shape = tuple[int, ...]
SCALE = 0.05
ZEROS = (-128, -7, 20)


@dataclass
class Net:
    """A model as it grows. Methods add an operator and return its output."""

    seed: int = 0
    writer: Writer = field(default_factory=lambda: Writer("net"))
    shapes: dict[int, Shape] = field(default_factory=dict)
    zeros: dict[int, int] = field(default_factory=dict)
    scales: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def model(self, *outputs: int) -> bytes:
        self.writer.output(*outputs)
        return self.writer.finish()

    def input(self, *shape: int) -> int:
        x = self.writer.input(f"x{len(self.shapes)}", shape, "int8", scale=SCALE, zero_point=-7)
        self.shapes[x], self.zeros[x], self.scales[x] = shape, -7, SCALE
        return x

    def op(
        self, kind: str, inputs: list[int], shape: Shape, zero: int = -128, scale: float = SCALE, **options: Any
    ) -> int:
        y = self.writer.tensor(f"t{len(self.shapes)}", shape, "int8", scale=scale, zero_point=zero)
        self.shapes[y], self.zeros[y], self.scales[y] = shape, zero, scale
        self.writer.op(kind, inputs, [y], **options)
        return y

    def moved(self, kind: str, inputs: list[int], shape: Shape, **options: Any) -> int:
        """An operator that does not rescale."""
        return self.op(kind, inputs, shape, self.zeros[inputs[0]], self.scales[inputs[0]], **options)

    def ints(self, *values: int) -> int:
        return self.writer.const(f"c{self.rng.integers(1 << 30)}", np.array(values, np.int32))

    def weights(self, *shape: int) -> NDArray[np.int8]:
        return self.rng.integers(-127, 128, shape).astype(np.int8)

    def constants(self, weights: NDArray[np.int8], bias: NDArray[np.int64] | None, axis: int) -> list[int]:
        """Weights and biases; sums use much of the output's range."""
        channels = weights.shape[axis]
        scales = self.rng.choice([0.7, 1.3], channels) / (20 * np.sqrt(weights.size / channels))
        bias = self.rng.integers(-2000, 2000, channels) if bias is None else bias
        return [
            self.writer.const(f"w{len(self.shapes)}", weights, scale=scales.tolist(), axis=axis),
            self.writer.const(f"b{len(self.shapes)}", bias.astype(np.int32), scale=(SCALE * scales).tolist()),
        ]

    def conv(
        self,
        x: int,
        weights: NDArray[np.int8],
        bias: NDArray[np.int64] | None = None,
        zero: int = -128,
        stride: int = 1,
        padding: str = "SAME",
    ) -> int:
        n, h, w, _ = self.shapes[x]
        size = (_size(h, weights.shape[1], stride, padding), _size(w, weights.shape[2], stride, padding))
        inputs = [x, *self.constants(weights, bias, 0)]
        options = {"padding": padding, "stride_h": stride, "stride_w": stride}
        return self.op("CONV_2D", inputs, (n, *size, len(weights)), zero, **options)

    def depthwise(
        self,
        x: int,
        weights: NDArray[np.int8],
        bias: NDArray[np.int64] | None = None,
        zero: int = -128,
        stride: int = 1,
        padding: str = "SAME",
    ) -> int:
        n, h, w, channels = self.shapes[x]
        size = (_size(h, weights.shape[1], stride, padding), _size(w, weights.shape[2], stride, padding))
        inputs = [x, *self.constants(weights, bias, 3)]
        multiplier = weights.shape[3] // channels
        options = {"padding": padding, "stride_h": stride, "stride_w": stride, "depth_multiplier": multiplier}
        return self.op("DEPTHWISE_CONV_2D", inputs, (n, *size, weights.shape[3]), zero, **options)

    def fully_connected(self, x: int, weights: NDArray[np.int8], bias: NDArray[np.int64] | None = None) -> int:
        shape = (int(np.prod(self.shapes[x])) // weights.shape[1], len(weights))
        scale = 0.01
        bias = self.rng.integers(-2000, 2000, len(weights)) if bias is None else bias
        k = self.writer.const(f"w{len(self.shapes)}", weights, scale=scale)
        b = self.writer.const(f"b{len(self.shapes)}", bias.astype(np.int32), scale=SCALE * scale)
        return self.op("FULLY_CONNECTED", [x, k, b], shape, 3, scale=0.5)

    def add(self, x: int, y: int) -> int:
        return self.op("ADD", [x, y], self.shapes[x], 5, scale=0.09)

    def pool(self, x: int, kind: str = "AVERAGE_POOL_2D", size: int = 2) -> int:
        n, h, w, c = self.shapes[x]
        options = {"filter_height": size, "filter_width": size, "stride_h": size, "stride_w": size, "padding": "VALID"}
        return self.moved(kind, [x], (n, h // size, w // size, c), **options)

    def requantize(self, x: int) -> int:
        return self.op("QUANTIZE", [x], self.shapes[x], -20, scale=0.08)

    def reshape(self, x: int, *shape: int) -> int:
        return self.moved("RESHAPE", [x, self.ints(*shape)], shape)

    def mean(self, x: int) -> int:
        return self.op("MEAN", [x, self.ints(1, 2)], (self.shapes[x][0], self.shapes[x][3]), 9)

    def pad(self, x: int) -> int:
        n, h, w, c = self.shapes[x]
        table = self.writer.const(f"c{len(self.shapes)}", np.array([[0, 0], [1, 0], [0, 2], [0, 0]], np.int32))
        return self.moved("PAD", [x, table], (n, h + 1, w + 2, c))

    def join(self, x: int, y: int) -> int:
        """Along the channels."""
        *outer, channels = self.shapes[x]
        return self.moved("CONCATENATION", [x, y], (*outer, channels + self.shapes[y][-1]), axis=3)

    def part(self, x: int, begin: int, size: int) -> int:
        """Some of the channels."""
        *outer, _ = self.shapes[x]
        inputs = [x, self.ints(0, 0, 0, begin), self.ints(*outer, size)]
        return self.moved("SLICE", inputs, (*outer, size))


def _size(size: int, kernel: int, stride: int, padding: str) -> int:
    return -(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1


def random_model(seed: int) -> bytes:
    """Layers, some of whose outputs and inputs have no weights and some of whose biases saturate."""
    net = Net(seed)
    rng = net.rng

    def some(channels: int, most: float = 0.5) -> NDArray[np.bool_]:
        return rng.random(channels) < rng.choice([0.0, most])

    def layer(x: int, depthwise: bool) -> int:
        channels = net.shapes[x][3]
        kernel, padding, zero = int(rng.choice([1, 3])), str(rng.choice(["SAME", "VALID"])), int(rng.choice(ZEROS))
        kernel, stride = min(kernel, *net.shapes[x][1:3]), int(rng.choice([1, 2]))
        outputs = channels * int(rng.choice([1, 1, 2])) if depthwise else int(rng.integers(2, 13))
        weights = net.weights(*((1, kernel, kernel, outputs) if depthwise else (outputs, kernel, kernel, channels)))
        weights[..., 1:] //= np.int8(rng.choice([1, 4]))
        bias = np.where(some(outputs, 0.2), rng.choice([-(10**6), 10**6], outputs), rng.integers(-2000, 2000, outputs))
        if depthwise:
            weights[..., some(outputs)] = 0
            return net.depthwise(x, weights, bias, zero, stride, padding)
        weights[some(outputs)] = 0
        weights[..., some(channels)] = 0
        copy = rng.integers(outputs)
        weights[copy], bias[copy] = weights[0], bias[0]
        return net.conv(x, weights, bias, zero, stride, padding)

    x = net.input(1, int(rng.integers(3, 8)), int(rng.integers(3, 8)), int(rng.integers(1, 5)))
    outputs = []
    for _ in range(int(rng.integers(3, 8))):
        *_, height, width, channels = net.shapes[x]
        kind = rng.choice(["conv", "conv", "depthwise", "depthwise", "add", "pool", "table", "pad", "join", "part"])
        if kind in ("conv", "depthwise"):
            x = layer(x, kind == "depthwise")
        elif kind == "add":
            other = net.depthwise(x, net.weights(1, 1, 1, channels), net.rng.integers(-9999, 9999, channels))
            x = net.add(x, other)
        elif kind == "pool" and min(height, width) >= 2:
            x = net.pool(x, str(rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])))
        elif kind == "table":
            x = net.requantize(x)
        elif kind == "pad":
            x = net.pad(x)
        elif kind == "join" and net.scales[x] == SCALE:
            x = net.join(x, net.conv(x, net.weights(3, 1, 1, channels) * np.int8(0), None, net.zeros[x]))
        elif kind == "part" and channels > 2:
            x = net.part(x, 1, channels - 2)
        if rng.random() < 0.1:
            outputs.append(x)
    flat = net.mean(x) if rng.random() < 0.5 else net.reshape(x, 1, int(np.prod(net.shapes[x])))
    last = net.weights(3, net.shapes[flat][1])
    last[:, some(last.shape[1])] = 0
    return net.model(net.fully_connected(flat, last), *dict.fromkeys(outputs))


def example() -> bytes:
    """Channels that nobody reads, others that are constant, layers in between."""
    net = Net(1)
    first, second, last = net.weights(12, 3, 3, 3), net.weights(8, 1, 1, 12), net.weights(4, 8)
    second[..., [1, 3, 4, 9]] = 0
    second[[0, 2, 5]] = 0
    bias = net.rng.integers(-2000, 2000, 8)
    bias[7] = 10**6
    x = net.conv(net.input(1, 8, 8, 3), first, stride=2)
    x = net.depthwise(x, net.weights(1, 3, 3, 12))
    x = net.pool(net.conv(x, second, bias), size=4)
    return net.model(net.fully_connected(net.reshape(x, 1, 8), last))
