"""Small models with parts that cannot matter: outputs and inputs without weights, biases that saturate, copies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from network import SCALE, Net

ZEROS = (-128, -7, 20)
LARGE = 3 * 10**6
"""A bias that saturates."""


def random_model(seed: int) -> bytes:
    """Layers, some of whose outputs and inputs have no weights and some of whose biases saturate."""
    net = Net(seed)
    rng = net.rng

    def some(channels: int, most: float = 0.5) -> NDArray[np.bool_]:
        return rng.random(channels) < rng.choice([0.0, most])

    def layer(x: int, depthwise: bool) -> int:
        channels = net.shapes[x][3]
        kernel = min(int(rng.choice([1, 3])), *net.shapes[x][1:3])
        padding, quant = str(rng.choice(["SAME", "VALID"])), (SCALE, int(rng.choice(ZEROS)))
        window = {"padding": padding, "quant": quant, "stride": int(rng.choice([1, 2]))}
        outputs = channels * int(rng.choice([1, 1, 2])) if depthwise else int(rng.integers(2, 13))
        weights = net.weights(*((1, kernel, kernel, outputs) if depthwise else (outputs, kernel, kernel, channels)))
        weights[..., 1:] //= np.int8(rng.choice([1, 4]))
        bias = np.where(some(outputs, 0.2), rng.choice([-LARGE, LARGE], outputs), rng.integers(-2000, 2000, outputs))
        if depthwise:
            weights[..., some(outputs)] = 0
            return net.depthwise(x, weights, bias=bias, **window)
        weights[some(outputs)] = 0
        weights[..., some(channels)] = 0
        copy = rng.integers(outputs)
        weights[copy], bias[copy] = weights[0], bias[0]
        return net.conv(x, weights, bias=bias, **window)

    x = net.input(1, int(rng.integers(3, 8)), int(rng.integers(3, 8)), int(rng.integers(1, 5)))
    outputs = []
    for _ in range(int(rng.integers(3, 8))):
        *_, height, width, channels = net.shapes[x]
        kind = rng.choice(["conv", "conv", "depthwise", "depthwise", "add", "pool", "table", "pad", "join", "part"])
        if kind in ("conv", "depthwise"):
            x = layer(x, kind == "depthwise")
        elif kind == "add":
            other = net.depthwise(x, kernel=1, bias=rng.integers(-9999, 9999, channels), quant=(SCALE, -128))
            x = net.add(x, other, (0.09, 5))
        elif kind == "pool" and min(height, width) >= 2:
            x = net.pool(x, 2, str(rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"])))
        elif kind == "table":
            x = net.op("QUANTIZE", [x], quant=(0.08, -20))
        elif kind == "pad":
            x = net.pad(x, (0, 0), (1, 0), (0, 2), (0, 0))
        elif kind == "join":
            x = net.concatenate(3, x, net.conv(x, np.zeros((3, 1, 1, channels), np.int8), quant=net.quants[x]))
        elif kind == "part" and channels > 2:
            x = net.slice(x, (0, 0, 0, 1), (1, height, width, channels - 2))
        if rng.random() < 0.1:
            outputs.append(x)
    flat = net.mean(x) if rng.random() < 0.5 else net.flat(x)
    last = net.weights(3, net.shapes[flat][1])
    last[:, some(last.shape[1])] = 0
    return net.finish(net.fully_connected(flat, last), *dict.fromkeys(outputs))


def example() -> bytes:
    """Channels that nobody reads, others that are constant, layers in between."""
    net = Net(1)
    first, second, last = net.weights(12, 3, 3, 3), net.weights(8, 1, 1, 12), net.weights(4, 8)
    second[..., [1, 3, 4, 9]] = 0
    second[[0, 2, 5]] = 0
    bias = net.rng.integers(-2000, 2000, 8)
    bias[7] = LARGE
    x = net.conv(net.input(1, 8, 8, 3), first, stride=2)
    x = net.pool(net.conv(net.depthwise(x), second, bias=bias), 4)
    return net.finish(net.fully_connected(net.flat(x), last))
