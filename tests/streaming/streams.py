"""Models for the tests of states and streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tflite_writer import Writer

SCALE = 0.05


@dataclass
class Variables:
    """Adds variables to a model, with what they hold at first."""

    w: Writer
    handles: dict[str, int] = field(default_factory=dict)

    def begin(self, initial: Mapping[str, np.ndarray], scale: float | None = SCALE, zero: int = 0) -> None:
        once = self.w.subgraph("init")
        self.w.op("CALL_ONCE", [], [], init_subgraph_index=1)
        for name, value in initial.items():
            handle = once.tensor(f"{name}_init", (), "resource")
            once.op("VAR_HANDLE", [], [handle], container="", shared_name=name)
            given = once.const(f"{name}_value", value, scale, zero)
            once.op("ASSIGN_VARIABLE", [handle, given], [])
        for name in initial:
            self.handles[name] = self.w.tensor(name, (), "resource")
            self.w.op("VAR_HANDLE", [], [self.handles[name]], container="", shared_name=name)

    def read(self, name: str, shape: tuple[int, ...], dtype: str, scale: float | None = SCALE, zero: int = 0) -> int:
        value = self.w.tensor(f"{name}_read", shape, dtype, scale, zero)
        self.w.op("READ_VARIABLE", [self.handles[name]], [value])
        return value

    def assign(self, name: str, value: int) -> None:
        self.w.op("ASSIGN_VARIABLE", [self.handles[name], value], [])


@dataclass
class Net:
    """A chain of layers with random weights, int8 or float32."""

    seed: int
    dtype: str = "int8"

    def __post_init__(self) -> None:
        self.w = Writer("stream")
        self.rng = np.random.default_rng(self.seed)
        self.count = 0

    def _quant(self, scale: float = SCALE) -> tuple[float | None, int]:
        return (scale, int(self.rng.integers(-100, 100))) if self.dtype == "int8" else (None, 0)

    def input(self, shape: tuple[int, ...]) -> int:
        self.shapes = {self.w.input("x", shape, self.dtype, *self._quant()): shape}
        return next(iter(self.shapes))

    def tensor(self, shape: tuple[int, ...], quant: tuple[float | None, int] | None = None) -> int:
        self.count += 1
        t = self.w.tensor(f"t{self.count}", shape, self.dtype, *(quant or self._quant()))
        self.shapes[t] = shape
        return t

    def weights(self, shape: tuple[int, ...], axis: int) -> list[int]:
        channels = shape[axis]
        if self.dtype == "float32":
            w = self.rng.normal(0, 0.3, shape).astype(np.float32)
            return [self.w.const("w", w), self.w.const("b", self.rng.normal(0, 1, channels).astype(np.float32))]
        w = self.rng.integers(-127, 128, shape).astype(np.int8)
        scales = self.rng.uniform(0.0005, 0.004, channels)
        b = self.rng.integers(-2000, 2000, channels).astype(np.int32)
        return [self.w.const("w", w, scales, axis=axis), self.w.const("b", b, scales * SCALE)]

    def conv(self, x: int, kernel: tuple[int, int], channels: int, stride: int = 1, padding: str = "VALID") -> int:
        n, h, w, c = self.shapes[x]
        k = self.weights((channels, *kernel, c), 0)
        out = self._sizes((h, w), kernel, stride, padding)
        y = self.tensor((n, *out, channels))
        self.w.op("CONV_2D", [x, *k], [y], padding=padding, stride_h=stride, stride_w=1)
        return y

    def depthwise(self, x: int, kernel: tuple[int, int], padding: str = "VALID", dilation: int = 1) -> int:
        n, h, w, c = self.shapes[x]
        k = self.weights((1, *kernel, c), 3)
        reach = ((kernel[0] - 1) * dilation + 1, kernel[1])
        y = self.tensor((n, *self._sizes((h, w), reach, 1, padding), c))
        self.w.op("DEPTHWISE_CONV_2D", [x, *k], [y], padding=padding, dilation_h_factor=dilation)
        return y

    def pool(self, x: int, size: int, stride: int) -> int:
        n, h, w, c = self.shapes[x]
        y = self.tensor((n, (h - size) // stride + 1, w, c), self._of(x))
        options = {"stride_h": stride, "stride_w": 1, "filter_height": size, "filter_width": 1}
        self.w.op("MAX_POOL_2D", [x], [y], padding="VALID", **options)
        return y

    def add(self, a: int, b: int) -> int:
        y = self.tensor(self.shapes[a])
        self.w.op("ADD", [a, b], [y])
        return y

    def crop(self, x: int, begin: int, count: int) -> int:
        n, _, w, c = self.shapes[x]
        y = self.tensor((n, count, w, c), self._of(x))
        ends = [np.int32(v) for v in ([0, begin, 0, 0], [n, count, w, c])]
        self.w.op("SLICE", [x, *(self.w.const("at", np.array(e)) for e in ends)], [y])
        return y

    def mean(self, x: int) -> int:
        n, _, _, c = self.shapes[x]
        y = self.tensor((n, c))
        self.w.op("MEAN", [x, self.w.const("axes", np.array([1, 2], np.int32))], [y])
        return y

    def dense(self, x: int, channels: int) -> int:
        flat = self.tensor((1, int(np.prod(self.shapes[x]))), self._of(x))
        shape = self.w.const("shape", np.array(self.shapes[flat], np.int32))
        self.w.op("RESHAPE", [x, shape], [flat])
        y = self.tensor((1, channels))
        sizes = (channels, self.shapes[flat][1])
        if self.dtype == "int8":
            w, b = self.rng.integers(-127, 128, sizes), self.rng.integers(-2000, 2000, channels)
            k = [self.w.const("w", w.astype(np.int8), 0.001), self.w.const("b", b.astype(np.int32), 0.001 * SCALE)]
        else:
            k = self.weights(sizes, 0)
        self.w.op("FULLY_CONNECTED", [flat, *k], [y])
        return y

    def finish(self, *outputs: int) -> bytes:
        self.w.output(*outputs)
        return self.w.finish()

    def _of(self, x: int) -> tuple[float | None, int]:
        """The quantization of a tensor, for operators that keep it."""
        t = self.w._tensors[x]
        return (t.scales[0], t.zero_points[0]) if t.scales else (None, 0)

    @staticmethod
    def _sizes(image: tuple[int, int], kernel: tuple[int, int], stride: int, padding: str) -> tuple[int, int]:
        if padding == "SAME":
            return -(-image[0] // stride), image[1]
        return (image[0] - kernel[0]) // stride + 1, image[1] - kernel[1] + 1


def sliding(seed: int, new: int, kept: int, channels: int, readers: int = 1) -> bytes:
    """A window of what came last, as streaming layers keep it: joined, read, and cut off."""
    net, rng = Net(seed), np.random.default_rng(seed)
    x = net.input((1, new, 1, channels))
    scale, zero = net._of(x)
    state = Variables(net.w)
    state.begin({"s": rng.integers(-128, 128, (1, kept, 1, channels)).astype(np.int8)}, scale, zero)
    old = state.read("s", (1, kept, 1, channels), "int8", scale, zero)
    window = net.tensor((1, kept + new, 1, channels), (scale, zero))
    net.w.op("CONCATENATION", [old, x], [window], axis=1)
    last = net.tensor((1, kept, 1, channels), (scale, zero))
    ends = [net.w.const("at", np.array(v, np.int32)) for v in ([0, -kept, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1])]
    net.w.op("STRIDED_SLICE", [window, *ends], [last], begin_mask=13, end_mask=15)
    state.assign("s", last)
    outputs = [net.depthwise(window, (kept + new, 1))]
    if readers > 1:
        outputs.append(net.dense(window, 3))
    return net.finish(*outputs)
