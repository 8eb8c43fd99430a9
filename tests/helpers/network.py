"""Small models for tests, written to a .tflite file operator by operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array, Shape

Pair = int | tuple[int, int]
Quant = tuple[float | None, int]
SCALE = 0.05
FLOAT: Quant = (None, 0)
"""The quantization of tensors that have none: they are float32."""


def alive(weights: Array, channels: int) -> float:
    """The scale of random int8 weights for which activations neither die out nor all saturate."""
    return 0.0125 / float(np.sqrt(weights.size / channels))


@dataclass
class Net:
    """A model as it grows: methods add an operator and return its output, `finish` gives the file.

    A layer takes its weights (as int8, also in a float32 model), or how many outputs random ones shall give. Tensors
    have the model's type, and int8 ones the same scale and each a zero point of its own, int16 ones the same scale,
    but where `quant` says otherwise or an operator keeps its input's.
    """

    seed: int = 0
    dtype: str = "int8"

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.writer = Writer("net")
        self.shapes: dict[int, Shape] = {}
        self.quants: dict[int, Quant] = {}

    def finish(self, *outputs: int) -> bytes:
        self.writer.output(*outputs)
        return self.writer.finish()

    def quant(self) -> Quant:
        zero = int(self.rng.integers(-100, 100))
        return {"int8": (SCALE, zero), "int16": (SCALE / 256, 0)}.get(self.dtype, FLOAT)

    def input(self, *shape: int, quant: Quant | None = None) -> int:
        return self._tensor(self.writer.input, shape, quant)

    def op(
        self, kind: str, operands: Sequence[int], shape: Shape | None = None, quant: Quant | None = None, **options: Any
    ) -> int:
        """Any operator; without `shape` its output has that of its first operand."""
        y = self._tensor(self.writer.tensor, self.shapes[operands[0]] if shape is None else shape, quant)
        self.writer.op(kind, operands, [y], **options)
        return y

    def moved(self, kind: str, operands: Sequence[int], shape: Shape | None = None, **options: Any) -> int:
        """An operator that keeps the quantization of its first operand."""
        return self.op(kind, operands, shape, self.quants[operands[0]], **options)

    def ints(self, *values: Any) -> int:
        return self.writer.const("ints", np.array(values, np.int32))

    def weights(self, *shape: int) -> Array:
        return self.rng.integers(-127, 128, shape).astype(np.int8)

    def constants(self, x: int, weights: Array, bias: Array | None = None, axis: int | None = 0) -> list[int]:
        """The weights and biases of a layer that reads `x`, with a scale for each channel of an axis or one for all."""
        channels = weights.shape[axis or 0]
        gains = self.rng.uniform(0.8, 1.2) * self.rng.choice([1.0, 2.0], 1 if axis is None else channels)
        scales = gains * alive(weights, channels)
        bias = self.rng.integers(-2000, 2000, channels) if bias is None else bias
        scale, _ = self.quants[x]
        if scale is None:
            values = weights * scales[0], bias * scales[0] * SCALE
            return [self.writer.const("constant", np.float32(v)) for v in values]
        k = self.writer.const("weights", weights, scales, axis=axis or 0)
        kind = np.int64 if self.dtype == "int16" else np.int32
        return [k, self.writer.const("bias", bias.astype(kind), scales * scale)]

    def conv(self, x: int, weights: int | Array, kernel: Pair = 3, bias: Array | None = None, **window: Any) -> int:
        if isinstance(weights, int):
            weights = self.weights(weights, *_pair(kernel), self.shapes[x][3])
        return self._window("CONV_2D", x, weights, bias, 0, **window)

    def depthwise(
        self, x: int, weights: int | Array = 1, kernel: Pair = 3, bias: Array | None = None, **window: Any
    ) -> int:
        """`weights` may be the number of outputs for each channel."""
        channels = self.shapes[x][3]
        if isinstance(weights, int):
            weights = self.weights(1, *_pair(kernel), weights * channels)
        multiplier = weights.shape[3] // channels
        return self._window("DEPTHWISE_CONV_2D", x, weights, bias, 3, depth_multiplier=multiplier, **window)

    def transpose_conv(self, x: int, channels: int, kernel: int = 3, stride: int = 2) -> int:
        n, height, width, depth = self.shapes[x]
        shape = (n, height * stride, width * stride, channels)
        k, b = self.constants(x, self.weights(channels, kernel, kernel, depth))
        options = {"stride_h": stride, "stride_w": stride, "version": 4}
        return self.op("TRANSPOSE_CONV", [self.ints(*shape), k, x, b], shape, **options)

    def fully_connected(
        self, x: int, weights: int | Array, bias: Array | None = None, quant: Quant | None = None
    ) -> int:
        if isinstance(weights, int):
            weights = self.weights(weights, self.shapes[x][-1])
        units, depth = weights.shape
        vectors = int(np.prod(self.shapes[x])) // depth
        return self.op("FULLY_CONNECTED", [x, *self.constants(x, weights, bias, None)], (vectors, units), quant)

    def pool(self, x: int, size: Pair = 2, kind: str = "AVERAGE_POOL_2D", stride: Pair | None = None) -> int:
        size, stride = _pair(size), _pair(stride or size)
        window = {"filter_height": size[0], "filter_width": size[1], "stride_h": stride[0], "stride_w": stride[1]}
        n, *image, channels = self.shapes[x]
        out = [(length - k) // step + 1 for length, k, step in zip(image, size, stride, strict=True)]
        return self.moved(kind, [x], (n, *out, channels), padding="VALID", **window)

    def resize(self, x: int, height: int, width: int, kind: str = "RESIZE_BILINEAR") -> int:
        n, _, _, channels = self.shapes[x]
        return self.moved(kind, [x, self.ints(height, width)], (n, height, width, channels), half_pixel_centers=True)

    def pad(self, x: int, *paddings: tuple[int, int]) -> int:
        shape = tuple(a + n + b for n, (a, b) in zip(self.shapes[x], paddings, strict=True))
        return self.moved("PAD", [x, self.ints(*paddings)], shape)

    def concatenate(self, axis: int, *parts: int) -> int:
        shape = list(self.shapes[parts[0]])
        shape[axis] = sum(self.shapes[p][axis] for p in parts)
        return self.moved("CONCATENATION", parts, tuple(shape), axis=axis)

    def slice(self, x: int, begin: Shape, size: Shape) -> int:
        return self.moved("SLICE", [x, self.ints(*begin), self.ints(*size)], size)

    def reshape(self, x: int, *shape: int) -> int:
        return self.moved("RESHAPE", [x, self.ints(*shape)], shape)

    def flat(self, x: int) -> int:
        return self.reshape(x, 1, int(np.prod(self.shapes[x])))

    def add(self, a: int, b: int, quant: Quant | None = None) -> int:
        return self.op("ADD", [a, b], quant=quant)

    def mean(self, x: int) -> int:
        """Over all pixels."""
        n, _, _, channels = self.shapes[x]
        return self.op("MEAN", [x, self.ints(1, 2)], (n, channels))

    def _tensor(self, new: Callable[..., int], shape: Shape, quant: Quant | None) -> int:
        quant = quant or self.quant()
        dtype = "float32" if quant == FLOAT else "int16" if self.dtype == "int16" else "int8"
        t = new(f"t{len(self.shapes)}", shape, dtype, *quant)
        self.shapes[t], self.quants[t] = shape, quant
        return t

    def _window(
        self,
        kind: str,
        x: int,
        weights: Array,
        bias: Array | None,
        axis: int,
        stride: Pair = 1,
        dilation: Pair = 1,
        padding: str = "SAME",
        **others: Any,
    ) -> int:
        n, *image, _ = self.shapes[x]
        steps, gaps = _pair(stride), _pair(dilation)
        inside = padding == "VALID"
        windows = zip(image, weights.shape[1:3], steps, gaps, strict=True)
        size = [-(-(length - (k - 1) * gap * inside) // step) for length, k, step, gap in windows]
        options = {"stride_h": steps[0], "stride_w": steps[1], "padding": padding, **others}
        options |= {"dilation_h_factor": gaps[0], "dilation_w_factor": gaps[1]}
        operands = [x, *self.constants(x, weights, bias, axis)]
        return self.op(kind, operands, (n, *size, weights.shape[axis]), **options)


def _pair(size: Pair) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size
