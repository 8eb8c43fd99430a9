"""Networks as people build them in Keras: compiled, run, and equal to Keras, some on an emulated core."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.ui.cli import main
from tests.helpers.support import emulated

pytestmark = pytest.mark.frontends
os.environ.setdefault("KERAS_BACKEND", "torch")
L = pytest.importorskip("keras.layers", reason="Keras is not installed")
keras = sys.modules["keras"]


def ds_cnn() -> Any:
    """Depthwise separable convolutions over a spectrogram."""
    x = given = keras.Input((25, 10, 1))
    x = L.ReLU()(L.BatchNormalization()(L.Conv2D(16, (10, 4), strides=2, padding="same", use_bias=False)(x)))
    for _ in range(2):
        x = L.ReLU()(L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same", use_bias=False)(x)))
        x = L.ReLU()(L.BatchNormalization()(L.Conv2D(16, 1, use_bias=False)(x)))
    x = L.Dropout(0.4)(L.GlobalAveragePooling2D()(x))
    return keras.Model(given, L.Dense(12, activation="softmax")(x))


def mobilenet_v3() -> Any:
    """Inverted bottlenecks with squeeze-and-excite, channels first."""
    first = {"data_format": "channels_first"}
    x = given = keras.Input((3, 24, 24))
    x = L.Activation("hard_swish")(L.BatchNormalization(axis=1)(L.Conv2D(8, 3, strides=2, padding="same", **first)(x)))
    for stride in (1, 2):
        wide = L.Activation("hard_swish")(L.Conv2D(24, 1, **first)(x))
        wide = L.DepthwiseConv2D(5, strides=stride, padding="same", activation="hard_swish", **first)(wide)
        seen = L.GlobalAveragePooling2D(keepdims=True, **first)(wide)
        gate = L.Conv2D(24, 1, activation="hard_sigmoid", **first)(L.Conv2D(6, 1, activation="relu", **first)(seen))
        narrow = L.Conv2D(8, 1, **first)(L.Multiply()([wide, gate]))
        x = L.Add()([x, narrow]) if stride == 1 else narrow
    return keras.Model(given, L.Dense(5)(L.Flatten()(L.AveragePooling2D(2, **first)(x))))


def u_net() -> Any:
    x = given = keras.Input((16, 16, 2))
    skips = []
    for filters in (4, 8):
        x = L.Conv2D(filters, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = L.Conv2D(8, 3, padding="same", activation="gelu")(x)
    for filters, skip in zip((8, 4), reversed(skips), strict=True):
        x = L.Concatenate()([L.Conv2DTranspose(filters, 2, strides=2)(x), skip])
        x = L.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return keras.Model(given, L.Conv2D(3, 1, activation="softmax")(L.UpSampling2D(2, interpolation="bilinear")(x)))


def transformer() -> Any:
    words = keras.Input((8,), dtype="int32")
    x = L.Embedding(20, 16)(words)
    for _ in range(2):
        x = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(4, 4)(x, x)]))
        x = L.LayerNormalization()(L.Add()([x, L.Dense(16)(L.Dense(32, activation="gelu")(x))]))
    return keras.Model(words, L.Dense(4)(L.GlobalAveragePooling1D()(x)))


def sequences() -> Any:
    """A convolution over time, then recurrent layers in both directions."""
    over_time = L.Conv1D(8, 3, strides=2, padding="causal", activation="relu")
    both = L.Bidirectional(L.LSTM(6, return_sequences=True))
    return keras.Sequential([keras.Input((20, 3)), over_time, both, L.GRU(5), L.Dense(2, activation="sigmoid")])


NETWORKS: dict[str, Callable[[], Any]] = {
    "ds_cnn": ds_cnn,
    "mobilenet_v3": mobilenet_v3,
    "u_net": u_net,
    "transformer": transformer,
    "sequences": sequences,
}


def made(name: str) -> Any:
    keras.utils.set_random_seed(1)
    model = NETWORKS[name]()
    for layer in model.layers:
        if isinstance(layer, L.BatchNormalization):
            rng = np.random.default_rng(2)
            layer.set_weights([rng.uniform(0.5, 1.5, w.shape).astype(np.float32) for w in layer.get_weights()])
    return model


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compute_what_keras_computes(name: str) -> None:
    compiled = mote.compile(made(name))
    moved = [op.name for op in compiled.plan.graph.ops if op.kind == "TRANSPOSE"]
    assert not moved, "nothing is moved inside of a network"
    result = mote.verify(compiled, 4)
    assert result.passed and result.reference.startswith("Keras"), result.mismatches[:4]


@pytest.mark.parametrize("name", ["ds_cnn", "sequences"])
def test_networks_on_a_core(name: str) -> None:
    assert mote.verify(mote.compile(made(name), target=emulated("cortex-m4")), 2).passed


def test_a_file_and_its_object_are_the_same_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is read without Keras, under any name; Keras is asked only when it is verified."""
    model = made("ds_cnn")
    model.save(tmp_path / "net.keras")
    (tmp_path / "net.keras").rename(tmp_path / "net.bin")
    one, other = mote.compile(tmp_path / "net.bin"), mote.compile(model)
    x = np.random.default_rng(0).normal(size=(1, 25, 10, 1)).astype(np.float32)
    for found in zip(mote.run(one, x).values.values(), mote.run(other, x).values.values(), strict=True):
        np.testing.assert_array_equal(*found)
    assert main(["verify", str(tmp_path / "net.bin"), "--inputs", "2"]) == 0
    assert "against Keras" in capsys.readouterr().out


def test_what_backends_of_keras_do_not_agree_on_is_said() -> None:
    model = keras.Sequential([keras.Input((6, 6, 2)), L.Conv2DTranspose(3, 3, strides=2, padding="same")])
    (said,) = mote.compile(model).warnings
    assert "Keras does otherwise with PyTorch" in said
