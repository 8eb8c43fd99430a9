"""A small post-training int8 quantizer, so that model scripts need no TensorFlow.

A `Net` is built layer by layer on a batch of calibration inputs: each call computes its output in NumPy
floats at once and records the layer. What the calibration batch did at each value is then all that is needed
to choose scales, as the TFLite converter does: activations asymmetric with one scale, weights symmetric in
[-127, 127] with a scale for each output channel (one in all for fully connected layers), biases int32 at
input scale times weight scale.

Everything is computed in float64 and scales are rounded to float32 last, so that a machine whose matrix
products add in another order still writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.frontends.tflite.writer import Writer

Array = NDArray[np.float64]

_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "NONE": lambda x: x,
    "RELU": lambda x: np.maximum(x, 0.0),
    "RELU6": lambda x: np.clip(x, 0.0, 6.0),
}
_KEEPS_SCALE = {"AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "RESHAPE", "PAD", "TRANSPOSE"}
_UNIT_RANGE = {"SOFTMAX", "LOGISTIC"}
_UNIT_QUANTIZATION = (1 / 256, -128)
_SMALLEST_SCALE = 1e-9


@dataclass(frozen=True)
class Layer:
    """One operator: the TFLite name and options, the values it reads, its constants.

    `weights` and `bias` are quantized; `operand` is an int32 tensor such as a shape, kept as it is.
    `rescaled`: the output has a scale of its own where operators of this kind keep their input's.
    """

    kind: str
    inputs: tuple[int, ...]
    options: dict[str, Any] = field(default_factory=dict)
    weights: Array | None = None
    bias: Array | None = None
    operand: NDArray[np.int32] | None = None
    channel_axis: int | None = None
    rescaled: bool = False


class Net:
    """A float network and what it computes on its calibration batch.

    Value 0 is the input; each layer adds one value, and its method returns that value's index.
    """

    def __init__(self, name: str, batch: Array, input_range: tuple[float, float] | None = None) -> None:
        self.name = name
        self.values: list[Array] = [np.asarray(batch, np.float64)]
        self.layers: list[Layer] = []
        self.input_range = input_range or (float(batch.min()), float(batch.max()))

    def conv(
        self,
        x: int,
        weights: Array,
        bias: Array,
        stride: tuple[int, int] = (1, 1),
        padding: str = "SAME",
        activation: str = "NONE",
    ) -> int:
        """Convolution; weights are [out, height, width, in]."""
        y = convolve(self.values[x], weights, stride, padding) + bias
        return self._add("CONV_2D", x, y, weights, bias, 0, activation, **_window(stride, padding))

    def depthwise(
        self,
        x: int,
        weights: Array,
        bias: Array,
        stride: tuple[int, int] = (1, 1),
        padding: str = "SAME",
        activation: str = "NONE",
    ) -> int:
        """Depthwise convolution with multiplier 1; weights are [1, height, width, channels]."""
        y = convolve_depthwise(self.values[x], weights, stride, padding) + bias
        return self._add("DEPTHWISE_CONV_2D", x, y, weights, bias, 3, activation, **_window(stride, padding))

    def fully_connected(self, x: int, weights: Array, bias: Array, activation: str = "NONE") -> int:
        """Matrix product; weights are [out, in]."""
        y = self.values[x] @ weights.T + bias
        return self._add("FULLY_CONNECTED", x, y, weights, bias, None, activation)

    def add(self, a: int, b: int, activation: str = "NONE") -> int:
        """Element-wise sum."""
        y = _ACTIVATIONS[activation](self.values[a] + self.values[b])
        return self._record(Layer("ADD", (a, b), {"fused_activation_function": activation}), y)

    def mul(self, a: int, b: int) -> int:
        """Element-wise product; axes of size 1 are repeated."""
        return self._record(Layer("MUL", (a, b)), self.values[a] * self.values[b])

    def average_pool(self, x: int, window: tuple[int, int]) -> int:
        """Average over windows that do not overlap; the window must divide the image."""
        n, height, width, channels = self.values[x].shape
        rows, columns = height // window[0], width // window[1]
        y = self.values[x].reshape(n, rows, window[0], columns, window[1], channels).mean((2, 4))
        options = {"filter_height": window[0], "filter_width": window[1], **_window(window, "VALID")}
        return self._record(Layer("AVERAGE_POOL_2D", (x,), options), y)

    def mean(self, x: int, axes: Sequence[int], keep_dims: bool = False, rescaled: bool = False) -> int:
        """Mean over axes; `rescaled` to its own range, which is often a small part of its input's."""
        y = self.values[x].mean(tuple(axes), keepdims=keep_dims)
        operand = np.array(axes, np.int32)
        return self._record(Layer("MEAN", (x,), {"keep_dims": keep_dims}, operand=operand, rescaled=rescaled), y)

    def pad(self, x: int, paddings: Sequence[tuple[int, int]]) -> int:
        """Zeros around each axis: (before, after) for each."""
        operand = np.array(paddings, np.int32)
        return self._record(Layer("PAD", (x,), operand=operand), np.pad(self.values[x], paddings))

    def transpose(self, x: int, order: Sequence[int]) -> int:
        """Axes in another order; the batch axis must stay first."""
        operand = np.array(order, np.int32)
        return self._record(Layer("TRANSPOSE", (x,), operand=operand), self.values[x].transpose(order))

    def reshape(self, x: int, shape: Sequence[int]) -> int:
        """Another shape; it starts with 1 or -1 for the batch."""
        y = self.values[x].reshape(-1, *shape[1:])
        return self._record(Layer("RESHAPE", (x,), operand=np.array(shape, np.int32)), y)

    def logistic(self, x: int) -> int:
        """1 / (1 + exp(-x))."""
        return self._record(Layer("LOGISTIC", (x,)), 1 / (1 + np.exp(-self.values[x])))

    def softmax(self, x: int) -> int:
        """Softmax over the last axis."""
        e = np.exp(self.values[x] - self.values[x].max(-1, keepdims=True))
        return self._record(Layer("SOFTMAX", (x,)), e / e.sum(-1, keepdims=True))

    def _add(
        self,
        kind: str,
        x: int,
        y: Array,
        weights: Array,
        bias: Array,
        channel_axis: int | None,
        activation: str,
        **options: Any,
    ) -> int:
        options["fused_activation_function"] = activation
        layer = Layer(kind, (x,), options, weights, bias, channel_axis=channel_axis)
        return self._record(layer, _ACTIVATIONS[activation](y))

    def _record(self, layer: Layer, value: Array) -> int:
        self.layers.append(layer)
        self.values.append(value)
        return len(self.values) - 1


