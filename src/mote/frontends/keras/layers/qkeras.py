"""Layers of QKeras: those of Keras with quantized weights and activations. Where both operands of a product and its
result are quantized to 8 bits, it is computed in integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Protocol

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import norms, quantized, reductions
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras import activations
from mote.frontends.keras.call import LayerCall, Parser, channels_back, channels_second, only
from mote.frontends.keras.config import LayerConfig
from mote.frontends.keras.layers import core, normalization, windows
from mote.frontends.keras.quantizers import FUNCTIONS, Grid, Quantizer, described
from mote.ir.graph import Quantization
from mote.ir.graph.tensor import Array

Codes = Callable[[Quantization], Value]
"""Builds a product in integers, given the quantization of its result."""


class ActivationQuantizer(Protocol):
    """A quantizer of activations."""

    @property
    def grid(self) -> Grid | None: ...

    def of_value(self, b: Builder, x: Value) -> Value: ...


MOVES = frozenset({"Flatten", "MaxPooling1D", "MaxPooling2D", "Permute", "Reshape"})
"""Layers that only move elements."""
LARGEST = 1 << 24
"""Integer sums below this bound are exact in single precision."""


def _quantizer(layer: LayerConfig, option: str) -> Quantizer | None:
    said = layer.options.get(option)
    quantizer = described(said)
    if said is not None and quantizer is None:
        raise UnsupportedNodeError(f"the {option} '{activations.shown(said)}' is not supported")
    return quantizer


def with_weights(layer: LayerConfig, weights: Mapping[int, Array], **options: object) -> LayerConfig:
    """A layer with other weights of its own, and other options."""
    said = {**layer.said, "config": {**layer.options, **options}}
    return LayerConfig(said, {f"{layer.path}vars/{i}": x for i, x in weights.items()}, layer.path)


def stored(layer: LayerConfig) -> list[Array]:
    """The weights of a layer, in order."""
    arrays: list[Array] = []
    while (path := f"{layer.path}vars/{len(arrays)}") in layer.weights:
        arrays.append(layer.weights[path])
    return arrays


def quantized_layer(parser: Parser, *kernels: str) -> Parser:
    """A layer with quantized kernels, and perhaps a quantized bias."""

    def parse(call: LayerCall) -> Value:
        quantizers = [_quantizer(call.layer, f"{name}_quantizer") for name in (*kernels, "bias")]
        weights = {i: _on_grid(x, q) for i, (x, q) in enumerate(zip(stored(call.layer), quantizers, strict=False))}
        if call.layer.options.get("mask") is not None:
            weights |= {0: _masked(call, weights.get(0))}
        layer = with_weights(call.layer, weights, activation=None)
        return _activated(call, product(replace(call, layer=layer), parser))

    return parse


def _on_grid(x: Array, quantizer: Quantizer | None) -> Array:
    return x if quantizer is None else quantizer.of_weights(x)


def _masked(call: LayerCall, kernel: Array | None) -> Array:
    """A kernel without the taps that the layer's mask drops."""
    try:
        mask = np.asarray(call.layer.options["mask"], np.float32)
        masked: Array = np.asarray(kernel, np.float32) * mask
    except (TypeError, ValueError):
        masked = np.zeros(0)
    if kernel is None or masked.shape != kernel.shape:
        raise UnsupportedNodeError("its mask does not fit its kernel")
    return masked


def product(call: LayerCall, parser: Parser) -> Value:
    """A layer's result in float, and the function that builds it in integers."""
    made = only(parser(call))
    maker = _INTEGERS.get(parser)
    if maker is not None and (codes := maker(call)) is not None:
        call.codes[made.tensor] = made.shape, codes
    return made


