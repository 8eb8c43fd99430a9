"""Models of one layer each, of every kind that Mote has kernels for: what `layers.py` measures.

A layer's name says its kind, its size and its type: `dw3x3_s2_64_24x24` is a depthwise convolution of 3x3 with stride
2, over 24x24 pixels of 64 channels. Weights are random; inputs and outputs have the type of the layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np
from tests.helpers.network import FLOAT, Net, Pair, Quant
from tests.ir.ops.recurrent.lstm_models import Config as Lstm
from tests.ir.ops.recurrent.lstm_models import model as lstm_model
from tests.ir.ops.recurrent.test_gru import Gru

Shape = tuple[int, ...]
PROBABILITIES = {"int8": (1 / 256, -128), "int16": (1 / 32768, 0), "float32": FLOAT}
"""Quantization of the outputs of softmax and logistic."""
SYMMETRIC = {"int8": (1 / 128, 0), "int16": (1 / 32768, 0), "float32": FLOAT}
"""Quantization of the outputs of tanh."""
SHORT = {"int8": "", "int16": "_i16", "float32": "_f32"}


@dataclass(frozen=True)
class LayerModel:
    """A model of one layer."""

    name: str
    limit: str
    """The row of `LIMITS` (layers.py) that bounds it."""
    work: int
    """Products, or elements where the limit is one of elements."""
    build: Callable[[], bytes]
    dtype: str = "int8"
    small: bool = False
    """It fits an AVR, and cores without a floating-point unit measure it in reasonable time."""


Build = Callable[[Net], tuple[int, ...]]


def _layer(name: str, limit: str, work: int, build: Build, dtype: str = "int8", small: bool = False) -> LayerModel:
    def file() -> bytes:
        net = Net(1, dtype)
        return net.finish(*build(net))

    return LayerModel(name + SHORT[dtype], limit, work, file, dtype, small)


@cache
def layers() -> tuple[LayerModel, ...]:
    """All models, by kind."""
    found = [
        *_convolutions(), *_grouped(), *_depthwise(), *_transposed(), *_vectors(), *_products(), *_recurrent(),
        *_pools(), *_arithmetic(), *_functions(), *_rows(), *_moves(), *_resizes(),
    ]  # fmt: skip
    names = [layer.name for layer in found]
    assert len(set(names)) == len(names), "two layers have one name"
    return tuple(found)


def _conv(
    name: str,
    size: tuple[int, int],
    channels: tuple[int, int],
    kernel: Pair,
    dtype: str = "int8",
    *,
    limit: str = "",
    small: bool = False,
    groups: int = 1,
    **window: Any,
) -> LayerModel:
    """A convolution; its limit is that of Winograd's for 3x3 with stride 1, unless it says another one."""
    (high, wide), (inputs, outputs) = size, channels
    kh, kw = (kernel, kernel) if isinstance(kernel, int) else kernel
    net = Net()
    y = net.conv(net.input(1, high, wide, inputs), outputs, kernel, **window)
    work = prod(net.shapes[y]) * kh * kw * inputs // groups
    quick = dtype == "int8" and (kh, kw) == (3, 3) and not window and groups == 1 and inputs > 3

    def build(net: Net) -> tuple[int, ...]:
        weights = net.weights(outputs, kh, kw, inputs // groups)
        return (net.conv(net.input(1, high, wide, inputs), weights, **window),)

    return _layer(name, limit or ("winograd" if quick else "conv"), work, build, dtype, small)


def _convolutions() -> Iterator[LayerModel]:
    yield _conv("conv3x3_s1_16-16_32x32", (32, 32), (16, 16), 3)
    yield _conv("conv3x3_s2_16-32_32x32", (32, 32), (16, 32), 3, stride=2)
    yield _conv("conv3x3_s1_64-64_8x8", (8, 8), (64, 64), 3)
    yield _conv("conv3x3_s1_8-8_8x8", (8, 8), (8, 8), 3, small=True)
    yield _conv("conv3x3_s1_24-24_5x9", (5, 9), (24, 24), 3)
    yield _conv("conv3x3_s1_13-19_11x7", (11, 7), (13, 19), 3)
    yield _conv("conv3x3_dil2_16-16_16x16", (16, 16), (16, 16), 3, dilation=2)
    yield _conv("conv3x3_dil4_valid_8-8_24x24", (24, 24), (8, 8), 3, dilation=4, padding="VALID")
    yield _conv("conv5x5_s1_16-16_10x10", (10, 10), (16, 16), 5)
    yield _conv("conv5x1_s1_16-24_20x8", (20, 8), (16, 24), (5, 1))
    yield _conv("conv1x1_64-64_12x12", (12, 12), (64, 64), 1)
    yield _conv("conv1x1_s2_32-64_16x16", (16, 16), (32, 64), 1, stride=2)
    yield _conv("conv1x1_13-37_10x10", (10, 10), (13, 37), 1)
    yield _conv("conv1x1_8-8_32x32", (32, 32), (8, 8), 1)
    yield _conv("conv1x1_12-8_6x6", (6, 6), (12, 8), 1, small=True)
    yield _conv("conv1x1_256-16_1x1", (1, 1), (256, 16), 1, limit="fully_connected")
    yield _conv("conv1x1_24-144_7x7", (7, 7), (24, 144), 1)
    yield _conv("conv1x1_144-24_7x7", (7, 7), (144, 24), 1)
    yield _conv("conv3x3_first3-8_s2_48x48", (48, 48), (3, 8), 3, stride=2)
    yield _conv("conv3x3_first1-8_28x28", (28, 28), (1, 8), 3)
    yield _conv("conv5x5_first1-8_28x28", (28, 28), (1, 8), 5)
    yield _conv("conv7x7_first3-16_s2_48x48", (48, 48), (3, 16), 7, stride=2)
    yield _conv("conv10x4_first1-64_s2_49x10", (49, 10), (1, 64), (10, 4), stride=2)
    yield _conv("conv1d_k3_40-64_T49", (1, 49), (40, 64), (1, 3))
    yield _conv("conv1d_k9_32-32_T64", (1, 64), (32, 32), (1, 9))
    yield _conv("conv1d_k3_dil4_32-32_T64", (1, 64), (32, 32), (1, 3), dilation=(1, 4))
    for dtype in ("int16", "float32"):
        yield _conv("conv3x3_16-16_16x16", (16, 16), (16, 16), 3, dtype)
        yield _conv("conv3x3_s1_8-8_8x8", (8, 8), (8, 8), 3, dtype, small=True)
        yield _conv("conv1x1_64-64_12x12", (12, 12), (64, 64), 1, dtype)
        yield _conv("conv1d_k3_40-64_T49", (1, 49), (40, 64), (1, 3), dtype)
        yield _conv("conv3x3_first3-8_s2_48x48", (48, 48), (3, 8), 3, dtype, stride=2)
    yield _conv("conv3x3_dil2_16-16_16x16", (16, 16), (16, 16), 3, "int16", dilation=2)


def _grouped() -> Iterator[LayerModel]:
    yield _conv("conv3x3_g4_32-32_16x16", (16, 16), (32, 32), 3, groups=4)
    yield _conv("conv3x3_g8_64-64_8x8", (8, 8), (64, 64), 3, groups=8)
    yield _conv("conv3x3_g8_64-64_s2_16x16", (16, 16), (64, 64), 3, groups=8, stride=2)
    yield _conv("conv3x3_g2_16-24_9x9", (9, 9), (16, 24), 3, groups=2)
    yield _conv("conv1x1_g4_64-64_12x12", (12, 12), (64, 64), 1, groups=4)
    yield _conv("conv1x1_g3_24-48_12x12", (12, 12), (24, 48), 1, groups=3)
    yield _conv("conv3x3_g4_32-32_16x16", (16, 16), (32, 32), 3, "float32", groups=4)
    yield _conv("conv3x3_g4_32-32_8x8", (8, 8), (32, 32), 3, "int16", groups=4)


def _dw(
    name: str,
    size: tuple[int, int],
    channels: int,
    kernel: Pair,
    dtype: str = "int8",
    multiplier: int = 1,
    small: bool = False,
    **window: Any,
) -> LayerModel:
    kh, kw = (kernel, kernel) if isinstance(kernel, int) else kernel

    def build(net: Net) -> tuple[int, ...]:
        return (net.depthwise(net.input(1, *size, channels), multiplier, kernel, **window),)

    net = Net()
    (y,) = build(net)
    return _layer(name, "conv", prod(net.shapes[y]) * kh * kw, build, dtype, small)


def _depthwise() -> Iterator[LayerModel]:
    yield _dw("dw3x3_s1_64_12x12", (12, 12), 64, 3)
    yield _dw("dw3x3_s2_64_24x24", (24, 24), 64, 3, stride=2)
    yield _dw("dw3x3_s1_8_8x8", (8, 8), 8, 3, small=True)
    yield _dw("dw3x3_s1_13_11x11", (11, 11), 13, 3)
    yield _dw("dw3x3_valid_32_10x10", (10, 10), 32, 3, padding="VALID")
    yield _dw("dw3x3_s1_96_3x3", (3, 3), 96, 3)
    yield _dw("dw3x3_s1_3_48x48", (48, 48), 3, 3)
    yield _dw("dw3x3_dil2_32_16x16", (16, 16), 32, 3, dilation=2)
    yield _dw("dw5x5_s1_48_12x12", (12, 12), 48, 5)
    yield _dw("dw5x5_s2_48_12x12", (12, 12), 48, 5, stride=2)
    yield _dw("dw7x7_s1_32_12x12", (12, 12), 32, 7)
    yield _dw("dw1d_k3_64_T49", (49, 1), 64, (3, 1))
    yield _dw("dw1d_k15_64_T32", (1, 32), 64, (1, 15))
    yield _dw("dw1d_k9_dil4_32_T64", (64, 1), 32, (9, 1), dilation=(4, 1))
    yield _dw("dw10x8_mult8_49x40", (49, 40), 1, (10, 8), multiplier=8, stride=2)
    yield _dw("dw3x3_mult2_16_12x12", (12, 12), 16, 3, multiplier=2)
    yield _dw("dw3x3_mult8_4_16x16", (16, 16), 4, 3, multiplier=8)
    for dtype in ("int16", "float32"):
        yield _dw("dw3x3_64_12x12", (12, 12), 64, 3, dtype)
        yield _dw("dw3x3_s1_8_8x8", (8, 8), 8, 3, dtype, small=True)
        yield _dw("dw5x5_48_12x12", (12, 12), 48, 5, dtype)
        yield _dw("dw3x3_mult2_16_12x12", (12, 12), 16, 3, dtype, multiplier=2)


def _transposed() -> Iterator[LayerModel]:
    cases = (
        ("tconv2x2_s2_32-16_8x8", (8, 8, 32), 16, 2, 2, "int8"),
        ("tconv3x3_s2_16-16_8x8", (8, 8, 16), 16, 3, 2, "int8"),
        ("tconv4x4_s2_16-8_8x8", (8, 8, 16), 8, 4, 2, "int8"),
        ("tconv3x3_s1_12-12_8x8", (8, 8, 12), 12, 3, 1, "int8"),
        ("tconv3x3_s2_16-16_8x8", (8, 8, 16), 16, 3, 2, "int16"),
        ("tconv3x3_s2_16-16_8x8", (8, 8, 16), 16, 3, 2, "float32"),
    )
    for name, shape, outputs, kernel, stride, dtype in cases:
        work = prod(shape) * outputs * kernel * kernel
        yield _layer(
            name,
            "conv",
            work,
            lambda net, s=shape, o=outputs, k=kernel, step=stride: (net.transpose_conv(net.input(1, *s), o, k, step),),
            dtype,
        )


def _vectors() -> Iterator[LayerModel]:
    for n, inputs, outputs in ((1, 640, 128), (1, 64, 10), (1, 4096, 10), (1, 37, 41), (32, 64, 64), (7, 30, 12)):
        name = f"fc_{inputs}-{outputs}" if n == 1 else f"fc_{n}x{inputs}-{outputs}"
        limit = "fully_connected" if n == 1 else "conv"
        small = (inputs, outputs) == (64, 10)
        for dtype in ("int8", "int16", "float32") if n == 1 and inputs < 4096 else ("int8",):
            yield _layer(
                name,
                limit,
                n * inputs * outputs,
                lambda net, s=(n, inputs), o=outputs: (net.fully_connected(net.input(*s), o),),
                dtype,
                small,
            )


def _products() -> Iterator[LayerModel]:
    cases: tuple[tuple[str, Shape, Shape, dict[str, bool]], ...] = (
        ("bmm_32x32x32", (32, 32), (32, 32), {}),
        ("bmm_4heads_32x16_turned", (4, 32, 16), (4, 32, 16), {"adj_y": True}),
        ("bmm_4heads_32x32x8", (4, 32, 32), (4, 32, 8), {}),
        ("bmm_13x21x9", (13, 21), (21, 9), {}),
        ("bmm_1x64x32", (1, 64), (64, 32), {}),
    )
    for name, left, right, turned in cases:
        columns = right[-2] if turned else right[-1]
        shape = (1, *left[:-1], columns)
        for dtype in ("int8", "int16", "float32") if name == "bmm_32x32x32" else ("int8",):
            quant: Quant = {"int8": (0.3, 4), "int16": (0.002, 0)}.get(dtype, FLOAT)
            yield _layer(
                name,
                "matmul",
                prod(shape) * left[-1],
                lambda net, a=left, b=right, s=shape, t=turned, q=quant: (
                    net.op("BATCH_MATMUL", [net.input(1, *a), net.input(1, *b)], s, q, version=4, **t),
                ),
                dtype,
            )


def _recurrent() -> Iterator[LayerModel]:
    for time, inputs, cells, dtype in (
        (28, 28, 20, "int8"),
        (16, 32, 32, "int8"),
        (8, 13, 9, "int8"),
        (16, 32, 32, "float32"),
    ):
        config = Lstm(dtype=dtype, time=time, inputs=inputs, cells=cells)
        name = f"lstm_{inputs}-{cells}_T{time}{SHORT[dtype]}"
        work = time * 4 * cells * (inputs + cells)
        yield LayerModel(name, "fully_connected", work, lambda c=config: lstm_model(c), dtype)
    for dtype in ("int8", "float32"):
        work = 8 * 3 * 16 * (16 + 16)
        yield LayerModel(
            f"gru_16-16_T8{SHORT[dtype]}", "fully_connected", work, lambda d=dtype: Gru(d, 16, 16).model(8), dtype
        )


def _pools() -> Iterator[LayerModel]:
    cases = (
        ("maxpool2x2_16x16x32", "MAX_POOL_2D", 2, 2, "max_pool", ("int8", "int16", "float32")),
        ("maxpool3x3s2_16x16x32", "MAX_POOL_2D", 3, 2, "max_pool3", ("int8", "float32")),
        ("avgpool2x2_16x16x32", "AVERAGE_POOL_2D", 2, 2, "average_pool", ("int8", "int16", "float32")),
        ("avgpool3x3s1_16x16x32", "AVERAGE_POOL_2D", 3, 1, "average_pool3", ("int8", "float32")),
    )
    for name, kind, size, stride, limit, dtypes in cases:
        for dtype in dtypes:
            yield _layer(
                name,
                limit,
                16 * 16 * 32,
                lambda net, k=kind, n=size, s=stride: (net.pool(net.input(1, 16, 16, 32), n, k, s),),
                dtype,
            )
    for dtype in ("int8", "int16", "float32"):
        yield _layer("mean_8x8x64", "mean", 8 * 8 * 64, lambda net: (net.mean(net.input(1, 8, 8, 64)),), dtype)
    yield _layer("avgpool_8x8x64", "mean", 8 * 8 * 64, lambda net: (net.pool(net.input(1, 8, 8, 64), 8),))


def _pair(kind: str, net: Net, a: Shape, b: Shape) -> tuple[int, ...]:
    x, y = net.input(1, *a), net.input(1, *b)
    quant = {"int8": (0.09, 3), "int16": (0.0004, 0)}.get(net.dtype, FLOAT)
    return (net.op(kind, [x, y], (1, *a), quant),)


def _arithmetic() -> Iterator[LayerModel]:
    image, channel, pixel = (16, 16, 32), (1, 1, 32), (16, 16, 1)
    cases = (
        ("add_16x16x32", "ADD", image, "add"),
        ("add_bcast_ch_16x16x32", "ADD", channel, "add"),
        ("sub_16x16x32", "SUB", image, "add"),
        ("mul_16x16x32", "MUL", image, "mul"),
        ("mul_bcast_ch_16x16x32", "MUL", channel, "mul"),
        ("mul_bcast_last_16x16x32", "MUL", pixel, "mul"),
        ("squared_difference_16x16x32", "SQUARED_DIFFERENCE", image, "mul"),
    )
    for name, kind, second, limit in cases:
        for dtype in ("int8",) if kind == "SQUARED_DIFFERENCE" else ("int8", "int16", "float32"):
            yield _layer(name, limit, prod(image), lambda net, k=kind, s=second: _pair(k, net, (16, 16, 32), s), dtype)
    for kind in ("MAXIMUM", "MINIMUM"):
        yield _layer(
            f"{kind.lower()}_16x16x32", "maximum", prod(image), lambda net, k=kind: _extreme(k, net, (16, 16, 32))
        )
    yield _layer("add_4x4x16", "add", 256, lambda net: _pair("ADD", net, (4, 4, 16), (4, 4, 16)), small=True)
    yield _layer("mul_scalar_4096", "table", 4096, _scaled)


def _extreme(kind: str, net: Net, shape: Shape) -> tuple[int, ...]:
    quant = net.quant()
    x, y = (net.input(1, *shape, quant=quant) for _ in range(2))
    return (net.op(kind, [x, y], quant=quant),)


def _scaled(net: Net) -> tuple[int, ...]:
    """A multiplication by one constant."""
    x = net.input(1, 4096)
    factor = net.writer.const("factor", np.array([93], np.int8), 0.004, 0)
    return (net.op("MUL", [x, factor], (1, 4096), (0.02, -7)),)


def _functions() -> Iterator[LayerModel]:
    def alone(kind: str, shape: Shape, quant: Quant | None = None, **options: Any) -> Build:
        return lambda net: (net.op(kind, [net.input(1, *shape)], quant=quant, **options),)

    yield _layer("hardswish_16x16x32", "table", 8192, alone("HARD_SWISH", (16, 16, 32)))
    yield _layer("leakyrelu_16x16x32", "table", 8192, alone("LEAKY_RELU", (16, 16, 32), alpha=0.1))
    yield _layer("gelu_4096", "table", 4096, alone("GELU", (4096,)))
    yield _layer("quantize_4096", "table", 4096, alone("QUANTIZE", (4096,), (0.07, 11)))
    for dtype in ("int8", "int16", "float32"):
        yield _layer("logistic_4096", "table", 4096, alone("LOGISTIC", (4096,), PROBABILITIES[dtype]), dtype)
        yield _layer("tanh_4096", "table", 4096, alone("TANH", (4096,), SYMMETRIC[dtype]), dtype)
    yield _layer("logistic_256", "table", 256, alone("LOGISTIC", (256,), PROBABILITIES["int8"]), small=True)
    yield _layer("logistic_64", "table", 64, alone("LOGISTIC", (64,), FLOAT), "float32", small=True)
    yield _layer("tanh_64", "table", 64, alone("TANH", (64,), FLOAT), "float32", small=True)
    yield _layer("exp_1024", "table", 1024, alone("EXP", (1024,), FLOAT), "float32")
    yield _layer("gelu_1024", "table", 1024, alone("GELU", (1024,), FLOAT), "float32")
    yield _layer("hardswish_1024", "add", 1024, alone("HARD_SWISH", (1024,), FLOAT), "float32")


def _rows() -> Iterator[LayerModel]:
    """Operators over rows of numbers."""
    for rows, n in ((1, 12), (32, 32), (8, 100)):
        name = f"softmax_{rows}x{n}" if rows > 1 else f"softmax_{n}"
        for dtype in ("int8", "int16", "float32"):
            yield _layer(
                name,
                "softmax",
                rows * n,
                lambda net, s=(rows, n): (
                    net.op("SOFTMAX", [net.input(*s)], quant=PROBABILITIES[net.dtype], beta=1.0),
                ),
                dtype,
                small=rows == 1,
            )
    for dtype in ("int8", "float32"):
        yield _layer("layernorm_32x64", "normalize", 32 * 64, _layer_norm, dtype)
    yield _layer("sum_rows_32x64", "mean", 32 * 64, lambda net: _reduced(net, "SUM", (0.8, 0)))
    yield _layer("reduce_max_32x64", "max_pool", 32 * 64, lambda net: _reduced(net, "REDUCE_MAX", None))
    yield _layer("l2norm_32x64", "normalize", 32 * 64, _l2_norm)


def _reduced(net: Net, kind: str, quant: Quant | None) -> tuple[int, ...]:
    x = net.input(1, 32, 64)
    return (net.op(kind, [x, net.ints(2)], (1, 32), quant or net.quants[x]),)


def _l2_norm(net: Net) -> tuple[int, ...]:
    return (net.op("L2_NORMALIZATION", [net.input(32, 64)], quant=(1 / 128, 0)),)


def _layer_norm(net: Net) -> tuple[int, ...]:
    """The operators that converters make of a layer normalization."""
    rows = (1, 32, 1)

    def quant(scale: float, zero: int) -> Quant:
        return (scale, zero) if net.dtype == "int8" else FLOAT

    x = net.input(1, 32, 64, quant=quant(0.05, 3))
    mean = net.op("MEAN", [x, net.ints(2)], rows, quant(0.02, 1), keep_dims=True)
    square = net.op("SQUARED_DIFFERENCE", [x, mean], (1, 32, 64), quant(0.2, -128))
    variance = net.op("MEAN", [square, net.ints(2)], rows, quant(0.1, -128), keep_dims=True)
    epsilon = (
        net.writer.const("epsilon", np.array([1], np.int8), 0.001, 0)
        if net.dtype == "int8"
        else net.writer.const("epsilon", np.array([1e-3], np.float32))
    )
    sum_ = net.op("ADD", [variance, epsilon], rows, quant(0.1, -128))
    gain = net.op("RSQRT", [sum_], rows, quant(0.02, -128))
    scaled = net.op("MUL", [x, gain], (1, 32, 64), quant(0.05, 0))
    shift = net.op("MUL", [mean, gain], rows, quant(0.02, 0))
    return (net.op("SUB", [scaled, shift], (1, 32, 64), quant(0.03, 0)),)


def _moves() -> Iterator[LayerModel]:
    def turned(net: Net, shape: Shape, axes: Shape) -> tuple[int, ...]:
        x = net.input(1, *shape)
        result = (1, *(shape[a - 1] for a in axes[1:]))
        return (net.moved("TRANSPOSE", [x, net.ints(*axes)], result),)

    def joined(net: Net, a: Shape, b: Shape, axis: int) -> tuple[int, ...]:
        quant = net.quant()
        x, y = net.input(1, *a, quant=quant), net.input(1, *b, quant=quant)
        shape = [1, *a]
        shape[axis] += b[axis - 1]
        return (net.op("CONCATENATION", [x, y], tuple(shape), quant, axis=axis),)

    def padded(net: Net) -> tuple[int, ...]:
        x = net.input(1, 16, 16, 32)
        pads = net.writer.const("pads", np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
        return (net.moved("PAD", [x, pads], (1, 18, 18, 32)),)

    def sliced(net: Net) -> tuple[int, ...]:
        x = net.input(1, 16, 16, 32)
        return (net.moved("SLICE", [x, net.ints(0, 2, 3, 8), net.ints(1, 12, 12, 16)], (1, 12, 12, 16)),)

    for dtype in ("int8", "int16", "float32"):
        yield _layer("transpose_32x64", "transpose", 2048, lambda net: turned(net, (32, 64), (0, 2, 1)), dtype)
        yield _layer(
            "concat_ch_16x16x16p16",
            "copy",
            8192,
            lambda net: joined(net, (16, 16, 16), (16, 16, 16), 3),
            dtype,
        )
    yield _layer("transpose_16x16x32_ch", "transpose", 8192, lambda net: turned(net, (16, 16, 32), (0, 3, 1, 2)))
    yield _layer("transpose_heads_32x4x8", "copy", 1024, lambda net: turned(net, (32, 4, 8), (0, 2, 1, 3)))
    yield _layer("concat_ch_12x12x5p7", "copy", 1728, lambda net: joined(net, (12, 12, 5), (12, 12, 7), 3))
    yield _layer("concat_rows_8x16x32", "copy", 8192, lambda net: joined(net, (8, 16, 32), (8, 16, 32), 1))
    yield _layer("pad_16x16x32", "copy", 8192, padded)
    yield _layer("slice_12x12x16", "copy", 2304, sliced)


def _resizes() -> Iterator[LayerModel]:
    def resized(net: Net, kind: str) -> tuple[int, ...]:
        x = net.input(1, 8, 8, 32)
        return (net.moved(kind, [x, net.ints(16, 16)], (1, 16, 16, 32), half_pixel_centers=True),)

    for dtype in ("int8", "float32"):
        yield _layer("resize_bilinear_8x8x32_x2", "bilinear", 2048, lambda net: resized(net, "RESIZE_BILINEAR"), dtype)
        yield _layer(
            "resize_nearest_8x8x32_x2", "nearest", 2048, lambda net: resized(net, "RESIZE_NEAREST_NEIGHBOR"), dtype
        )
