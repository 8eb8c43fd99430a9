"""Archives of QKeras for Keras 3, as it writes them, made without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("h5py")
import mote
from mote.base.errors import MoteError
from mote.frontends import load
from mote.frontends.keras.quantizers import described
from mote.ir.graph.tensor import Array
from tests.frontends.keras.keras2_models import evaluated
from tests.frontends.keras.keras_files import called, functional, given, keras_file, tensor
from tests.frontends.keras.test_qkeras import convolved, grid

CONV = {"kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "groups": 1, "use_bias": True, "mask": None}
MODULES = {"QDense": "qlayers", "QActivation": "qlayers", "QConv2DBatchnorm": "qconv2d_batchnorm"}
RNG = np.random.default_rng(11)


def some(*shape: int, low: float = -1.0) -> Array:
    return RNG.uniform(low, 1.2, shape).astype(np.float32)


def quantizer(name: str, **options: Any) -> dict[str, Any]:
    options = {"use_stochastic_rounding": False, **options}
    return {
        "module": "qkeras.quantizers",
        "class_name": name,
        "config": options,
        "registered_name": f"qkeras>{name}",
    }


def bits(count: int, integer: int, alpha: Any = 1, **options: Any) -> dict[str, Any]:
    common = {"symmetric": 1, "keep_negative": True, "qnoise_factor": 1.0, "post_training_scale": None}
    return quantizer("quantized_bits", bits=count, integer=integer, alpha=alpha, **common | options)


def relu(count: int, integer: int) -> dict[str, Any]:
    options = {"use_sigmoid": 0, "negative_slope": 0.0, "relu_upper_bound": None, "qnoise_factor": 1.0}
    return quantizer("quantized_relu", bits=count, integer=integer, **options)


def function(name: str) -> dict[str, Any]:
    return {"module": "builtins", "class_name": "function", "config": name, "registered_name": "function"}


def layer(kind: str, name: str, source: str, **options: Any) -> dict[str, Any]:
    """A layer of QKeras, called with the result of another one."""
    policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
    said = {
        "module": f"qkeras.{MODULES.get(kind, 'qconvolutional')}",
        "class_name": kind,
        "config": {"name": name, "trainable": True, "dtype": policy, **options},
        "registered_name": f"qkeras>{kind}",
    }
    return called(said, tensor(source))


def one(said: dict[str, Any], *shape: int, weights: Mapping[str, Array] = {}) -> bytes:
    """A model of one layer, which reads x."""
    name = said["name"]
    return keras_file(functional([given("x", *shape), said], [["x", 0, 0]], [[name, 0, 0]]), weights)


def network() -> tuple[bytes, dict[str, Array]]:
    """A folded convolution, a depthwise one and a product, between quantized activations."""
    layers = [
        given("x", 6, 6, 2),
        layer("QActivation", "in", "x", activation=bits(8, 1)),
        layer(
            *("QConv2DBatchnorm", "conv", "in"),
            **CONV,
            filters=4,
            kernel_quantizer=bits(8, 1),
            bias_quantizer=bits(8, 2),
            activation=relu(4, 2),
            axis=-1,
            epsilon=1e-3,
            center=True,
            scale=True,
            folding_mode="ema_stats_folding",
        ),
        layer(
            *("QDepthwiseConv2D", "each", "conv"),
            **CONV,
            depth_multiplier=1,
            depthwise_quantizer=bits(4, 0),
            bias_quantizer=bits(4, 0),
            activation="linear",
        ),
        layer("QActivation", "relu", "each", activation=relu(8, 3)),
        called({**given("flat"), "class_name": "Flatten", "config": {"name": "flat"}}, tensor("relu")),
        layer(
            *("QDense", "dense", "flat"),
            units=5,
            use_bias=True,
            kernel_quantizer=bits(6, 0),
            bias_quantizer=bits(6, 1),
            activation=bits(8, 3, None, symmetric=0),
        ),
    ]
    conv = "layers/q_conv2d_batchnorm"
    weights = {
        f"{conv}/vars/0": some(3, 3, 2, 4),
        f"{conv}/vars/1": some(4),
        f"{conv}/vars/2": np.int64(-1),
        **{f"{conv}/batchnorm/vars/{i}": some(4, low=low) for i, low in enumerate((0.5, -1.0, -1.0, 0.5))},
        "layers/q_depthwise_conv2d/vars/0": some(3, 3, 4, 1),
        "layers/q_depthwise_conv2d/vars/1": some(4),
        "layers/q_dense/vars/0": some(16, 5),
        "layers/q_dense/vars/1": some(5),
    }
    return keras_file(functional(layers, [["x", 0, 0]], [["dense", 0, 0]]), weights), weights


def wanted(x: Array, weights: Mapping[str, Array]) -> Array:
    conv = [weights[f"layers/q_conv2d_batchnorm/vars/{i}"] for i in range(2)]
    gamma, beta, mean, variance = (weights[f"layers/q_conv2d_batchnorm/batchnorm/vars/{i}"] for i in range(4))
    inverse = gamma / np.sqrt(variance + np.float32(1e-3))
    y = convolved(grid(x, 2**-6, -127, 127), grid(conv[0] * inverse, 2**-6, -127, 127))
    y = grid(y + grid(inverse * (conv[1] - mean) + beta, 2**-5, -127, 127), 2**-2, 0, 15)
    each, bias = (weights[f"layers/q_depthwise_conv2d/vars/{i}"] for i in range(2))
    y = grid(convolved(y, grid(each, 2**-3, -7, 7)) + grid(bias, 2**-3, -7, 7), 2**-5, 0, 255)
    kernel, bias = (weights[f"layers/q_dense/vars/{i}"] for i in range(2))
    y = y.reshape(1, 16) @ grid(kernel, 2**-5, -31, 31) + grid(bias, 2**-4, -31, 31)
    return grid(y, 2**-4, -128, 127)


def test_networks_are_computed_with_integers() -> None:
    data, weights = network()
    compiled = mote.compile(data)
    kinds = {op.kind: str(compiled.plan.graph.tensors[op.outputs[0]].dtype) for op in compiled.plan.graph.ops}
    assert {kinds[k] for k in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")} == {"int8"}
    for _ in range(3):
        x = some(1, 6, 6, 2) * 2
        np.testing.assert_array_equal(evaluated(data, x)[0], wanted(x, weights))
    (found,) = mote.run(compiled, x, layers=False).values.values()
    np.testing.assert_array_equal(found, wanted(x, weights))


def test_functions_as_activations() -> None:
    """QKeras saves a function by its name, and hard_sigmoid is its own."""
    x = some(1, 9) * 3
    for name, found in (
        ("relu", np.maximum(x, 0)),
        ("hard_sigmoid", np.clip(x / 2 + 0.5, 0, 1)),
        ("hard_tanh", np.clip(x, -1, 1)),
    ):
        data = one(layer("QActivation", "a", "x", activation=function(name)), 9)
        np.testing.assert_allclose(evaluated(data, x)[0], found, rtol=1e-6, err_msg=name)


def test_masks_drop_taps() -> None:
    mask = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]], np.float32).reshape(3, 3, 1, 1)
    options = {**CONV, "use_bias": False, "mask": mask.tolist(), "activation": "linear"}
    said = layer("QConv2D", "c", "x", filters=2, kernel_quantizer=bits(4, 0), bias_quantizer=None, **options)
    kernel, x = some(3, 3, 2, 2), some(1, 5, 5, 2)
    (found,) = evaluated(one(said, 5, 5, 2, weights={"layers/q_conv2d/vars/0": kernel}), x)
    np.testing.assert_allclose(found, convolved(x, grid(kernel, 2**-3, -7, 7) * mask), rtol=1e-5, atol=1e-6)


def test_quantized_factors_of_normalization() -> None:
    none = dict.fromkeys(("gamma_quantizer", "beta_quantizer", "mean_quantizer", "variance_quantizer"))
    options = {"axis": -1, "epsilon": 1e-3, "center": True, "scale": True, "inverse_quantizer": bits(4, 1), **none}
    gamma, beta, mean, variance = (some(3, low=0.3) for _ in range(4))
    stored = {f"layers/q_batch_normalization/vars/{i}": v for i, v in enumerate((gamma, beta, mean, variance))}
    x = some(1, 4, 3)
    (found,) = evaluated(one(layer("QBatchNormalization", "n", "x", **options), 4, 3, weights=stored), x)
    factor = grid(gamma / np.sqrt(variance + np.float32(1e-3)), 2**-2, -7, 7)
    np.testing.assert_allclose(found, x * factor + (beta - mean * factor), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("quantized", [True, False])
def test_averages(quantized: bool) -> None:
    """A quantized reciprocal of 9 is 0.109375 rather than 0.111111."""
    options = {"average_quantizer": bits(7, 0) if quantized else None, "activation": "linear"}
    window = {"pool_size": [3, 3], "strides": [3, 3], "padding": "valid"}
    x = some(1, 3, 3, 2)
    mean = x.sum(axis=(1, 2)) * np.float32(0.109375 if quantized else 1 / 9)
    (found,) = evaluated(one(layer("QAveragePooling2D", "p", "x", **window, **options), 3, 3, 2), x)
    np.testing.assert_allclose(found[:, 0, 0], mean, rtol=1e-5, atol=1e-6)
    said = layer("QGlobalAveragePooling2D", "p", "x", keepdims=False, data_format="channels_last", **options)
    np.testing.assert_allclose(evaluated(one(said, 3, 3, 2), x)[0], mean, rtol=1e-5, atol=1e-6)


def test_scales_that_training_has_found() -> None:
    found = described(bits(4, 0, "auto", post_training_scale=[[0.5, 0.25]]))
    assert found is not None
    weights = np.array([[0.3, 0.3], [-0.9, -0.02]], np.float32)
    codes = np.clip(np.floor(np.abs(weights) * np.array([16, 32]) + 0.5), 0, 7) * np.sign(weights)
    np.testing.assert_array_equal(found.of_weights(weights), codes * np.array([0.5, 0.25]) / 8)


@pytest.mark.parametrize(
    ("kind", "options", "error"),
    [
        ("QActivation", {"activation": bits(4, 0, "auto")}, "computes its scale from every input\n  help: give the"),
        (
            "QActivation",
            {"activation": quantizer("quantized_po2", bits=4)},
            "for activations\n  help: quantize",
        ),
        ("QActivation", {"activation": bits(4, 0, qnoise_factor=0.5)}, "qnoise_factor is 0.5\n  help: end training"),
        ("QGRU", {"units": 3}, "QGRU of QKeras is not supported\n  help: build that part"),
    ],
)
def test_what_cannot_be_read_is_said_with_a_remedy(kind: str, options: dict[str, Any], error: str) -> None:
    with pytest.raises(MoteError, match=f"layer 0 {kind} 'q': .*{error}"):
        load(one(layer(kind, "q", "x", **options), 4))
