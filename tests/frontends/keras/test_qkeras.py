"""Layers of QKeras, in files as it writes them."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from functools import reduce
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

pytest.importorskip("h5py")

import mote
from mote.base.errors import MoteError
from mote.frontends import load
from mote.ir.graph.tensor import Array
from tests.frontends.keras.keras2_models import Stored, evaluated, functional, h5_file, layer, of, taken
from tests.frontends.keras.keras_files import keras_file
from tests.frontends.keras.test_keras_files import ODD, places
from tests.helpers.support import examples

VALUES = np.array(
    [-3.1, -1.0, -0.75, -0.4375, -0.3, -0.0625, 0.0, 0.03125, 0.21875, 0.5, 0.96875, 1.4, 2.625, 7.0],
    np.float32,
)


def close(found: Array, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-6)


def bits(count: int, integer: int, alpha: Any = 1.0, symmetric: int = 1) -> dict[str, Any]:
    options = {"bits": count, "integer": integer, "symmetric": symmetric, "alpha": alpha, "keep_negative": True}
    return {"module": "qkeras.quantizers", "class_name": "quantized_bits", "config": options}


def grid(x: Array, step: float, low: int, high: int) -> Array:
    found: Array = np.clip(np.rint(x / np.float32(step)), low, high).astype(np.float32) * np.float32(step)
    return found


CONV = {"kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "use_bias": True}


def network() -> tuple[dict[str, Any], Stored]:
    """A convolution with a batch normalization inside, one of each channel, and products, on grids of 4 to 8 bits."""
    rng = np.random.default_rng(3)
    net = functional(
        [
            taken("x", 8, 8, 2),
            layer("QActivation", "in", [of("x")], activation="quantized_bits(8,1,1)"),
            layer(
                "QConv2DBatchnorm",
                "conv",
                [of("in")],
                filters=4,
                kernel_quantizer=bits(8, 1),
                bias_quantizer=bits(8, 2),
                activation="quantized_relu(4,2)",
                epsilon=1e-3,
                **CONV,
            ),
            layer(
                "QDepthwiseConv2D",
                "each",
                [of("conv")],
                depth_multiplier=1,
                depthwise_quantizer=bits(4, 0),
                bias_quantizer=bits(4, 0),
                activation="linear",
                **CONV,
            ),
            layer("QActivation", "relu", [of("each")], activation="quantized_relu(8,3)"),
            layer("MaxPooling2D", "pool", [of("relu")], pool_size=[2, 2], strides=[2, 2], padding="valid"),
            layer("Flatten", "flat", [of("pool")]),
            layer(
                "QDense",
                "dense",
                [of("flat")],
                units=5,
                use_bias=True,
                kernel_quantizer=bits(6, 0),
                bias_quantizer=bits(6, 1),
                activation=bits(8, 3, None, 0),
            ),
        ],
        ["x"],
        ["dense"],
    )

    def some(*shape: int, low: float = -1.0) -> Array:
        return rng.uniform(low, 1.2, shape).astype(np.float32)

    normal = {"gamma": some(4, low=0.5), "beta": some(4), "moving_mean": some(4), "moving_variance": some(4, low=0.5)}
    weights = {
        "conv": [
            ("conv/kernel:0", some(3, 3, 2, 4)),
            ("conv/bias:0", some(4)),
            *((f"conv/bn/{name}:0", normal[name]) for name in ("gamma", "beta")),
            ("conv/iteration:0", np.int64(7)),
            *((f"conv/bn/{name}:0", normal[name]) for name in ("moving_mean", "moving_variance")),
        ],
        "each": [("each/depthwise_kernel:0", some(3, 3, 4, 1)), ("each/bias:0", some(4))],
        "dense": [("dense/kernel:0", some(16, 5)), ("dense/bias:0", some(5))],
    }
    return net, weights


def convolved(x: Array, kernel: Array) -> Array:
    """Every window of 3 by 3, with a kernel of all channels or of each."""
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    if kernel.shape[-1] == 1:
        found: Array = np.einsum("nhwckl,klc->nhwc", seen, kernel[..., 0])
    else:
        found = np.einsum("nhwckl,klcf->nhwf", seen, kernel)
    return found


def wanted(x: Array, weights: Stored) -> Array:
    (_, kernel), (_, bias), (_, gamma), (_, beta), _, (_, mean), (_, variance) = weights["conv"]
    inverse = gamma / np.sqrt(variance + np.float32(1e-3))
    y = grid(x, 2**-6, -127, 127)
    y = convolved(y, grid(kernel * inverse, 2**-6, -127, 127)) + grid(inverse * (bias - mean) + beta, 2**-5, -127, 127)
    y = grid(y, 2**-2, 0, 15)
    (_, each), (_, bias) = weights["each"]
    y = grid(convolved(y, grid(each, 2**-3, -7, 7)) + grid(bias, 2**-3, -7, 7), 2**-5, 0, 255)
    y = y.reshape(1, 2, 2, 2, 2, 4).max(axis=(2, 4)).reshape(1, 16)
    (_, kernel), (_, bias) = weights["dense"]
    return grid(y @ grid(kernel, 2**-5, -31, 31) + grid(bias, 2**-4, -31, 31), 2**-4, -128, 127)


def test_layers_on_grids_are_computed_with_integers() -> None:
    """Bit for bit, since all numbers on the way are exact in single precision."""
    net, weights = network()
    data = h5_file(net, weights)
    compiled = mote.compile(data)
    kinds = {op.kind: str(compiled.plan.graph.tensors[op.outputs[0]].dtype) for op in compiled.plan.graph.ops}
    assert {kinds[k] for k in ("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "FULLY_CONNECTED")} == {"int8"}
    rng = np.random.default_rng(5)
    for _ in range(3):
        x = rng.normal(size=(1, 8, 8, 2)).astype(np.float32)
        np.testing.assert_array_equal(evaluated(data, x)[0], wanted(x, weights))
    (found,) = mote.run(compiled, x, layers=False).values.values()
    np.testing.assert_array_equal(found, wanted(x, weights))


def test_keras_files_with_layers_of_qkeras() -> None:
    """Parts of a layer have groups of their own there."""
    net, weights = network()
    layers = [
        {**part, "module": "qkeras.qlayers" if part["class_name"][0] == "Q" else "keras.layers"}
        for part in net["config"]["layers"]
    ]
    own = [value for _, value in weights["conv"]]
    paths = {f"layers/q_conv2d_batchnorm/vars/{i}": own[n] for i, n in enumerate((0, 1, 4))}
    paths |= {f"layers/q_conv2d_batchnorm/batchnorm/vars/{i}": own[n] for i, n in enumerate((2, 3, 5, 6))}
    paths |= {f"layers/q_depthwise_conv2d/vars/{i}": v for i, (_, v) in enumerate(weights["each"])}
    paths |= {f"layers/q_dense/vars/{i}": v for i, (_, v) in enumerate(weights["dense"])}
    said = {**net, "module": "tf_keras.src.engine.functional", "config": {**net["config"], "layers": layers}}
    x = np.random.default_rng(6).normal(size=(1, 8, 8, 2)).astype(np.float32)
    np.testing.assert_array_equal(evaluated(keras_file(said, paths, version="2.15.0"), x)[0], wanted(x, weights))


def test_batch_normalization_on_grids() -> None:
    po2 = {
        name: f"{kind}(4)" for name, kind in (("beta_quantizer", "quantized_po2"), ("mean_quantizer", "quantized_po2"))
    }
    po2 |= dict.fromkeys(("gamma_quantizer", "variance_quantizer"), "quantized_relu_po2(4)")
    norm = layer("QBatchNormalization", "n", [of("x")], axis=[1], epsilon=1e-3, center=True, scale=True, **po2)
    given = {"gamma": 0.7, "beta": -0.3, "moving_mean": 0.2, "moving_variance": 1.6}
    stored = [(f"n/{name}:0", np.full(3, value, np.float32)) for name, value in given.items()]
    x = VALUES[None, :3]
    (found,) = evaluated(h5_file(functional([taken("x", 3), norm], ["x"], ["n"]), {"n": stored}), x)
    close(found, (x - 0.25) / np.sqrt(2 + 1e-3) * 0.5 - 0.25)


@drawn(st.randoms(use_true_random=False))
@settings(max_examples=examples(100), deadline=None)
def test_networks_of_qkeras_that_say_something_else(random: Random) -> None:
    net, weights = network()
    said = json.loads(json.dumps(net))
    for _ in range(random.randint(1, 3)):
        *outer, last = random.choice([path for path in places(said) if len(path) > 3])
        reduce(lambda part, key: part[key], outer, said)[last] = deepcopy(random.choice([*ODD, "ternary()"]))
    stored = {name: list(pairs) for name, pairs in weights.items()}
    pairs = random.choice(list(stored.values()))
    place = random.randrange(len(pairs))
    pairs[place] = pairs[place][0], random.choice([pairs[place][1], np.float32(1), np.zeros((0, 2)), np.array([b"a"])])
    with suppress(MoteError):
        load(h5_file(said, stored))