def fold_batch_norm(
    weights: Array,
    channel_axis: int,
    mean: Array,
    variance: Array,
    gamma: Array,
    beta: Array,
    epsilon: float = 1e-5,
) -> tuple[Array, Array]:
    """The weights and bias of a convolution that also does the batch normalization after it."""
    gain = gamma / np.sqrt(variance + epsilon)
    shape = [-1 if axis == channel_axis else 1 for axis in range(weights.ndim)]
    return weights * gain.reshape(shape), beta - mean * gain


def convolve(x: Array, weights: Array, stride: tuple[int, int], padding: str) -> Array:
    """Convolution without bias, one kernel tap at a time."""
    taps = _taps(x, weights.shape, stride, padding)
    return sum((tap @ weights[:, i, j].T for i, j, tap in taps), start=np.zeros(1))


def convolve_depthwise(x: Array, weights: Array, stride: tuple[int, int], padding: str) -> Array:
    """Depthwise convolution without bias, one kernel tap at a time."""
    taps = _taps(x, weights.shape, stride, padding)
    return sum((tap * weights[0, i, j] for i, j, tap in taps), start=np.zeros(1))


def to_int8(net: Net, float_edges: bool = False) -> bytes:
    """The int8 model. With `float_edges` its input and output are float32, quantized inside the model."""
    w = Writer(net.name)
    quantization = _quantizations(net)
    first, last = net.values[0], net.values[-1]
    if float_edges:
        real = w.input("input", _one(first), "float32")
        tensors = [w.tensor("input_int8", _one(first), "int8", *quantization[0])]
        w.op("QUANTIZE", [real], tensors)
    else:
        tensors = [w.input("input", _one(first), "int8", *quantization[0])]
    for n, layer in enumerate(net.layers):
        operands = [tensors[i] for i in layer.inputs]
        operands += _int8_constants(w, layer, _name(layer, n), quantization[layer.inputs[0]][0])
        y = w.tensor(_name(layer, n), _one(net.values[n + 1]), "int8", *quantization[n + 1])
        w.op(layer.kind, operands, [y], **layer.options)
        tensors.append(y)
    if float_edges:
        tensors.append(w.tensor("output", _one(last), "float32"))
        w.op("DEQUANTIZE", [tensors[-2]], [tensors[-1]])
    w.output(tensors[-1])
    return w.finish()


