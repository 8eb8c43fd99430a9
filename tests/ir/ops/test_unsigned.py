"""Quantized uint8 networks: int8 inside, and the same as LiteRT's uint8 kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError, UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType
from tests.helpers.support import ON_ARM, check, check_numpy, exact_on, examples, needs_litert

pytestmark = needs_litert

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
Quant = tuple[float, int]


class Bytes:
    """A uint8 model as it grows: methods add an operator and return its output."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.writer = Writer("bytes")
        self.shapes: dict[int, Shape] = {}
        self.quants: dict[int, Quant] = {}

    def quant(self) -> Quant:
        return float(self.rng.uniform(0.01, 0.1)), int(self.rng.integers(0, 256))

    def input(self, *shape: int) -> int:
        quant = self.quant()
        x = self.writer.input("x", shape, "uint8", *quant)
        self.shapes[x], self.quants[x] = shape, quant
        return x

    def plain(self, kind: str, operands: Sequence[int], shape: Shape, dtype: str, **options: Any) -> int:
        """An operator whose result is not quantized."""
        y = self.writer.tensor("plain", shape, dtype)
        self.writer.op(kind, operands, [y], **options)
        return y

    def op(
        self, kind: str, operands: Sequence[int], shape: Shape | None = None, quant: Quant | None = None, **options: Any
    ) -> int:
        shape, quant = self.shapes[operands[0]] if shape is None else shape, quant or self.quant()
        y = self.writer.tensor(f"t{len(self.shapes)}", shape, "uint8", *quant)
        self.shapes[y], self.quants[y] = shape, quant
        self.writer.op(kind, operands, [y], **options)
        return y

    def weights(self, x: int, shape: Shape, channels: int, zero: int | None = None) -> list[int]:
        """Bytes from 0 to 255 with any zero point, and a bias."""
        scale = float(self.rng.uniform(0.3, 0.6)) / np.sqrt(np.prod(shape) / channels) / 80
        zero = int(self.rng.integers(0, 256)) if zero is None else zero
        k = self.writer.const("k", self.rng.integers(0, 256, shape).astype(np.uint8), scale, zero)
        bias = self.rng.integers(-3000, 3000, channels).astype(np.int32)
        return [k, self.writer.const("b", bias, np.float32(scale) * np.float32(self.quants[x][0]))]

    def conv(self, x: int, channels: int, kernel: int = 3, stride: int = 1, zero: int | None = None) -> int:
        n, height, width, depth = self.shapes[x]
        operands = [x, *self.weights(x, (channels, kernel, kernel, depth), channels, zero)]
        shape = (n, -(-height // stride), -(-width // stride), channels)
        return self.op("CONV_2D", operands, shape, stride_h=stride, stride_w=stride, **self.activation())

    def depthwise(self, x: int, multiplier: int = 1, stride: int = 1, zero: int | None = None) -> int:
        n, height, width, depth = self.shapes[x]
        operands = [x, *self.weights(x, (1, 3, 3, multiplier * depth), multiplier * depth, zero)]
        shape = (n, -(-height // stride), -(-width // stride), multiplier * depth)
        options = {"stride_h": stride, "stride_w": stride, "depth_multiplier": multiplier, **self.activation()}
        return self.op("DEPTHWISE_CONV_2D", operands, shape, **options)

    def dense(self, x: int, units: int, zero: int | None = None) -> int:
        depth = self.shapes[x][-1]
        operands = [x, *self.weights(x, (units, depth), units, zero)]
        return self.op("FULLY_CONNECTED", operands, (int(np.prod(self.shapes[x])) // depth, units), **self.activation())

    def pool(self, x: int, size: int, kind: str = "AVERAGE_POOL_2D", padding: str = "VALID") -> int:
        n, height, width, depth = self.shapes[x]
        shape = (n, height, width, depth) if padding == "SAME" else (n, height // size, width // size, depth)
        step = 1 if padding == "SAME" else size
        options = {"filter_height": size, "filter_width": size, "stride_h": step, "stride_w": step}
        return self.op(kind, [x], shape, self.quants[x], padding=padding, **options, **self.activation())

    def activation(self) -> dict[str, str]:
        return {"fused_activation_function": str(self.rng.choice(ACTIVATIONS))}

    def ints(self, *values: Any) -> int:
        return self.writer.const("ints", np.array(values, np.int32))

    def finish(self, *outputs: int) -> bytes:
        self.writer.output(*outputs)
        return self.writer.finish()


def many(seed: int) -> bytes:
    """Every operator that is taken, most of them on the same input."""
    net = Bytes(seed)
    x, v = net.input(1, 6, 7, 5), net.input(2, 11)
    found = [net.conv(x, 4), net.conv(x, 3, 1), net.conv(x, 2, 2, 2), net.conv(x, 4, 3, zero=128), net.conv(x, 1, 5)]
    found += [
        net.depthwise(x),
        net.depthwise(x, 2, 2),
        net.depthwise(x, zero=127),
        net.dense(v, 7),
        net.dense(v, 3, 128),
    ]
    found += [net.pool(x, 2), net.pool(x, 3), net.pool(x, 3, padding="SAME"), net.pool(x, 2, "MAX_POOL_2D")]
    found += [net.op(kind, [x, found[5]]) for kind in ("ADD", "SUB", "MUL")]
    found += [net.op(kind, [v]) for kind in ("RELU", "RELU6", "RELU_N1_TO_1", "HARD_SWISH")]
    found += [net.op("LOGISTIC", [v], quant=(1 / 256, 0)), net.op("TANH", [v], quant=(1 / 128, 128))]
    found += [net.op("L2_NORMALIZATION", [v], quant=(1 / 128, 128))]
    found += [net.op("SOFTMAX", [v], quant=(1 / 256, 0), beta=1.0), net.op("LEAKY_RELU", [v], alpha=-0.3)]
    slopes = net.writer.const("slopes", net.rng.integers(0, 256, (1, 1, 5)).astype(np.uint8), 0.01, 99)
    found += [net.op("PRELU", [x, slopes]), net.op("MEAN", [x, net.ints(1, 2)], (1, 5))]
    found += [net.op("CONCATENATION", [x, found[5], x], (1, 6, 7, 15), net.quants[x], axis=3)]
    found += [net.op("PAD", [x, net.ints((0, 0), (1, 2), (0, 1), (0, 0))], (1, 9, 8, 5), net.quants[x])]
    found += [net.op("RESHAPE", [x, net.ints(1, 210)], (1, 210), net.quants[x])]
    found += [net.op("RESIZE_NEAREST_NEIGHBOR", [x, net.ints(9, 4)], (1, 9, 4, 5), net.quants[x])]
    real = net.writer.tensor("real", (2, 11), "float32")
    net.writer.op("DEQUANTIZE", [v], [real])
    net.shapes[real] = (2, 11)
    found += [net.op("QUANTIZE", [real]), net.op("QUANTIZE", [v])]
    return net.finish(*found, x)


def few(seed: int) -> bytes:
    """Those that compute with zero points of weights or round otherwise than int8 ones, and an input that is output."""
    net = Bytes(seed)
    x, v = net.input(1, 6, 7, 5), net.input(2, 11)
    found = [net.conv(x, 4), net.conv(x, 3, 1), net.depthwise(x), net.dense(v, 7, 200), net.pool(x, 2)]
    found += [net.op("MEAN", [x, net.ints(1, 2)], (1, 5)), net.op("SOFTMAX", [v], quant=(1 / 256, 0), beta=1.0)]
    return net.finish(*found, x)


def later(seed: int) -> bytes:
    """Operators that uint8 networks seldom have."""
    net = Bytes(seed)
    x, v, c = net.input(1, 4, 6, 4), net.input(3, 5), net.writer.input("c", (3, 5), "bool")
    same, r = net.quants[v], net.op("RELU", [x])
    other = net.op("RELU", [v], quant=same)
    two = net.ints(2, 2)
    found = [
        net.op("DEPTH_TO_SPACE", [r], (1, 8, 12, 1), net.quants[r], block_size=2),
        net.op("SPACE_TO_DEPTH", [r], (1, 2, 3, 16), net.quants[r], block_size=2),
        net.op("SPACE_TO_BATCH_ND", [r, two, net.ints((1, 1), (0, 0))], (4, 3, 3, 4), net.quants[r]),
        net.op("MIRROR_PAD", [v, net.ints((1, 1), (1, 2))], (5, 8), same, mode="REFLECT"),
        net.op("REVERSE_V2", [v, net.ints(1)], quant=same),
        net.op("TILE", [v, net.ints(2, 1)], (6, 5), same),
        net.op("GATHER", [v, net.ints(2, 0)], (2, 5), same, axis=0),
        net.op("SELECT_V2", [c, v, other], (3, 5), same),
        net.op("MAXIMUM", [v, other], quant=same),
        net.op("MINIMUM", [v, other], quant=same),
        net.op("REDUCE_MAX", [v, net.ints(1)], (3,), same),
        net.op("REDUCE_MIN", [v, net.ints(0)], (5,), same),
        net.op("SUM", [v, net.ints(1)], (3,)),
        net.op("LOG_SOFTMAX", [v], quant=(16 / 256, 255)),
        net.op("L2_NORMALIZATION", [v], quant=(1 / 128, 128)),
        net.op("GELU", [v]),
        net.op("RELU_0_TO_1", [v]),
        net.op("PADV2", [v, net.ints((1, 0), (0, 2)), net.writer.const("seven", np.uint8([7]), *same)], (4, 7), same),
        net.plain("ARG_MAX", [v, net.ints(1)], (3,), "int32", output_type="int32"),
        net.plain("ARG_MIN", [v, net.ints(0)], (5,), "int32", output_type="int32"),
        *(net.plain(kind, [v, net.op("RELU", [v])], (3, 5), "bool") for kind in ("LESS", "EQUAL", "GREATER_EQUAL")),
    ]
    return net.finish(*found)


def test_operators_of_later_times() -> None:
    for seed in range(6):
        check_numpy(tflite.parse(model := later(seed), "model"), model, inputs=5)


def test_many_layers() -> None:
    compiled = check(few(1), inputs=4)
    g = compiled.source
    assert {g.tensors[i].dtype for i in (*g.inputs, *g.outputs)} == {DType.UINT8}
    assert {op.output(g).dtype for op in g.ops if op.outputs[0] not in g.outputs} <= {DType.INT8, DType.FLOAT32}
    used = {step.kernel.family for step in compiled.plan.steps}
    wanted = {
        "conv2d_offset",
        "pointwise_offset",
        "depthwise_offset",
        "fully_connected_offset",
        "avg_pool_upward",
        "flip",
    }
    assert wanted <= used


@given(st.integers(0, 1 << 30))
@settings(max_examples=examples(15), deadline=None)
def test_references_are_equal(seed: int) -> None:
    check_numpy(tflite.parse(model := many(seed), "model"), model, inputs=6)


BLOCKS = ((1, 2), (2, 4), (1, 4), (2, 8), (1, 8))
"""The strides of depthwise layers, and how wide the pointwise ones behind them are."""


def mobilenet(seed: int, size: int = 24, width: int = 4, blocks: Sequence[tuple[int, int]] = BLOCKS) -> bytes:
    """As quantization-aware training of 2018 left them: uint8 everywhere, weights with zero points."""
    net = Bytes(seed)
    x = net.conv(net.input(1, size, size, 3), width, 3, 2)
    for stride, factor in blocks:
        x = net.conv(net.depthwise(x, stride=stride), factor * width, 1)
    x = net.pool(x, net.shapes[x][1])
    x = net.conv(x, 10, 1)
    flat = net.op("RESHAPE", [x, net.ints(1, 10)], (1, 10), net.quants[x])
    return net.finish(net.op("SOFTMAX", [flat], quant=(1 / 256, 0), beta=1.0))


def test_a_whole_network() -> None:
    check(mobilenet(3, 12, 2, BLOCKS[1:2]))
    check(mobilenet(4, 12, 2, BLOCKS[1:2]), ram="min")


@pytest.mark.slow
def test_on_a_core() -> None:
    exact_on("cortex-m4", few(2), inputs=2)
    exact_on("cortex-m4", mobilenet(5, 12, 2, BLOCKS[1:2]), inputs=2)


@pytest.mark.slow
def test_all_of_it_and_on_a_core() -> None:
    check(many(1), inputs=4)
    check(resized(21), inputs=6)
    check(mobilenet(3))
    check(mobilenet(4), ram="min")
    exact_on("cortex-m4", many(2), inputs=2)
    exact_on("cortex-m4", mobilenet(5), inputs=2)


def test_sums_that_no_multiplier_scales() -> None:
    """A fully connected layer with large sums, which is rounded in double precision."""
    net = Bytes(6)
    x = net.input(3, 40)
    k = net.writer.const("k", net.rng.integers(0, 256, (9, 40)).astype(np.uint8), 0.01, 151)
    bias = net.writer.const("b", net.rng.integers(-(1 << 29), 1 << 29, 9).astype(np.int32), 0.01 * net.quants[x][0])
    y = net.op("FULLY_CONNECTED", [x, k, bias], (3, 9), (0.01 * net.quants[x][0] * 2.0**22, 120))
    compiled = check(net.finish(y), inputs=6, shrink=False)
    assert "fully_connected_offset_steps" in {step.kernel.family for step in compiled.plan.steps}


def resized(seed: int) -> bytes:
    """Images of many sizes, smaller and larger, by all ways to place pixels. With powers of two nothing is rounded that
    LiteRT rounds otherwise on Arm."""
    net = Bytes(seed)
    found, sizes = [], (1, 2, 4, 8) if ON_ARM else range(1, 9)
    for corners, centers in ((False, False), (True, False), (False, True), (False, True)):
        height, width, rows, columns = (int(n) for n in net.rng.choice(sizes, 4))
        x = net.input(1 + corners, height, width, 3)
        options = {"align_corners": corners, "half_pixel_centers": centers, "version": 3}
        shape = (1 + corners, rows, 2 * columns, 3)
        found.append(net.op("RESIZE_BILINEAR", [x, net.ints(*shape[1:3])], shape, net.quants[x], **options))
    return net.finish(*found)


def test_images_of_other_sizes() -> None:
    for seed in range(examples(20)):
        check_numpy(tflite.parse(model := resized(seed), "model"), model, inputs=6)
    check(resized(20), inputs=6, ram="min")
    exact_on("cortex-m4", resized(22), inputs=4)


@pytest.mark.parametrize("kind", ["SQUARED_DIFFERENCE", "FLOOR_DIV"])
def test_what_differs_is_refused(kind: str) -> None:
    net = Bytes(7)
    x = net.input(1, 4, 4, 3)
    model = net.finish(net.op(kind, [x, x]))
    with pytest.raises(UnsupportedError, match=f"{kind} .*quantized uint8 is not supported"):
        tflite.parse(model, "model")


@pytest.mark.parametrize("zero", [100, 127])
def test_groups_of_channels_take_no_nine_bits(zero: int) -> None:
    net = Bytes(8)
    x = net.input(1, 3, 3, 4)
    k = net.writer.const("k", net.rng.integers(0, 255, (6, 3, 3, 2)).astype(np.uint8), 0.01, zero)
    b = net.writer.const("b", net.rng.integers(-500, 500, 6).astype(np.int32), np.float32(0.01) * net.quants[x][0])
    model = net.finish(net.op("CONV_2D", [x, k, b], (1, 3, 3, 6)))
    if zero == 127:
        check_numpy(tflite.parse(model, "model"), model)
    else:
        with pytest.raises(UnsupportedError, match="uint8 weights that do not fit int8"):
            tflite.parse(model, "model")


def test_transposed_convolutions_with_nine_bits() -> None:
    """Also those whose weights are up to 255 less their zero point."""
    net = Bytes(9)
    made = []
    for zero in (0, 1, 100, 127, 255):
        x = net.input(1, 3, 4, 3)
        weights = net.weights(x, (5, 3, 2, 3), 5, zero)
        shape = (1, 6, 8, 5)
        options = {"stride_h": 2, "stride_w": 2, "version": 3}
        made.append(net.op("TRANSPOSE_CONV", [net.ints(*shape), weights[0], x, weights[1]], shape, **options))
    check(net.finish(*made))


def test_uint8_at_the_edges_only_stays_as_it_is() -> None:
    """An int8 network with QUANTIZE around it, as converters make it: no other operators than its own."""
    w = Writer("edges")
    x, a = w.input("x", (1, 6), "uint8", 0.1, 128), w.tensor("a", (1, 6), "int8", 0.1, 0)
    b, y = w.tensor("b", (1, 6), "int8", 0.1, 0), w.tensor("y", (1, 6), "uint8", 0.1, 128)
    w.op("QUANTIZE", [x], [a])
    w.op("RELU", [a], [b])
    w.op("QUANTIZE", [b], [y])
    w.output(y)
    assert [op.kind for op in tflite.parse(w.finish(), "model").ops] == ["QUANTIZE", "RELU", "QUANTIZE"]


def test_a_plain_image_is_no_quantized_one() -> None:
    """Without a scale uint8 is numbers, and no operator computes with those."""
    w = Writer("plain")
    x, y = w.input("x", (1, 6), "uint8"), w.tensor("y", (1, 6), "uint8")
    w.op("ADD", [x, x], [y])
    w.output(y)
    with pytest.raises(UnsupportedError, match="uint8 input is not supported"):
        tflite.parse(w.finish(), "model")


def test_without_litert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mote.bench.execute.reference.litert_installed", lambda: False)
    result = verify(compile(few(8)), 2)
    assert result.exact and result.reference == "numpy"


COMPILERS = {"edgetpu-custom-op": "edgetpu_compiler", "ethos-u": "vela", "NeutronGraph": "neutron-converter"}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(("name", "compiler"), COMPILERS.items())
def test_code_of_other_processors(dtype: str, name: str, compiler: str) -> None:
    """What helps is the file from before, not another type or an operator of one's own."""
    w = Writer("compiled")
    x, y = w.input("x", (1, 4), dtype, 0.1), w.tensor("y", (1, 4), dtype, 0.1)
    w.op("CUSTOM", [x], [y], custom_code=name)
    w.output(y)
    with pytest.raises(UnsupportedError, match=f"the `.tflite` file that {compiler} was given"):
        tflite.parse(w.finish(), "model")
    w.variable("scratch", (0,), "uint8")
    with pytest.raises(MoteError, match=rf"model: the file holds code for .*, made by {compiler}\n  help: give Mote"):
        tflite.parse(w.finish(), "model")
