"""Random QONNX models as Brevitas and QKeras export them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.helpers.onnx_models import Net, onnx

GENERAL = "qonnx.custom_op.general"
BREVITAS = "onnx.brevitas"
LAST = "qonnx.custom_op.channels_last"
MODES = ("ROUND", "FLOOR", "CEIL", "UP", "DOWN", "HALF_UP", "HALF_DOWN")
SIDES = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}


class Quantized(Net):
    """A net with quantizers. `exact`: all scales are powers of two, so that float32 is exact in all of it."""

    def __init__(self, seed: int = 0, *, exact: bool = False, domain: str = GENERAL) -> None:
        super().__init__(seed, opset=13)
        self.exact = exact
        self.domain = domain

    def real(self, value: Any) -> str:  # type: ignore[override]
        return self.const(np.asarray(value, np.float32))

    def scale(self, about: float, *shape: int) -> Any:
        found = about * self.rng.uniform(0.7, 1.4, shape)
        return np.float32(2.0 ** np.rint(np.log2(found))) if self.exact else np.float32(found)

    def quant(
        self,
        x: str,
        scale: Any,
        bits: float,
        *,
        signed: int = 1,
        narrow: int = 0,
        zero: Any = 0.0,
        mode: str = "ROUND",
        kind: str = "Quant",
    ) -> str:
        given = (self.real(value) for value in (scale, zero, bits))
        return self.op(kind, x, *given, domain=self.domain, signed=signed, narrow=narrow, rounding_mode=mode)

    def bipolar(self, x: str, scale: float) -> str:
        return self.op("BipolarQuant", x, self.real(scale), domain=self.domain)

    def layer_weights(self, shape: tuple[int, ...], bits: int, *, channels: int | None = 0, order: Any = None) -> str:
        """Constants with `bits`, with a scale for each index of an axis, or one for all."""
        source = self.real(self.rng.normal(size=shape))
        if bits == 1:
            return self.bipolar(source, self.scale(0.5))
        sizes = [n if a == channels else 1 for a, n in enumerate(shape)]
        found = self.quant(source, self.scale(3 / 2 ** (bits - 1), *sizes), bits, narrow=1)
        return found if order is None else self.op("Transpose", found, perm=order)

    def batch_norm(self, x: str, channels: int, domain: str = "") -> str:
        """Some channels are turned over."""
        given = self.rng.normal(1, 0.5, channels), *self.rng.normal(0, 0.3, (2, channels))
        constants = [self.real(value) for value in (*given, self.rng.uniform(0.5, 2, channels))]
        return self.op("BatchNormalization", x, *constants, domain=domain, epsilon=1e-5, momentum=0.9)

    def finished(self, *results: str) -> bytes:
        for result in results:
            self.output(result)
        graph = onnx.helper.make_graph(self.nodes, "net", self.inputs, self.outputs, self.initializers)
        domains = {"": self.opset, BREVITAS: 1, LAST: self.opset} | (
            {} if self.domain == BREVITAS else {self.domain: 2}
        )
        opsets = [onnx.helper.make_opsetid(*each) for each in domains.items()]
        return bytes(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def network(
    seed: int,
    weights: int,
    activations: int,
    *,
    exact: bool = False,
    normalized: bool = True,
    mode: str = "ROUND",
    domain: str = GENERAL,
    channels: int = 8,
) -> bytes:
    """A residual block between two layers: weights and activations of so many bits."""
    net = Quantized(seed, exact=exact, domain=domain)

    def act(x: str, scale: Any) -> str:
        return net.quant(net.op("Relu", x), scale, activations, signed=0, mode=mode)

    def norm(x: str) -> str:
        if normalized:
            return net.batch_norm(x, channels)
        return net.op("Add", x, net.real(net.scale(1 / 64) * net.rng.integers(-20, 20, (1, channels, 1, 1))))

    x = net.quant(net.input(1, 3, 8, 8), net.scale(2 / 128), 8)
    scale = net.scale(4 / 2**activations)
    x = first = act(norm(net.op("Conv", x, net.layer_weights((channels, 3, 3, 3), weights), **SIDES)), scale)
    deep = net.layer_weights((channels, 1, 3, 3), weights)
    x = act(norm(net.op("Conv", x, deep, group=channels, **SIDES)), net.scale(4 / 2**activations))
    x = norm(net.op("Conv", x, net.layer_weights((channels, channels, 1, 1), weights), kernel_shape=[1, 1]))
    x = net.op("Add", net.quant(x, scale, activations + 1), first)
    x = net.op("MaxPool", act(x, net.scale(6 / 2**activations)), kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("MatMul", net.op("Flatten", x), net.layer_weights((16 * channels, 10), weights, channels=None))
    x = net.quant(x, net.scale(20 / 128), 8)
    return net.finished(net.op("Gemm", x, net.layer_weights((5, 10), 8), net.real(net.rng.normal(size=5)), transB=1))


def forms(net: Quantized) -> Iterator[str]:
    """What else quantizers and layers can be like; one scale is a power of two where ties would be frequent."""
    x = net.quant(net.input(1, 4, 6, 6), 1 / 16, 6)
    unsigned = net.quant(net.op("Relu", x), 1 / 16, 5, signed=0)
    signs = net.bipolar(net.op("Add", x, net.real(0.125)), 0.75)
    weights = net.layer_weights((6, 4, 3, 3), 1)
    yield net.bipolar(net.batch_norm(net.op("Conv", signs, weights, **SIDES), 6), 1.0)
    yield net.quant(net.batch_norm(net.op("Conv", signs, weights, kernel_shape=[3, 3]), 6), 0.4, 1)
    yield net.quant(net.op("Conv", unsigned, weights, kernel_shape=[3, 3]), 0.21, 8, zero=3.0)
    yield net.quant(net.op("Conv", x, weights, kernel_shape=[3, 3]), 0.25, 7, signed=0, zero=65.0)
    yield net.quant(net.op("Conv", x, weights, kernel_shape=[3, 3]), 0.125, 3.5, narrow=1)
    yield net.quant(net.op("Conv", x, weights, kernel_shape=[3, 3]), 0.3, 4, kind="IntQuant")
    yield from _int16(net, x)
    grouped = net.layer_weights((6, 2, 3, 3), 4)
    yield net.quant(net.op("Conv", unsigned, grouped, kernel_shape=[3, 3], group=2), 0.17, 4)
    turned = net.layer_weights((7, 6), 3, order=[1, 0])
    yield net.quant(net.op("MatMul", x, turned), 0.2, 8)
    yield net.quant(net.op("Clip", net.op("MatMul", x, turned), net.real(-1.0), net.real(2.5)), 0.2, 8)
    each = net.rng.uniform(0.05, 0.2, (1, 4, 1, 1))
    yield net.quant(x, each, 5)
    yield net.quant(net.op("Add", x, unsigned), 0.13, 8, mode="FLOOR")
    yield net.op("Concat", x, net.quant(net.op("Neg", x), 1 / 16, 6), axis=1)
    for mode in MODES[1:]:
        yield net.quant(net.op("Conv", x, weights, kernel_shape=[3, 3]), 0.25, 6, mode=mode)
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    total = net.op("Mul", net.op("AveragePool", unsigned, **pool), net.real(4.0))
    given = [net.real(value) for value in (1 / 16, 0.0, 7.0)]
    yield net.op("Trunc", total, *given, net.real(5.0), domain=BREVITAS, rounding_mode="FLOOR")
    yield net.op("Trunc", total, *given, net.real(0.25), net.real(5.0), domain=GENERAL, signed=0, rounding_mode="CEIL")
    yield net.quant(net.op("GlobalAveragePool", unsigned), 1 / 16, 5, signed=0)


def int16_forms(net: Quantized) -> Iterator[str]:
    """Results, inputs and weights of more than 8 bits, of small images."""
    yield from _int16(net, net.quant(net.input(1, 4, 4, 4), 1 / 16, 6))


def _int16(net: Quantized, x: str) -> Iterator[str]:
    weights = net.layer_weights((6, 4, 3, 3), 1)
    wide = net.layer_weights((6, 4, 3, 3), 12)
    yield net.quant(net.batch_norm(net.op("Conv", x, wide, kernel_shape=[3, 3]), 6), 0.003, 14)
    long = net.quant(net.op("Conv", x, weights, kernel_shape=[3, 3]), 1 / 512, 16)
    yield long
    half = net.quant(net.op("Relu", long), 1 / 256, 16, signed=0)
    yield net.quant(net.op("Conv", half, net.layer_weights((4, 6, 1, 1), 4), kernel_shape=[1, 1]), 0.125, 8)


def channels_last(net: Quantized) -> str:
    """Operators on images with channels last."""
    x = net.quant(net.input(1, 8, 8, 3), 1 / 64, 8)
    weights = net.layer_weights((8, 3, 3, 3), 4)
    window = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1], "dilations": [1, 1], "group": 1}
    x = net.op("Conv", x, weights, domain=LAST, **window)
    x = net.quant(net.op("Relu", net.batch_norm(x, 8, LAST)), 0.13, 4, signed=0)
    return net.op("MaxPool", x, domain=LAST, kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0])
