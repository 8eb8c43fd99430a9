"""Small layers of odd shapes, in int8 and int16x8, on which generators are checked, all in one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mote.frontends.tflite.writer import Writer

Shape = tuple[int, ...]
INPUT, OUTPUT = (0.05, 3), (0.07, -5)
"""(scale, zero point) of int8 inputs and outputs; int16 has zero points of 0."""


@dataclass(frozen=True)
class LayerWriter:
    """Adds layers with one activation type to a model."""

    writer: Writer
    rng: np.random.Generator
    dtype: str = "int8"

    def tensor(self, name: str, shape: Shape, quant: tuple[float, int]) -> int:
        return self.writer.tensor(name, shape, self.dtype, quant[0] / self._finer, quant[1] * (self._finer == 1))

    def input(self, name: str, *shape: int) -> int:
        return self.writer.input(name, shape, self.dtype, INPUT[0] / self._finer, INPUT[1] * (self._finer == 1))

    @property
    def _finer(self) -> int:
        return 256 if self.dtype == "int16" else 1

    def weighted(self, name: str, kind: str, x: int, weights: Shape, out: Shape, axis: int = 0, **options: Any) -> int:
        """Adds a layer with per-channel weights and a bias."""
        channels = weights[axis]
        scales = self.rng.uniform(0.002, 0.02, channels if kind != "FULLY_CONNECTED" else 1).astype(np.float32)
        values = self.rng.integers(-127, 128, weights).astype(np.int8)
        bias = self.rng.integers(-2000, 2000, channels).astype(np.int64 if self._finer > 1 else np.int32)
        w = self.writer.const(f"{name}_weights", values, scales, axis=axis)
        b = self.writer.const(f"{name}_bias", bias, scales * np.float32(INPUT[0] / self._finer))
        y = self.tensor(name, out, OUTPUT)
        self.writer.op(kind, [x, w, b], [y], **options)
        return y

    def plain(
        self, name: str, kind: str, inputs: list[int], out: Shape, quant: tuple[float, int] = OUTPUT, **options: Any
    ) -> int:
        y = self.tensor(name, out, quant)
        self.writer.op(kind, inputs, [y], **options)
        return y


Layer = Callable[[LayerWriter, str], int]
"""Adds one or several layers with an own input; returns the last output."""


def _conv(
    net: LayerWriter, name: str, size: Shape, outputs: int, kernel: Shape, stride: int = 1, padding: str = "SAME",
    **options: Any,
) -> int:  # fmt: skip
    height, width, channels = size
    spare = [0 if padding == "SAME" else k - 1 for k in kernel]
    out = (1, *(-(-(n - lost) // stride) for n, lost in zip((height, width), spare, strict=True)), outputs)
    x = net.input(f"{name}_in", 1, *size)
    options = {"padding": padding, "stride_h": stride, "stride_w": stride, **options}
    return net.weighted(name, "CONV_2D", x, (outputs, *kernel, channels), out, **options)


def _depthwise(
    net: LayerWriter, name: str, size: Shape, kernel: Shape = (3, 3), stride: int = 1, multiplier: int = 1,
    padding: str = "SAME", **options: Any,
) -> int:  # fmt: skip
    height, width, channels = size
    spare = [0 if padding == "SAME" else k - 1 for k in kernel]
    sizes = (-(-(n - lost) // stride) for n, lost in zip((height, width), spare, strict=True))
    outputs = channels * multiplier
    x = net.input(f"{name}_in", 1, *size)
    options = {"padding": padding, "stride_h": stride, "stride_w": stride, "depth_multiplier": multiplier, **options}
    return net.weighted(name, "DEPTHWISE_CONV_2D", x, (1, *kernel, outputs), (1, *sizes, outputs), axis=3, **options)


def _fully_connected(net: LayerWriter, name: str, inputs: int, outputs: int, **options: Any) -> int:
    x = net.input(f"{name}_in", 1, inputs)
    return net.weighted(name, "FULLY_CONNECTED", x, (outputs, inputs), (1, outputs), **options)


def _binary(net: LayerWriter, name: str, kind: str, **options: Any) -> int:
    shape = (1, 5, 7, 3)
    inputs = [net.input(f"{name}_{side}", *shape) for side in ("left", "right")]
    return net.plain(name, kind, inputs, shape, **options)


def _unary(net: LayerWriter, name: str, kind: str, quant: tuple[float, int] = OUTPUT, **options: Any) -> int:
    shape = (1, 3, 5, 7)
    return net.plain(name, kind, [net.input(f"{name}_in", *shape)], shape, quant, **options)


def _pool(net: LayerWriter, name: str, kind: str, size: int, stride: int) -> int:
    x = net.input(f"{name}_in", 1, 8, 6, 5)
    options = {"padding": "VALID", "filter_height": size, "filter_width": size, "stride_h": stride, "stride_w": stride}
    out = (1, (8 - size) // stride + 1, (6 - size) // stride + 1, 5)
    return net.plain(name, kind, [x], out, INPUT, **options)


def _block(net: LayerWriter, name: str) -> int:
    """Adds a depthwise and a pointwise convolution with a residual sum."""
    x = net.input(f"{name}_in", 1, 6, 5, 8)
    wide = net.weighted(
        f"{name}_depthwise", "DEPTHWISE_CONV_2D", x, (1, 3, 3, 8), (1, 6, 5, 8), axis=3, padding="SAME",
        depth_multiplier=1, fused_activation_function="RELU6",
    )  # fmt: skip
    y = net.weighted(f"{name}_pointwise", "CONV_2D", wide, (8, 1, 1, 8), (1, 6, 5, 8), padding="SAME")
    return net.plain(name, "ADD", [x, y], (1, 6, 5, 8))


def _two_functions(net: LayerWriter, name: str) -> int:
    """Adds two functions of one tensor, both combined with another tensor."""
    x, z = (net.input(f"{name}_{which}", 1, 40) for which in ("in", "other"))
    first = net.plain(f"{name}_first", "LOGISTIC", [x], (1, 40), (1 / 256, -128))
    second = net.plain(f"{name}_second", "LEAKY_RELU", [x], (1, 40), alpha=0.3)
    product = net.plain(f"{name}_product", "MUL", [first, z], (1, 40))
    return net.plain(name, "ADD", [product, second], (1, 40))


UNIT = 1 / 256, -128
INT8: Mapping[str, Layer] = {
    "conv_1x1": partial(_conv, size=(5, 4, 9), outputs=7, kernel=(1, 1)),
    "conv_1x1_relu6": partial(_conv, size=(4, 4, 8), outputs=8, kernel=(1, 1), fused_activation_function="RELU6"),
    "conv_3x3": partial(_conv, size=(7, 6, 3), outputs=5, kernel=(3, 3)),
    "conv_3x3_valid": partial(_conv, size=(6, 7, 4), outputs=8, kernel=(3, 3), padding="VALID"),
    "conv_3x3_stride_2": partial(_conv, size=(9, 8, 3), outputs=8, kernel=(3, 3), stride=2),
    "conv_5x2": partial(_conv, size=(8, 5, 2), outputs=3, kernel=(5, 2), fused_activation_function="RELU"),
    "conv_dilated": partial(_conv, size=(8, 8, 2), outputs=3, kernel=(3, 3), dilation_h_factor=2, dilation_w_factor=2),
    "depthwise_3x3": partial(_depthwise, size=(6, 5, 8)),
    "depthwise_3x3_odd": partial(_depthwise, size=(7, 5, 5), fused_activation_function="RELU6"),
    "depthwise_3x3_stride_2": partial(_depthwise, size=(8, 9, 4), stride=2),
    "depthwise_valid": partial(_depthwise, size=(6, 6, 3), padding="VALID"),
    "depthwise_multiplier": partial(_depthwise, size=(5, 5, 3), multiplier=2),
    "depthwise_5x5": partial(_depthwise, size=(7, 7, 4), kernel=(5, 5)),
    "fully_connected": partial(_fully_connected, inputs=48, outputs=10),
    "fully_connected_odd": partial(_fully_connected, inputs=37, outputs=5, fused_activation_function="RELU"),
    "add": partial(_binary, kind="ADD"),
    "add_relu": partial(_binary, kind="ADD", fused_activation_function="RELU"),
    "sub": partial(_binary, kind="SUB"),
    "mul": partial(_binary, kind="MUL"),
    "relu": partial(_unary, kind="RELU"),
    "leaky_relu": partial(_unary, kind="LEAKY_RELU", alpha=0.2),
    "hard_swish": partial(_unary, kind="HARD_SWISH"),
    "logistic": partial(_unary, kind="LOGISTIC", quant=UNIT),
    "softmax": partial(_unary, kind="SOFTMAX", quant=UNIT),
    "average_pool": partial(_pool, kind="AVERAGE_POOL_2D", size=2, stride=2),
    "average_pool_3": partial(_pool, kind="AVERAGE_POOL_2D", size=3, stride=1),
    "max_pool": partial(_pool, kind="MAX_POOL_2D", size=2, stride=2),
    "residual_block": _block,
    "two_functions": _two_functions,
}
INT16: Mapping[str, Layer] = {
    "conv_3x3": partial(_conv, size=(5, 6, 3), outputs=4, kernel=(3, 3)),
    "depthwise_3x3": partial(_depthwise, size=(5, 6, 4)),
    "fully_connected": partial(_fully_connected, inputs=33, outputs=6),
    "add": partial(_binary, kind="ADD"),
    "mul": partial(_binary, kind="MUL"),
}
LAYERS: Mapping[str, tuple[str, Layer]] = {
    **{name: ("int8", layer) for name, layer in INT8.items()},
    **{f"{name}_int16": ("int16", layer) for name, layer in INT16.items()},
}
"""Layers by name, with activation type and function."""


def layers_model(names: tuple[str, ...], seed: int = 0) -> bytes:
    """A model of independent layers, each with its own inputs and outputs."""
    writer = Writer("layers")
    outputs = []
    for name in names:
        dtype, layer = LAYERS[name]
        rng = np.random.default_rng([seed, list(LAYERS).index(name)])
        outputs.append(layer(LayerWriter(writer, rng, dtype), name))
    writer.output(*outputs)
    return writer.finish()


def layer_of(name: str) -> str:
    """Name of the layer to which an operator of such a model belongs."""
    return max((layer for layer in LAYERS if name.startswith(layer)), key=len, default="")
