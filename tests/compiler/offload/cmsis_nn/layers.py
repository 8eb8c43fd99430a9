"""Models of many layers side by side, each of which CMSIS-NN can compute."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.helpers.network import Net


def convolutions(seed: int = 0) -> bytes:
    """Windows of all kinds: 1x1 with and without strides, one row, gaps, even sizes, odd numbers of channels."""
    net = Net(seed)
    x, row = net.input(1, 6, 7, 5), net.input(1, 1, 19, 4)
    outputs = [
        net.conv(x, 6, 3),
        net.conv(x, 7, 1),
        net.conv(x, 8, 1, stride=2),
        net.conv(x, 3, (2, 3), stride=(2, 1), padding="VALID", fused_activation_function="RELU6"),
        net.conv(x, 4, 3, dilation=2),
        net.conv(x, 16, (1, 3), fused_activation_function="RELU"),
        net.conv(row, 6, (1, 3)),
        net.conv(row, 6, (1, 5), stride=(1, 2)),
        net.conv(row, 6, (1, 6)),
        net.conv(row, 6, (1, 5), padding="VALID"),
        net.conv(row, 6, (1, 2), stride=(1, 2), padding="VALID"),
        net.conv(row, 5, (1, 4), stride=(1, 3), padding="VALID"),
        net.conv(net.input(3, 5, 4, 4), 9, 3),
    ]
    return net.finish(*outputs)


def depthwises(seed: int = 0) -> bytes:
    """Channels in fours and not, several outputs a channel, one channel, gaps, strides, batches."""
    net = Net(seed)
    x, one = net.input(1, 7, 6, 9), net.input(1, 6, 6, 1)
    outputs = [
        net.depthwise(x, 1, 3),
        net.depthwise(x, 1, 3, stride=2),
        net.depthwise(x, 1, (5, 2), fused_activation_function="RELU6"),
        net.depthwise(x, 2, 3),
        net.depthwise(x, 4, (3, 2), padding="VALID"),
        net.depthwise(x, 1, 3, dilation=2),
        net.depthwise(one, 1, 3),
        net.depthwise(one, 8, (4, 3), stride=2),
        net.depthwise(one, 12, 3),
        net.depthwise(net.input(2, 5, 5, 4), 1, 3),
        net.depthwise(net.input(1, 5, 5, 132), 1, (3, 5)),
    ]
    return net.finish(*outputs)


def others(seed: int = 0) -> bytes:
    """Fully connected layers, and pooling with and without padding."""
    net = Net(seed)
    vector, image = net.input(3, 37), net.input(2, 7, 6, 9)
    window = {"filter_height": 3, "filter_width": 2, "stride_h": 2, "stride_w": 2, "padding": "SAME"}
    outputs = [net.fully_connected(vector, 10), net.fully_connected(vector, 13, quant=(0.004, 100))]
    weights = net.weights(7, 37)
    outputs.append(net.op("FULLY_CONNECTED", [vector, *net.constants(vector, weights, None, 0)], (3, 7)))
    for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        outputs += [net.pool(image, (7, 6), kind), net.pool(image, 2, kind, 1)]
        outputs.append(net.moved(kind, [image], (2, 4, 3, 9), fused_activation_function="RELU", **window))
    return net.finish(*outputs)


def transposed(seed: int = 0) -> bytes:
    """Transposed convolutions with few channels and with many, filters smaller than the stride and larger."""
    net = Net(seed)
    x, deep = net.input(1, 5, 4, 3), net.input(1, 3, 4, 20)
    outputs = [net.transpose_conv(x, 5, kernel, stride) for kernel, stride in ((3, 2), (2, 2), (4, 2), (3, 1), (5, 3))]
    outputs += [net.transpose_conv(deep, 6, kernel, stride) for kernel, stride in ((3, 2), (4, 2), (3, 1), (4, 3))]
    return net.finish(*outputs)


def elementwise(dtype: str = "int8", seed: int = 0) -> bytes:
    """Sums, products, and softmax of few and many classes."""
    net = Net(seed, dtype)
    a, b, row = net.input(1, 3, 5, 7), net.input(1, 3, 5, 7), net.input(4, 21)
    quant = {"int8": (1 / 256, -128), "int16": (1 / 32768, 0)}[dtype]
    outputs = [
        net.add(a, b),
        net.op("ADD", [a, b], fused_activation_function="RELU"),
        net.op("MUL", [a, b]),
        net.op("MUL", [b, a], fused_activation_function="RELU6"),
        net.op("SOFTMAX", [row], quant=quant, beta=1.0),
        net.op("SOFTMAX", [a], quant=quant, beta=0.3),
    ]
    return net.finish(*outputs)


def wide(seed: int = 0) -> bytes:
    """int16 with int8 weights."""
    net = Net(seed, "int16")
    x, other = net.input(1, 6, 7, 5), net.input(2, 5, 5, 8)
    outputs = [
        net.conv(x, 6, 3),
        net.conv(x, 7, 1),
        net.conv(x, 3, (2, 3), stride=(2, 1), padding="VALID", fused_activation_function="RELU6"),
        net.conv(other, 9, 3, dilation=2),
        net.depthwise(x, 1, 3),
        net.depthwise(other, 1, (3, 2), stride=2),
        net.depthwise(x, 3, 3),
        net.depthwise(other, 1, 3, dilation=2),
    ]
    for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        outputs += [net.pool(other, (5, 5), kind), net.pool(other, 2, kind, 1)]
    return net.finish(*outputs)


def remembering(seed: int = 0) -> bytes:
    """Filters that remember several inputs, one and two of them for each unit."""
    net = Net(seed)
    outputs = []
    for batches, size, units, rank, memory in ((1, 7, 6, 1, 5), (2, 19, 3, 2, 4)):
        x, filters, w = net.input(batches, size, quant=(0.05, 3)), units * rank, net.writer
        bias = net.rng.integers(-2000, 2000, units).astype(np.int32)
        time = net.rng.integers(-3000, 3000, (filters, memory)).astype(np.int16)
        operands = [
            x,
            w.const("weights", net.weights(filters, size), 0.01),
            w.const("time", time, 0.0001),
            w.const("bias", bias, 0.0000002),
            w.variable("state", (batches, memory * filters), "int16", 0.002, 0),
        ]
        options = {"rank": rank, "fused_activation_function": "RELU"}
        outputs.append(net.op("SVDF", operands, (batches, units), (0.004, -128), **options))
    return net.finish(*outputs)


def random_layers(seed: int, count: int = 8) -> bytes:
    """Layers of random shapes side by side, int8 or int16."""
    rng = np.random.default_rng(seed)
    net = Net(seed, str(rng.choice(["int8", "int8", "int16"])))
    outputs = []
    for _ in range(count):
        height, width, channels = (int(n) for n in rng.integers(1, (8, 12, 19)))
        x = net.input(int(rng.choice([1, 1, 2])), height, width, channels)
        kernel = int(rng.integers(1, min(height, 5) + 1)), int(rng.integers(1, min(width, 5) + 1))
        plain = rng.random() < 0.7
        window = {
            "stride": 1 if not plain else (int(rng.integers(1, 4)), int(rng.integers(1, 4))),
            "dilation": 1 if plain else (int(rng.integers(1, 3)), int(rng.integers(1, 3))),
            "padding": "SAME" if not plain else str(rng.choice(["SAME", "VALID"])),
            "fused_activation_function": str(rng.choice(["NONE", "RELU", "RELU6"])),
        }
        kind = rng.choice(["conv", "conv", "depthwise", "pool", "pool", "add"])
        if kind == "conv":
            outputs.append(net.conv(x, int(rng.integers(1, 20)), kernel, **window))
        elif kind == "depthwise":
            outputs.append(net.depthwise(x, int(rng.choice([1, 1, 2, 4])), kernel, **window))
        elif kind == "pool":
            outputs.append(net.pool(x, kernel, str(rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])), 1))
        else:
            outputs.append(net.add(x, net.input(*net.shapes[x])))
    return net.finish(*outputs)


MODELS: dict[str, Callable[[], bytes]] = {
    "convolutions": convolutions,
    "depthwises": depthwises,
    "others": others,
    "transposed": transposed,
    "elementwise": elementwise,
    "elementwise16": lambda: elementwise("int16"),
    "wide": wide,
    "remembering": remembering,
}