def to_float32(net: Net) -> bytes:
    """The same network with float32 weights and activations."""
    w = Writer(net.name)
    tensors = [w.input("input", _one(net.values[0]), "float32")]
    for n, layer in enumerate(net.layers):
        name = _name(layer, n)
        operands = [tensors[i] for i in layer.inputs]
        if layer.weights is not None and layer.bias is not None:
            operands.append(w.const(f"{name}/weights", layer.weights.astype(np.float32)))
            operands.append(w.const(f"{name}/bias", layer.bias.astype(np.float32)))
        if layer.operand is not None:
            operands.append(w.const(f"{name}/operand", layer.operand))
        tensors.append(w.tensor(name, _one(net.values[n + 1]), "float32"))
        w.op(layer.kind, operands, tensors[-1:], **layer.options)
    w.output(tensors[-1])
    return w.finish()


def quantize_array(x: Array, scale: float, zero_point: int) -> NDArray[np.int8]:
    """Real numbers as int8, rounded to the nearest and kept in range."""
    return np.clip(np.round(x / scale) + zero_point, -128, 127).astype(np.int8)


def activation_quantization(low: float, high: float) -> tuple[float, int]:
    """Scale and zero point of int8 for a range, widened to hold zero exactly as padding needs."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32(max((high - low) / 255, _SMALLEST_SCALE)))
    return scale, int(np.clip(np.round(-128 - low / scale), -128, 127))


def _quantizations(net: Net) -> list[tuple[float, int]]:
    """Scale and zero point of each value; layers that only move or average data keep their input's."""
    result = [activation_quantization(*net.input_range)]
    for layer, value in zip(net.layers, net.values[1:], strict=True):
        if layer.kind in _KEEPS_SCALE and not layer.rescaled:
            result.append(result[layer.inputs[0]])
        elif layer.kind in _UNIT_RANGE:
            result.append(_UNIT_QUANTIZATION)
        else:
            result.append(activation_quantization(float(value.min()), float(value.max())))
    return result


def _int8_constants(w: Writer, layer: Layer, name: str, input_scale: float) -> list[int]:
    if layer.operand is not None:
        return [w.const(f"{name}/operand", layer.operand)]
    if layer.weights is None or layer.bias is None:
        return []
    scales = weight_scales(layer.weights, layer.channel_axis)
    axis = layer.channel_axis or 0
    spread = scales if layer.channel_axis is None else scales.reshape(_along(axis, layer.weights.ndim))
    weights = np.clip(np.round(layer.weights / spread), -127, 127).astype(np.int8)
    bias_scales = (np.float32(input_scale) * scales.astype(np.float32)).astype(np.float32)
    bias = np.clip(np.round(layer.bias / bias_scales.astype(np.float64)), -(2**31), 2**31 - 1)
    return [
        w.const(f"{name}/weights", weights, scales, axis=axis),
        w.const(f"{name}/bias", bias.astype(np.int32), bias_scales),
    ]


def weight_scales(weights: Array, channel_axis: int | None) -> Array:
    """Symmetric scales, one for each channel, or one in all when there is no channel axis."""
    others = tuple(axis for axis in range(weights.ndim) if axis != channel_axis)
    largest = np.atleast_1d(np.abs(weights).max(axis=others))
    return np.maximum(largest / 127, _SMALLEST_SCALE).astype(np.float32).astype(np.float64)


def _along(axis: int, rank: int) -> list[int]:
    return [-1 if a == axis else 1 for a in range(rank)]


def _one(value: Array) -> tuple[int, ...]:
    """The shape of one sample of a batch."""
    return (1, *value.shape[1:])


def _name(layer: Layer, n: int) -> str:
    return f"{n}_{layer.kind.lower()}"


def _window(stride: tuple[int, int], padding: str) -> dict[str, Any]:
    return {"stride_h": stride[0], "stride_w": stride[1], "padding": padding}


def _taps(
    x: Array, weight_shape: tuple[int, ...], stride: tuple[int, int], padding: str
) -> Iterator[tuple[int, int, Array]]:
    """For each kernel position (i, j), the inputs that it meets at all output positions."""
    kernel = weight_shape[1:3]
    spans, paddings = [], [(0, 0)]
    for size, k, s in zip(x.shape[1:3], kernel, stride, strict=True):
        outputs = -(-size // s) if padding == "SAME" else (size - k) // s + 1
        span = (outputs - 1) * s + 1
        missing = max(span - 1 + k - size, 0)
        spans.append(span)
        paddings.append((missing // 2, missing - missing // 2))
    padded = np.pad(x, [*paddings, (0, 0)])
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            yield i, j, padded[:, i : i + spans[0] : stride[0], j : j + spans[1] : stride[1]]