def _activated(call: LayerCall, x: Value) -> Value:
    """A value after the layer's quantizer or activation."""
    said = call.layer.options.get("activation")
    quantizer = described(said)
    if quantizer is not None:
        return rounded(call, x, quantizer)
    if isinstance(said, Mapping) and said.get("class_name") == "function":
        said = said.get("config")
    if isinstance(said, str):
        function = FUNCTIONS[said] if said in FUNCTIONS else activations.named(said)
        return function(call.b, x)
    return core.activated(call, x)


def rounded(call: LayerCall, x: Value, quantizer: ActivationQuantizer) -> Value:
    """A quantized value; a product of integers is computed in integers."""
    b, grid = call.b, quantizer.grid
    shape, codes = call.codes.get(x.tensor, ((), None))
    if grid is None or grid.dtype is None or codes is None or shape != x.shape:
        return quantizer.of_value(b, x)
    made = codes(grid.quantization)
    low, high = grid.low * grid.step, grid.high * grid.step
    if not grid.is_whole:
        made = quantized.function(b, made, lambda real: np.clip(real, low, high), grid.quantization)
    return quantized.dequantize(b, made)


def activation(call: LayerCall) -> Value:
    return _activated(call, call.x)


# Integers


def _integers(call: LayerCall, kernel: Array, channels: int) -> tuple[Value, Array, Array, Array | None] | None:
    """The codes of a layer's input, its kernel as int8, the scales of its channels, which are last, and the bias in
    units of the product scale; None where an operand is not quantized to 8 bits."""
    codes = None if call.x.constant else quantized.codes_of(call.b, call.x)
    if codes is None:
        return None
    quant = quantized.known_quant(call.b, codes)
    coded = _coded(kernel)
    if coded is None or quant.per_channel:
        return None
    weights, scales = coded
    steps = np.float64(quant.scale[0]) * scales.astype(np.float64)
    bias = call.bias(1, channels)
    if bias is None:
        return codes, weights, scales, None
    whole = np.rint(bias.astype(np.float64) / steps)
    if np.any(whole * steps != bias.astype(np.float64)) or np.abs(whole).max() >= LARGEST:
        return None
    return codes, weights, scales, whole.astype(np.int32)


def _coded(kernel: Array) -> tuple[Array, Array] | None:
    """A kernel as int8 with a power-of-two scale for each channel along its last axis."""
    if not kernel.size:
        return None
    flat = kernel.reshape(-1, kernel.shape[-1]).astype(np.float64)
    largest = np.abs(flat).max(axis=0)
    used = np.where(largest > 0, largest, 1.0)
    for bits in range(8):
        scale = np.exp2(np.floor(np.log2(used)) - bits)
        steps = flat / scale
        if np.array_equal(steps, np.rint(steps)) and np.abs(steps).max() <= 127:
            return steps.astype(np.int8).reshape(kernel.shape), scale.astype(np.float32)
    return None


def _dense_of_integers(call: LayerCall) -> Codes | None:
    units = call.layer.integer("units")
    operands = _integers(call, call.weight(0, (call.x.shape[-1], units), "kernel"), units)
    if operands is None:
        return None
    codes, weights, scales, bias = operands
    return lambda out: quantized.linear(call.b, codes, weights, scales, bias, out)


def _conv_of_integers(count: int) -> Callable[[LayerCall], Codes | None]:
    def make(call: LayerCall) -> Codes | None:
        layer, x = call.layer, call.x
        filters, groups = layer.integer("filters"), layer.integer("groups", 1)
        depth = x.shape[1 if call.channels_first else -1] // groups
        kernel = call.weight(0, (*layer.integers("kernel_size", count), depth, filters), "kernel")
        operands = _integers(call, kernel, filters)
        if operands is None:
            return None
        codes, weights, scales, bias = operands
        return _window(call, count, codes, windows.outputs_first(weights), scales, bias, groups)

    return make


