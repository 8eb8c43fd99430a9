"""Files of one operator each, with any shape and quantization that LiteRT takes and Vela may place on an Ethos-U."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mote.frontends.tflite.writer import Writer

Quantization = tuple[float, int]
PROBABILITIES = {"int8": (1 / 256, -128), "int16": (1 / 32768, 0)}
CURVES = {"int8": (1 / 128, 0), "int16": (1 / 32768, 0)}


@dataclass
class Making:
    """A file in the making, whose numbers are drawn."""

    draw: st.DrawFn
    dtype: str
    writer: Writer = field(default_factory=lambda: Writer("operator"))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.number(0, 1 << 32))

    def factor(self, low: float, high: float) -> float:
        """A factor between two powers of 2, in single precision."""
        return float(np.float32(2.0 ** self.draw(st.floats(low, high, width=32))))

    def quantization(self) -> Quantization:
        if self.dtype == "int16":
            return self.factor(-14, -8), 0
        return self.factor(-8, 1), self.number(-128, 127)

    def near(self, scale: float) -> Quantization:
        """A quantization whose scale is not far from another one."""
        return float(np.float32(scale * self.factor(-1, 1))), self.quantization()[1]

    def shape(self) -> tuple[int, int, int, int]:
        return 1, self.number(1, 9), self.number(1, 9), self.pick(1, 3, 8, 16, 17, 35)

    def integers(self, values: Sequence[int]) -> int:
        return self.writer.const("numbers", np.array(values, np.int32))

    def made(
        self, kind: str, inputs: Sequence[int], shape: Sequence[int], quantization: Quantization, **options: Any
    ) -> bytes:
        """The file with its only operator, of which this is the output."""
        version = options.pop("version", 1)
        output = self.writer.tensor("y", shape, options.pop("dtype", self.dtype), *quantization)
        self.writer.op(kind, inputs, [output], version=version, **options)
        self.writer.output(output)
        return self.writer.finish()

    def input(self, shape: Sequence[int], quantization: Quantization, name: str = "x") -> int:
        return self.writer.input(name, shape, self.dtype, *quantization)

    def kernel(self, shape: Sequence[int], axis: int, x: Quantization, y: Quantization) -> list[int]:
        """Weights with a scale for each channel, and a bias."""
        channels = shape[axis]
        rng = self.rng()
        width = 1 if self.dtype == "int8" else 128
        size = np.sqrt(np.prod(shape) / channels)
        scales = (y[0] / x[0] / size / width * 2.0 ** rng.uniform(-8, -4, channels)).astype(np.float32)
        weights = rng.integers(-127, 128, shape).astype(np.int8)
        bias = rng.integers(-5000, 5000, channels).astype(np.int32 if self.dtype == "int8" else np.int64)
        return [
            self.writer.const("w", weights, scales, [0] * channels, axis=axis),
            self.writer.const("b", bias, scales * np.float32(x[0]), [0] * channels),
        ]

    def window(self, most: int = 5) -> tuple[dict[str, Any], tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Options of strides and padding, and rows and columns of input, kernel and output."""
        kernel = self.number(1, most), self.number(1, most)
        size = self.number(1, 12), self.number(1, 12)
        stride = self.number(1, 3), self.number(1, 3)
        padding = self.pick("SAME", "VALID")
        if padding == "VALID":
            size = max(size[0], kernel[0]), max(size[1], kernel[1])
            made = (size[0] - kernel[0]) // stride[0] + 1, (size[1] - kernel[1]) // stride[1] + 1
        else:
            made = -(-size[0] // stride[0]), -(-size[1] // stride[1])
        return {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}, size, kernel, made


def convolution(m: Making) -> bytes:
    options, size, kernel, made = m.window()
    x, y = m.quantization(), m.quantization()
    inputs, outputs = m.pick(1, 3, 8, 17, 33), m.pick(1, 2, 8, 9, 24, 40)
    given = m.input((1, *size, inputs), x)
    constants = m.kernel((outputs, *kernel, inputs), 0, x, y)
    activation = m.pick("NONE", "RELU", "RELU6")
    options |= {"dilation_h_factor": 1, "dilation_w_factor": 1, "fused_activation_function": activation}
    return m.made("CONV_2D", [given, *constants], (1, *made, outputs), y, version=3, **options)


def dilated(m: Making) -> bytes:
    x, y = m.quantization(), m.quantization()
    kernel, dilation = (m.number(2, 4), m.number(2, 4)), (m.number(1, 2), m.number(1, 2))
    size = m.number(1, 12), m.number(1, 12)
    given = m.input((1, *size, 8), x)
    constants = m.kernel((9, *kernel, 8), 0, x, y)
    options: dict[str, Any] = {"dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1]}
    options |= {"stride_h": 1, "stride_w": 1, "padding": "SAME", "fused_activation_function": "NONE"}
    return m.made("CONV_2D", [given, *constants], (1, *size, 9), y, version=3, **options)


def depthwise(m: Making) -> bytes:
    options, size, kernel, made = m.window()
    x, y = m.quantization(), m.quantization()
    inputs = m.pick(1, 3, 8, 17, 40)
    times = m.pick(1, 4) if inputs == 1 else 1
    given = m.input((1, *size, inputs), x)
    constants = m.kernel((1, *kernel, inputs * times), 3, x, y)
    options |= {"dilation_h_factor": 1, "dilation_w_factor": 1, "fused_activation_function": "NONE"}
    shape = (1, *made, inputs * times)
    return m.made("DEPTHWISE_CONV_2D", [given, *constants], shape, y, version=3, depth_multiplier=times, **options)


def transpose_convolution(m: Making) -> bytes:
    x, y = m.quantization(), m.quantization()
    size, kernel = (m.number(1, 7), m.number(1, 7)), (m.number(1, 5), m.number(1, 5))
    inputs, outputs, stride, padding = m.pick(1, 3, 17), m.pick(1, 9), m.number(1, 2), m.pick("SAME", "VALID")
    more = [0 if padding == "SAME" else max(k - stride, 0) for k in kernel]
    shape = (1, size[0] * stride + more[0], size[1] * stride + more[1], outputs)
    wanted = m.integers(shape)
    given = m.input((1, *size, inputs), x)
    weights, bias = m.kernel((outputs, *kernel, inputs), 0, x, y)
    options = {"padding": padding, "stride_h": stride, "stride_w": stride}
    return m.made("TRANSPOSE_CONV", [wanted, weights, given, bias], shape, y, version=3, **options)


def fully_connected(m: Making) -> bytes:
    x, y = m.quantization(), m.quantization()
    rows, inputs, outputs = m.number(1, 4), m.pick(1, 16, 33, 100), m.pick(1, 9, 40)
    given, rng = m.input((rows, inputs), x), m.rng()
    width = 1 if m.dtype == "int8" else 128
    scale = float(np.float32(y[0] / x[0] / np.sqrt(inputs) / width * 2.0 ** rng.uniform(-8, -4)))
    weights = m.writer.const("w", rng.integers(-127, 128, (outputs, inputs)).astype(np.int8), scale)
    bias = rng.integers(-5000, 5000, outputs).astype(np.int32 if m.dtype == "int8" else np.int64)
    constants = [weights, m.writer.const("b", bias, scale * x[0])]
    options = {"version": 4, "fused_activation_function": "NONE"}
    return m.made("FULLY_CONNECTED", [given, *constants], (rows, outputs), y, **options)


def batch_matmul(m: Making) -> bytes:
    a, b = m.quantization(), m.quantization()
    batch, rows, inner, columns = m.number(1, 3), m.number(1, 9), m.pick(1, 5, 16, 33), m.number(1, 9)
    y = m.near(a[0] * b[0] * 64 * float(np.sqrt(inner)))
    left = m.input((1, batch, rows, inner), a)
    right = m.input((1, batch, inner, columns), b, "z")
    return m.made("BATCH_MATMUL", [left, right], (1, batch, rows, columns), y, version=2, adj_x=False, adj_y=False)


def pool(kind: str) -> Callable[[Making], bytes]:
    def build(m: Making) -> bytes:
        options, size, kernel, made = m.window()
        x, channels = m.quantization(), m.pick(1, 8, 17, 35)
        options |= {"filter_height": kernel[0], "filter_width": kernel[1], "fused_activation_function": "NONE"}
        return m.made(kind, [m.input((1, *size, channels), x)], (1, *made, channels), x, version=2, **options)

    return build


def reduction(kind: str) -> Callable[[Making], bytes]:
    def build(m: Making) -> bytes:
        shape, x = m.shape(), m.quantization()
        axes = m.pick((1, 2), (1,), (2,))
        y = m.near(x[0]) if kind == "MEAN" and m.pick(True, False) else x
        made = [1 if axis in axes else size for axis, size in enumerate(shape)]
        return m.made(kind, [m.input(shape, x), m.integers(axes)], made, y, version=2, keep_dims=True)

    return build


def binary(kind: str) -> Callable[[Making], bytes]:
    def build(m: Making) -> bytes:
        shape, a = m.shape(), m.quantization()
        same = kind in ("MINIMUM", "MAXIMUM")
        b = a if same else (a[0], m.quantization()[1]) if m.pick(True, False, False) else m.near(m.quantization()[0])
        wide = 256 if m.dtype == "int8" else 65536
        size = {"MUL": a[0] * b[0] * wide / 4, "SQUARED_DIFFERENCE": max(a[0], b[0]) ** 2 * wide / 4}
        y = a if same else m.near(size.get(kind, a[0] + b[0]))
        other = m.pick(shape, (1, 1, 1, shape[3]), (1, 1, 1, 1), (1, *shape[1:3], 1))
        first = m.input(shape, a)
        if m.pick(True, False):
            second = m.input(other, b, "z")
        else:
            second = m.writer.const("z", m.rng().integers(-100, 100, other).astype(m.dtype), *b)
        options = {} if same or kind == "SQUARED_DIFFERENCE" else {"fused_activation_function": m.pick("NONE", "RELU")}
        if m.dtype == "int16" and kind in ("ADD", "SUB"):
            options["pot_scale_int16"] = False
        operands = [first, second] if m.pick(True, False) else [second, first]
        return m.made(kind, operands, shape, y, version=2, **options)

    return build


def unary(kind: str, result: Mapping[str, Quantization] | None = None, version: int = 2) -> Callable[[Making], bytes]:
    def build(m: Making) -> bytes:
        shape, x = m.shape(), m.quantization()
        y = result[m.dtype] if result else m.near(x[0]) if m.pick(True, False) else x
        options: dict[str, Any] = {"version": version}
        if kind == "LEAKY_RELU":
            options["alpha"] = m.factor(-6, 0)
        if kind == "SOFTMAX":
            options["beta"], shape = 1.0, (shape[1] * shape[2], shape[3])  # type: ignore[assignment]
        return m.made(kind, [m.input(shape, x)], shape, y, **options)

    return build


def prelu(m: Making) -> bytes:
    shape, x = m.shape(), m.quantization()
    slopes = m.rng().integers(-128, 128, (1, 1, shape[3])).astype(np.int8)
    alpha = m.writer.const("alpha", slopes, m.factor(-10, -5), m.number(-128, 127))
    return m.made("PRELU", [m.input(shape, x), alpha], shape, m.near(x[0]))


def resize(kind: str) -> Callable[[Making], bytes]:
    def build(m: Making) -> bytes:
        _, height, width, channels = m.shape()
        times, corners = m.pick(2, 4), m.pick("align_corners", "half_pixel_centers", "")
        made = [size * times for size in (height, width)]
        if corners == "align_corners":
            made = [(size - 1) * times + 1 for size in (height, width)]
        options = {name: corners == name for name in ("align_corners", "half_pixel_centers")}
        x = m.quantization()
        inputs = [m.input((1, height, width, channels), x), m.integers(made)]
        return m.made(kind, inputs, (1, *made, channels), x, version=3, **options)

    return build


def pad(m: Making) -> bytes:
    shape, x = m.shape(), m.quantization()
    pads = [(0, 0), *((m.number(0, 3), m.number(0, 3)) for _ in range(2)), (0, m.pick(0, 2))]
    made = [size + sum(pair) for size, pair in zip(shape, pads, strict=True)]
    inputs = [m.input(shape, x), m.writer.const("pads", np.array(pads, np.int32))]
    return m.made("PAD", inputs, made, x, version=2)


def concatenation(m: Making) -> bytes:
    shape, x, axis = m.shape(), m.quantization(), m.number(1, 3)
    other = [m.number(1, 20) if number == axis else size for number, size in enumerate(shape)]
    made = [size + other[axis] if number == axis else size for number, size in enumerate(shape)]
    inputs = [m.input(shape, x), m.input(other, x, "z")]
    return m.made("CONCATENATION", inputs, made, x, version=2, axis=axis, fused_activation_function="NONE")


def transpose(m: Making) -> bytes:
    shape, x = m.shape(), m.quantization()
    order = [0, *m.draw(st.permutations((1, 2, 3)))]
    return m.made("TRANSPOSE", [m.input(shape, x), m.integers(order)], [shape[i] for i in order], x, version=2)


def cut(m: Making) -> bytes:
    shape, x = m.shape(), m.quantization()
    begin = [0, *(m.number(0, size - 1) for size in shape[1:])]
    sizes = [m.number(1, size - first) for size, first in zip(shape, begin, strict=True)]
    return m.made("SLICE", [m.input(shape, x), m.integers(begin), m.integers(sizes)], sizes, x, version=2)


def requantize(m: Making) -> bytes:
    shape, x = m.shape(), m.quantization()
    return m.made("QUANTIZE", [m.input(shape, x)], shape, m.near(x[0]), version=2)


OPERATORS: Mapping[str, Callable[[Making], bytes]] = {
    "CONV_2D": convolution,
    "CONV_2D dilated": dilated,
    "DEPTHWISE_CONV_2D": depthwise,
    "TRANSPOSE_CONV": transpose_convolution,
    "FULLY_CONNECTED": fully_connected,
    "BATCH_MATMUL": batch_matmul,
    **{kind: pool(kind) for kind in ("MAX_POOL_2D", "AVERAGE_POOL_2D")},
    **{kind: reduction(kind) for kind in ("MEAN", "REDUCE_MAX", "REDUCE_MIN")},
    **{kind: binary(kind) for kind in ("ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM", "SQUARED_DIFFERENCE")},
    **{kind: unary(kind) for kind in ("RELU", "RELU6", "LEAKY_RELU", "ABS", "GELU", "LOG")},
    **{kind: unary(kind, version=1) for kind in ("RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH")},
    "PRELU": prelu,
    "SOFTMAX": unary("SOFTMAX", PROBABILITIES),
    "LOGISTIC": unary("LOGISTIC", PROBABILITIES),
    "TANH": unary("TANH", CURVES),
    **{kind: resize(kind) for kind in ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR")},
    "PAD": pad,
    "CONCATENATION": concatenation,
    "TRANSPOSE": transpose,
    "SLICE": cut,
    "QUANTIZE": requantize,
}
"""Builders by the operator's name."""


@st.composite
def operator(draw: st.DrawFn, name: str, dtype: str) -> bytes:
    return OPERATORS[name](Making(draw, dtype))