def _depthwise_of_integers(call: LayerCall) -> Codes | None:
    x, times = call.x, call.layer.integer("depth_multiplier", 1)
    channels = x.shape[1 if call.channels_first else -1]
    kernel = call.weight(0, (*call.layer.integers("kernel_size", 2), channels, times), "kernel")
    operands = _integers(call, kernel.reshape(*kernel.shape[:-2], 1, -1), channels * times)
    if operands is None:
        return None
    codes, weights, scales, bias = operands
    return _window(call, 2, codes, windows.outputs_first(weights), scales, bias, channels)


def _window(
    call: LayerCall, count: int, codes: Value, weights: Array, scales: Array, bias: Array | None, groups: int
) -> Codes:
    b, first = call.b, call.channels_first
    quant = quantized.known_quant(b, codes)

    def make(out: Quantization) -> Value:
        image = quantized.coded(b, channels_second(b, codes, first), quant)
        axes = windows.window_of(call, count, image.shape[2:])
        made = quantized.conv(b, image, weights, scales, bias, axes, out, groups=groups)
        return quantized.coded(b, channels_back(b, made, first), out)

    return make


def moved(call: LayerCall, parser: Parser) -> Value | None:
    """The result of a layer that only moves elements, on codes; None where its operand is not quantized."""
    values = call.values
    codes = None if len(values) != 1 or values[0].constant else quantized.codes_of(call.b, values[0])
    if codes is None:
        return None
    quant = quantized.known_quant(call.b, codes)
    made = only(parser(replace(call, args=[codes])))
    return quantized.dequantize(call.b, quantized.coded(call.b, made, quant))


# Batch normalization


def batch_normalization(call: LayerCall) -> Value:
    """Batch normalization with quantized statistics and parameters."""
    layer, weights = call.layer, stored(call.layer)
    scale, center = layer.flag("scale", True), layer.flag("center", True)
    names = ["gamma"] * scale + ["beta"] * center + ["mean", "variance"]
    pairs = enumerate(zip(weights, names, strict=False))
    weights_on_grid = {i: _on_grid(x, _quantizer(layer, f"{name}_quantizer")) for i, (x, name) in pairs}
    normal = replace(call, layer=with_weights(layer, weights_on_grid))
    inverse = _quantizer(layer, "inverse_quantizer")
    return normalization.batch_normalization(normal) if inverse is None else _by_inverse(normal, inverse)


def _by_inverse(call: LayerCall, quantizer: Quantizer) -> Value:
    """Batch normalization whose factor is quantized: that of each channel, with its scale."""
    x, layer = call.x, call.layer
    axis = x.axis(layer.integer("axis", -1))
    scale, center = layer.flag("scale", True), layer.flag("center", True)
    names = ["scale"] * scale + ["offset"] * center + ["mean", "variance"]
    own = {name: call.weight(i, (x.shape[axis],), name).astype(np.float32) for i, name in enumerate(names)}
    factor = np.float32(1) / np.sqrt(own["variance"] + np.float32(layer.real("epsilon", 1e-3)))
    factor = quantizer.of_weights(factor * own.get("scale", np.float32(1)))
    offset = own.get("offset", np.float32(0)) - own["mean"] * factor
    return norms.per_channel(call.b, x, factor, offset.astype(np.float32), axis)


# Pooling


def average_pooling(call: LayerCall) -> Value:
    """Averages, perhaps as sums times a quantized reciprocal."""
    factor = _reciprocal(call, prod(call.layer.integers("pool_size", 2)))
    if factor is None:
        return _activated(call, only(_AVERAGES(call)))
    area, times = factor
    made = only(_AVERAGES(replace(call, args=[e.scaled(call.b, call.x, area)])))
    return _activated(call, e.scaled(call.b, made, times))


def global_average_pooling(call: LayerCall) -> Value:
    """The average of an image, perhaps as its sum times a quantized reciprocal."""
    x = call.x
    axes = (2, 3) if call.channels_first else (1, 2)
    factor = _reciprocal(call, prod(x.shape[a] for a in axes)) if x.rank == 4 else None
    if factor is None:
        return _activated(call, only(_MEANS(call)))
    total = reductions.sum_(call.b, x, axes, call.layer.flag("keepdims", False))
    return _activated(call, e.scaled(call.b, total, factor[1]))


def _reciprocal(call: LayerCall, area: int) -> tuple[int, float] | None:
    """An area, and its quantized reciprocal; None for layers without a quantizer of averages."""
    quantizer = _quantizer(call.layer, "average_quantizer")
    return None if quantizer is None else (area, float(quantizer.of_weights(np.array([1 / area]))[0]))


def folded(parser: Parser, kernel: str, rank: int = 4) -> Parser:
    """A layer with batch normalization folded into its kernel and bias, both quantized."""

    def parse(call: LayerCall) -> Value:
        layer = call.layer
        own = [*stored(layer), *stored(replace(layer, path=f"{layer.path}batchnorm/"))]
        weights = [x.astype(np.float32) for x in own if x.ndim and x.dtype.kind in "fiub"]
        biased, scale, center = layer.flag("use_bias", True), layer.flag("scale", True), layer.flag("center", True)
        names = ["kernel"] + ["bias"] * biased + ["gamma"] * scale + ["beta"] * center + ["mean", "variance"]
        inner_axes = 2 if kernel == "depthwise" else 1
        channels = prod(weights[0].shape[-inner_axes:]) if weights else 0
        if len(weights) != len(names) or weights[0].ndim != rank or any(x.shape != (channels,) for x in weights[1:]):
            raise UnsupportedNodeError(f"it has {len(weights)} weights, whose shapes do not fit its options")
        named = dict(zip(names, weights, strict=True))
        mean, variance = named["mean"], named["variance"]
        inverse = named.get("gamma", np.float32(1)) / np.sqrt(variance + np.float32(layer.real("epsilon", 1e-3)))
        bias = inverse * (named.get("bias", np.float32(0)) - mean) + named.get("beta", np.float32(0))
        scaled = named["kernel"] * inverse.reshape(named["kernel"].shape[-inner_axes:])
        grids = _quantizer(layer, f"{kernel}_quantizer"), _quantizer(layer, "bias_quantizer")
        made = {0: _on_grid(scaled, grids[0]), 1: _on_grid(bias.astype(np.float32), grids[1])}
        inner = with_weights(layer, made, activation=None, use_bias=True)
        return _activated(call, product(replace(call, layer=inner), parser))

    return parse


CONV_1D, CONV_2D, _DEPTHWISE = windows.conv(1), windows.conv(2), windows.depthwise(2)
_AVERAGES, _MEANS = windows.pool(2, largest=False), windows.global_pool(2, largest=False)
_INTEGERS: Mapping[Parser, Callable[[LayerCall], Codes | None]] = {
    core.dense: _dense_of_integers,
    CONV_1D: _conv_of_integers(1),
    CONV_2D: _conv_of_integers(2),
    _DEPTHWISE: _depthwise_of_integers,
}
"""Integer versions of layers."""
LAYERS: Mapping[str, Parser] = {
    "QActivation": activation,
    "QAveragePooling2D": average_pooling,
    "QBatchNormalization": batch_normalization,
    "QConv1D": quantized_layer(CONV_1D, "kernel"),
    "QConv2D": quantized_layer(CONV_2D, "kernel"),
    "QConv2DBatchnorm": folded(CONV_2D, "kernel"),
    "QConv2DTranspose": quantized_layer(windows.transposed(2), "kernel"),
    "QDense": quantized_layer(core.dense, "kernel"),
    "QDenseBatchnorm": folded(core.dense, "kernel", rank=2),
    "QDepthwiseConv2D": quantized_layer(_DEPTHWISE, "depthwise"),
    "QDepthwiseConv2DBatchnorm": folded(_DEPTHWISE, "depthwise"),
    "QGlobalAveragePooling2D": global_average_pooling,
    "QSeparableConv2D": quantized_layer(windows.separable(2), "depthwise", "pointwise"),
}
