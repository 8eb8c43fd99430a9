"""Every layer of Keras that Mote reads, against Keras: in NumPy and in C, many in one model."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.frontends.keras import activations
from mote.frontends.keras.layers import LAYERS, core, qkeras, tensorflow

pytestmark = pytest.mark.frontends
os.environ.setdefault("KERAS_BACKEND", "torch")
L = pytest.importorskip("keras.layers", reason="Keras is not installed")
keras = sys.modules["keras"]

Branch = tuple[tuple[int, ...], Callable[..., Any]]
"""The shape of an input, and what is made of it."""


def branches(*cases: Branch) -> Any:
    """One model in which each input goes through layers of its own, with weights that say something."""
    inputs = [keras.Input(shape) for shape, _ in cases]
    model = keras.Model(inputs, [make(x) for x, (_, make) in zip(inputs, cases, strict=True)])
    rng = np.random.default_rng(3)
    for weight in model.weights:
        if "seed" in weight.path:
            continue
        low, high = (0.5, 1.5) if any(x in weight.path for x in ("variance", "gamma", "scale")) else (-0.6, 0.6)
        weight.assign(rng.uniform(low, high, weight.shape).astype(np.float32))
    return model


def check(*cases: Branch) -> None:
    result = mote.verify(mote.compile(branches(*cases)), 4)
    assert result.reference.startswith("Keras 3")
    assert result.passed, [(m.name, m.op, m.max_abs_diff, m.allowed) for m in result.mismatches]


SEQUENCE, IMAGE, VOLUME = (9, 4), (8, 7, 4), (5, 4, 6, 2)
FIRST = {"data_format": "channels_first"}


def test_activations() -> None:
    names = sorted(activations.FUNCTIONS)
    known = {name for name in dir(keras.activations) if name.islower() and callable(getattr(keras.activations, name))}
    assert known - {*names} <= {"deserialize", "get", "serialize", "sparsemax", "threshold"}
    check(*(((3, 6), L.Activation(name, name=f"of_{name}")) for name in names))


def test_activations_as_layers() -> None:
    made = [
        L.ReLU(),
        L.ReLU(max_value=0.5),
        L.ReLU(negative_slope=0.2, threshold=0.3),
        L.ReLU(negative_slope=0.2, threshold=0.3, max_value=0.6),
        L.ReLU(threshold=0.25, max_value=0.5),
        L.LeakyReLU(0.15),
        L.ELU(0.7),
        L.Softmax(),
        L.Softmax(axis=1),
        L.Softmax(axis=(1, 2)),
        L.PReLU(),
        L.PReLU(shared_axes=[1]),
        L.Dense(5, activation=L.LeakyReLU(0.1)),
    ]
    check(*(((3, 6), layer) for layer in made))


def test_core_and_what_does_nothing() -> None:
    check(
        ((6,), L.Dense(4)),
        ((6,), L.Dense(4, use_bias=False, activation="relu")),
        ((3, 6), L.Dense(4, activation="softmax")),
        ((2, 3, 6), L.Dense(4)),
        ((3, 6), L.EinsumDense("abc,cd->abd", output_shape=(None, 5), bias_axes="d", activation="tanh")),
        ((3, 6), L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3))),
        ((5,), L.Embedding(7, 3)),
        ((6,), lambda x: L.Dense(3)(L.Dropout(0.5)(x))),
        (SEQUENCE, lambda x: L.SpatialDropout1D(0.5)(L.GaussianNoise(0.1)(L.Dense(2)(x)))),
        (IMAGE, lambda x: L.SpatialDropout2D(0.5)(L.Dense(2)(x))),
        (VOLUME, lambda x: L.SpatialDropout3D(0.5)(L.Dense(2)(x))),
        ((6,), lambda x: L.Identity()(L.AlphaDropout(0.1)(L.GaussianDropout(0.1)(L.ActivityRegularization()(x))))),
        ((6,), L.SpectralNormalization(L.Dense(3))),
        ((3, 6), lambda x: L.Dense(2)(L.Masking(0.0)(x))),
    )


def test_layers_that_change_images_in_training_only() -> None:
    values = {"RandomPosterization": (1,), "RandomTranslation": (0.2, 0.2)}
    wide = ("Brightness", "ColorDegeneration", "Contrast", "Hue", "Rotation", "Saturation", "Sharpness", "Zoom")
    values |= {f"Random{name}": (0.2,) for name in wide}
    made = [getattr(L, name)(*values.get(name, ())) for name in core.AUGMENTING]
    check(*(((4, 4, 3), lambda x, layer=layer: L.Dense(1)(layer(x))) for layer in made))


@pytest.mark.parametrize("first", [False, True])
def test_convolutions(first: bool) -> None:
    if first:
        sequence, image, volume = (4, 9), (4, 8, 7), (2, 5, 4, 6)
        how = FIRST
    else:
        sequence, image, volume, how = SEQUENCE, IMAGE, VOLUME, {}
    check(
        (sequence, L.Conv1D(5, 3, **how)),
        (sequence, L.Conv1D(5, 3, padding="same", strides=2, activation="relu", **how)),
        (image, L.Conv2D(6, 3, **how)),
        (image, L.Conv2D(6, (3, 2), strides=2, padding="same", **how)),
        (image, L.Conv2D(6, 4, strides=(1, 2), padding="same", use_bias=False, **how)),
        (image, L.Conv2D(6, 3, dilation_rate=2, padding="same", **how)),
        (image, L.Conv2D(6, 3, groups=2, **how)),
        (volume, L.Conv3D(3, 2, padding="same", strides=(1, 2, 1), **how)),
        (image, L.DepthwiseConv2D(3, padding="same", depth_multiplier=2, **how)),
        (image, L.DepthwiseConv2D(3, strides=2, activation="relu6", **how)),
        (sequence, L.DepthwiseConv1D(3, padding="same", **how)),
        (image, L.SeparableConv2D(6, 3, padding="same", depth_multiplier=2, activation="relu", **how)),
        (sequence, L.SeparableConv1D(6, 3, **how)),
    )


def test_convolutions_of_the_past() -> None:
    check((SEQUENCE, L.Conv1D(5, 3, padding="causal", dilation_rate=2)), (SEQUENCE, L.Conv1D(5, 4, padding="causal")))


@pytest.mark.parametrize("first", [False, True])
def test_transposed_convolutions(first: bool) -> None:
    shapes = ((4, 9), (4, 5, 6), (2, 3, 4, 3)) if first else (SEQUENCE, (5, 6, 4), (3, 4, 3, 2))
    sequence, image, volume = shapes
    how = FIRST if first else {}
    check(
        (sequence, L.Conv1DTranspose(3, 3, strides=2, **how)),
        (sequence, L.Conv1DTranspose(3, 4, strides=2, padding="same", **how)),
        (image, L.Conv2DTranspose(3, 3, **how)),
        (image, L.Conv2DTranspose(3, 4, strides=2, padding="same", activation="relu", **how)),
        (image, L.Conv2DTranspose(3, (3, 2), strides=2, **how)),
        (image, L.Conv2DTranspose(3, 4, strides=2, padding="same", output_padding=0, **how)),
        (volume, L.Conv3DTranspose(3, 2, strides=2, padding="same", **how)),
    )


@pytest.mark.parametrize("first", [False, True])
def test_pooling(first: bool) -> None:
    sequence, image, volume = ((4, 9), (4, 8, 7), (2, 5, 4, 6)) if first else (SEQUENCE, IMAGE, VOLUME)
    how = FIRST if first else {}
    cases: list[Branch] = []
    for kind in ("Max", "Average"):
        cases += [
            (sequence, getattr(L, f"{kind}Pooling1D")(2, **how)),
            (sequence, getattr(L, f"{kind}Pooling1D")(3, strides=2, padding="same", **how)),
            (image, getattr(L, f"{kind}Pooling2D")(2, **how)),
            (
                image,
                getattr(L, f"{kind}Pooling2D")(
                    (3, 2), strides=(1, 2), padding="same" if kind == "Max" else "valid", **how
                ),
            ),
            (image, getattr(L, f"{kind}Pooling2D")(3, strides=1, padding="same", **how)),
            (volume, getattr(L, f"{kind}Pooling3D")(2, **how)),
            (sequence, getattr(L, f"Global{kind}Pooling1D")(**how)),
            (image, getattr(L, f"Global{kind}Pooling2D")(keepdims=True, **how)),
            (volume, getattr(L, f"Global{kind}Pooling3D")(**how)),
            (sequence, getattr(L, f"Adaptive{kind}Pooling1D")(4, **how)),
            (image, getattr(L, f"Adaptive{kind}Pooling2D")((4, 3), **how)),
            (volume, getattr(L, f"Adaptive{kind}Pooling3D")(2, **how)),
        ]
    check(*cases)


def test_normalizations() -> None:
    check(
        (IMAGE, L.BatchNormalization()),
        (IMAGE, L.BatchNormalization(axis=1, scale=False)),
        ((6,), L.BatchNormalization(center=False)),
        ((6,), L.BatchNormalization(scale=1, center=0)),
        (IMAGE, lambda x: L.BatchNormalization()(L.Conv2D(3, 3, use_bias=False)(x))),
        (SEQUENCE, L.LayerNormalization()),
        (SEQUENCE, L.LayerNormalization(axis=[1, 2])),
        (SEQUENCE, L.LayerNormalization(axis=[1, 2], center=False)),
        (IMAGE, L.LayerNormalization(scale=False)),
        (IMAGE, L.GroupNormalization(2)),
        (IMAGE, L.GroupNormalization(-1)),
        ((4, 6, 5), L.GroupNormalization(2, axis=1)),
        (SEQUENCE, L.GroupNormalization(4)),
        (SEQUENCE, L.UnitNormalization()),
        (IMAGE, L.UnitNormalization(axis=[1, 2])),
        (SEQUENCE, L.RMSNormalization()),
        (IMAGE, L.RMSNormalization(axis=[2, 3])),
        (SEQUENCE, L.Normalization(mean=[0.1, 0.2, 0.3, 0.4], variance=[1.0, 2.0, 0.5, 3.0])),
        (SEQUENCE, L.Normalization(mean=0.5, variance=2.0, axis=None)),
        (SEQUENCE, L.Normalization(mean=0.5, variance=2.0, axis=None, invert=True)),
        (IMAGE, L.Rescaling(1 / 127.5, -1.0)),
        (IMAGE, L.Rescaling([1.0, 2.0, 3.0, 4.0])),
    )


def test_a_network_inside_at_the_end() -> None:
    inner = keras.Sequential([L.Input((6,)), L.Dense(3), L.Dropout(0.5)], name="inner")
    given = keras.Input((6,))
    assert mote.verify(mote.compile(keras.Model(given, [inner(given), given * 2.0])), 3).passed
    assert mote.verify(mote.compile(keras.Sequential([keras.Input((6,)), L.Dense(6), inner])), 3).passed


def test_statistics_that_were_found_in_data() -> None:
    found = L.Normalization()
    found.adapt(np.random.default_rng(1).normal(3, 2, (64, 6)).astype(np.float32))
    model = keras.Sequential([keras.Input((6,)), found, L.Dense(2)])
    assert mote.verify(mote.compile(model), 3).passed


def test_reshaping() -> None:
    check(
        (IMAGE, L.Flatten()),
        ((4, 8, 7), L.Flatten(data_format="channels_first")),
        (IMAGE, L.Reshape((7, -1))),
        (IMAGE, L.Reshape((8 * 7 * 4,))),
        (IMAGE, L.Permute((3, 1, 2))),
        ((6,), L.RepeatVector(3)),
        (SEQUENCE, L.Cropping1D((1, 2))),
        (IMAGE, L.Cropping2D(1)),
        (IMAGE, L.Cropping2D(((1, 2), (0, 3)))),
        ((4, 8, 7), L.Cropping2D(((1, 2), (0, 3)), data_format="channels_first")),
        (VOLUME, L.Cropping3D(((1, 1), (0, 1), (2, 0)))),
        (SEQUENCE, L.ZeroPadding1D((1, 2))),
        (IMAGE, L.ZeroPadding2D((1, 2))),
        (IMAGE, L.ZeroPadding2D(((1, 2), (0, 3)))),
        (VOLUME, L.ZeroPadding3D(1)),
        (SEQUENCE, L.UpSampling1D(2)),
        (IMAGE, L.UpSampling2D(2)),
        (IMAGE, L.UpSampling2D((3, 2), interpolation="bilinear")),
        ((4, 8, 7), L.UpSampling2D(2, data_format="channels_first")),
        (VOLUME, L.UpSampling3D(2)),
        (IMAGE, L.Resizing(5, 9)),
        (IMAGE, L.Resizing(16, 14, interpolation="nearest")),
        (IMAGE, L.CenterCrop(4, 5)),
        (IMAGE, lambda x: L.Dense(3)(L.Flatten()(L.Conv2D(2, 3)(x)))),
    )


def test_merging() -> None:
    def both(layer: Any, *more: Any) -> Callable[[Any], Any]:
        return lambda x: layer([x, *(make(x) for make in more)])

    double = L.Rescaling(2.0)
    check(
        (IMAGE, both(L.Add(), double, double)),
        (IMAGE, both(L.Subtract(), double)),
        (IMAGE, both(L.Multiply(), double)),
        (IMAGE, both(L.Average(), double, double)),
        (IMAGE, both(L.Maximum(), double)),
        (IMAGE, both(L.Minimum(), double)),
        (IMAGE, both(L.Concatenate(), double)),
        (IMAGE, both(L.Concatenate(axis=1), double)),
        (IMAGE, both(L.Multiply(), L.GlobalAveragePooling2D(keepdims=True))),
        (IMAGE, both(L.Add(), L.GlobalAveragePooling2D())),
        ((6,), both(L.Dot(axes=1), double)),
        ((6,), both(L.Dot(axes=1, normalize=True), L.Dense(6))),
        (SEQUENCE, both(L.Dot(axes=(2, 2)), double)),
        (SEQUENCE, both(L.Dot(axes=1), double)),
    )


def test_categories() -> None:
    """In C, from numbers that reach every category."""
    bounds = [-0.5, 0.0, 0.75]
    x, tokens = keras.Input((6,), name="x"), keras.Input((6,), dtype="int32", name="tokens")
    made = [L.Discretization(bin_boundaries=bounds)(x)]
    made += [L.Discretization(bin_boundaries=bounds, output_mode="one_hot")(x)]
    made += [L.CategoryEncoding(num_tokens=5, output_mode=mode)(tokens) for mode in ("one_hot", "multi_hot", "count")]
    made += [L.CategoryEncoding(num_tokens=5, output_mode="one_hot")(tokens[:, :1])]
    model = keras.Model([x, tokens], made)
    given = np.array([[-1, -0.5, -0.25, 0, 0.75, 2]], np.float32), np.array([[0, 4, 2, 2, 1, 0]], np.int32)
    found = mote.run(mote.compile(model), {"x": given[0], "tokens": given[1]}).values
    for value, wanted in zip(found.values(), model(list(given)), strict=True):
        np.testing.assert_array_equal(value, wanted.detach().numpy())


def test_attention() -> None:
    def itself(layer: Any, **how: Any) -> Callable[[Any], Any]:
        return lambda x: layer(x, x, **how)

    check(
        ((6, 8), itself(L.MultiHeadAttention(2, 4))),
        ((6, 8), itself(L.MultiHeadAttention(2, 4), use_causal_mask=True)),
        ((6, 8), itself(L.MultiHeadAttention(3, 5, value_dim=4, use_bias=False, output_shape=7))),
        ((6, 8), lambda x: L.MultiHeadAttention(2, 4)(x, L.Dense(5)(x), L.Dense(3)(x))),
        ((6, 8), itself(L.GroupQueryAttention(4, 4, 2))),
        ((6, 8), itself(L.GroupQueryAttention(4, 4, 2, use_gate=True, sliding_window=3), use_causal_mask=True)),
        ((6, 8), itself(L.MultiHeadAttention(2, 4, use_gate=True))),
        ((6, 8), lambda x: L.Attention()([x, x])),
        ((6, 8), lambda x: L.Attention(use_scale=True)([x, L.Dense(8)(x), x])),
        ((6, 8), lambda x: L.Attention(score_mode="concat", use_scale=True)([x, x])),
        ((6, 8), lambda x: L.AdditiveAttention()([x, x])),
    )


def test_masks_of_attention_that_are_tensors() -> None:
    x, mask = keras.Input((6, 8), name="x"), keras.Input((6, 6), dtype="bool", name="mask")
    model = keras.Model([x, mask], L.MultiHeadAttention(2, 4)(x, x, attention_mask=mask))
    compiled = mote.compile(model)
    rng = np.random.default_rng(4)
    given = rng.normal(size=(1, 6, 8)).astype(np.float32)
    seen = rng.integers(0, 2, (1, 6, 6)).astype(bool) | np.eye(6, dtype=bool)
    (found,) = mote.run(compiled, {"x": given, "mask": seen}).values.values()
    np.testing.assert_allclose(found, model([given, seen]).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_recurrent_layers() -> None:
    check(
        (SEQUENCE, L.LSTM(5)),
        (SEQUENCE, L.LSTM(5, return_sequences=True, go_backwards=True, use_bias=False)),
        (SEQUENCE, L.LSTM(3, activation="relu", recurrent_activation="hard_sigmoid")),
        (SEQUENCE, L.GRU(5)),
        (SEQUENCE, L.GRU(5, return_sequences=True, reset_after=False)),
        (SEQUENCE, L.GRU(5, use_bias=False, go_backwards=True)),
        (SEQUENCE, L.SimpleRNN(4, return_sequences=True)),
        (SEQUENCE, L.SimpleRNN(4, activation="softsign")),
        (SEQUENCE, L.Bidirectional(L.LSTM(3, return_sequences=True))),
        (SEQUENCE, L.Bidirectional(L.GRU(3), merge_mode="sum")),
        (SEQUENCE, L.Bidirectional(L.LSTM(3), merge_mode="mul", backward_layer=L.LSTM(3, go_backwards=True))),
        (SEQUENCE, L.Bidirectional(L.SimpleRNN(3, return_sequences=True), merge_mode="ave")),
        (SEQUENCE, L.RNN([L.LSTMCell(3), L.GRUCell(2), L.LSTMCell(4)], return_sequences=True)),
        (SEQUENCE, L.RNN(L.SimpleRNNCell(3))),
        (SEQUENCE, lambda x: L.Concatenate()(L.LSTM(3, return_state=True)(x))),
        (SEQUENCE, lambda x: L.LSTM(3)(x, initial_state=[L.Dense(3)(x[:, 0]), L.Dense(3)(x[:, 1])])),
        (SEQUENCE, L.TimeDistributed(L.Dense(3, activation="relu"))),
        ((3, 6, 6, 2), L.TimeDistributed(L.Conv2D(3, 3))),
        ((3, 6, 6, 2), L.TimeDistributed(keras.Sequential([L.Input((6, 6, 2)), L.Conv2D(3, 3), L.Flatten()]))),
    )


def masked(*layers: Callable[..., Any]) -> Branch:
    """Layers behind a mask."""
    return SEQUENCE, lambda x: reduce(lambda y, layer: layer(y), layers, L.Masking(0.0)(x))


def embedded(*layers: Callable[..., Any]) -> Branch:
    return (9,), lambda x: reduce(lambda y, layer: layer(y), layers, L.Embedding(6, 4, mask_zero=True)(x))


def test_masks() -> None:
    """Some steps of each sequence do not count, wherever they are, and in some sequences none does."""
    initial = L.Dense(3)
    model = branches(
        masked(L.LSTM(5)),
        masked(L.LSTM(5, return_sequences=True)),
        masked(L.GRU(4, return_sequences=True, go_backwards=True)),
        masked(L.SimpleRNN(3, return_sequences=True), L.GRU(3, go_backwards=True)),
        masked(L.Bidirectional(L.LSTM(3, return_sequences=True))),
        masked(L.Bidirectional(L.GRU(3))),
        masked(lambda x: L.Concatenate()(L.LSTM(3, return_state=True)(x))),
        masked(L.RNN([L.LSTMCell(3), L.GRUCell(4)], return_sequences=True)),
        masked(L.RNN(L.GRUCell(3), return_sequences=True, zero_output_for_mask=True)),
        masked(L.RNN(L.GRUCell(3), zero_output_for_mask=True)),
        masked(lambda x: L.GRU(3)(x, initial_state=initial(x[:, 0]))),
        masked(lambda x: L.GRU(3)(x, initial_state=initial(x[:, 0]), mask=keras.ops.any(x != 0, -1))),
        masked(L.Dropout(0.5), L.TimeDistributed(L.Dense(3)), L.GlobalAveragePooling1D()),
        masked(L.Conv1D(3, 2), L.GlobalAveragePooling1D()),
        masked(lambda x: L.GRU(3)(x * 2.0)),
        masked(lambda x: L.Attention()([x, L.Dense(4)(x)])),
        masked(lambda x: L.GRU(3)(L.AdditiveAttention()([x, x]))),
        masked(lambda x: L.GRU(3)(L.Add()([x, L.Dense(4)(x)]))),
        masked(lambda x: L.GRU(3)(L.Concatenate(axis=1)([x, L.Dense(4)(x)]))),
        masked(lambda x: L.GRU(3)(L.Add()([x, L.Conv1D(4, 3, padding="same")(x)]))),
        masked(keras.Sequential([L.Input(SEQUENCE), L.Dense(4), L.ReLU()]), L.GRU(3)),
        masked(lambda x: L.MultiHeadAttention(2, 3)(x, x), L.GRU(3)),
        embedded(L.LSTM(4)),
        embedded(L.GlobalAveragePooling1D()),
    )
    compiled, rng = mote.compile(model), np.random.default_rng(5)
    names = [compiled.plan.graph.tensors[t].name for t in compiled.plan.graph.inputs]
    for share in (0.3, 0.6, 1.0):
        given = [rng.normal(size=(1, *t.shape[1:])).astype(np.float32) for t in model.inputs]
        given = [rng.integers(0, 6, x.shape).astype(np.float32) if x.ndim == 2 else x for x in given]
        for x in given:
            x[rng.random(x.shape[:2]) < share] = 0
        wanted = [y.detach().numpy() for y in model([keras.ops.convert_to_tensor(x) for x in given])]
        found = mote.run(compiled, dict(zip(names, given, strict=True)), layers=False).values.values()
        for i, (x, y) in enumerate(zip(found, wanted, strict=True)):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5, err_msg=str(i))


def test_recurrent_layers_of_convolutions() -> None:
    check(
        ((4, 6, 2), L.ConvLSTM1D(3, 3, padding="same")),
        ((3, 5, 6, 2), L.ConvLSTM2D(2, 3, padding="same", return_sequences=True)),
        ((3, 5, 6, 2), L.ConvLSTM2D(2, 3, recurrent_activation="hard_sigmoid", go_backwards=True)),
        ((2, 4, 3, 4, 1), L.ConvLSTM3D(2, 2, padding="same")),
    )


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
def test_states_that_are_kept(kind: str) -> None:
    """Each inference goes on from the one before, in C as in Keras."""
    model = keras.Sequential([L.Input(batch_shape=(1, 3, 4)), getattr(L, kind)(5, stateful=True), L.Dense(2)])
    compiled = mote.compile(model)
    assert compiled.plan.graph.states
    assert mote.verify(compiled, 6).passed


def test_functions_between_layers() -> None:
    ops = keras.ops
    check(
        ((6,), lambda x: x * 2.0 + 1.0),
        ((6,), lambda x: 1.0 - x / 3.0),
        ((3, 6), lambda x: ops.relu(x) + ops.sigmoid(x) * ops.tanh(-x)),
        ((3, 6), lambda x: ops.mean(x, axis=-1, keepdims=True) + ops.max(x, axis=1, keepdims=True)),
        ((3, 6), lambda x: ops.reshape(ops.transpose(x, (0, 2, 1)), (-1, 9, 2))),
        ((3, 6), lambda x: ops.concatenate([x, ops.square(x)], axis=-1)),
        ((3, 6), lambda x: ops.softmax(ops.sqrt(ops.abs(x) + 1.0))),
        ((3, 6), lambda x: ops.matmul(x, ops.transpose(x, (0, 2, 1)))),
        ((3, 6), lambda x: x[:, 1, 2:5]),
        ((3, 6), lambda x: ops.squeeze(ops.expand_dims(x, 1), 1) * ops.clip(x, -0.5, 0.25)),
        ((6,), lambda x: ops.exp(ops.minimum(x, 0.5)) - ops.log(ops.maximum(x, 0.1))),
        ((3, 6), lambda x: ops.where(ops.logical_or(x > 0.5, ops.logical_not(x >= -0.5)), x, 0.0)),
        ((3, 6), lambda x: ops.where(ops.logical_and(x < 0.5, x <= 0.7), x, ops.zeros_like(x) - ops.ones_like(x))),
        ((3, 6), lambda x: ops.cast(ops.any(ops.not_equal(x, 0.0), -1), "float32") * x[:, :, 0]),
        ((3, 6), lambda x: ops.cast(ops.all(ops.equal(x, x), -1, keepdims=True), "float32") * x),
    )


def test_hdf5_files_of_keras_3(tmp_path: Path) -> None:
    """They have weights as files of Keras 2, and calls as `.keras` files."""
    inside = keras.Sequential([L.Input((8, 6)), L.Conv1D(4, 3, name="c"), L.BatchNormalization()], name="inside")

    def make(x: Any) -> Any:
        y = L.Bidirectional(L.LSTM(3, return_sequences=True, recurrent_activation="hard_sigmoid"))(inside(x))
        return L.RNN([L.LSTMCell(3), L.GRUCell(4)])(L.Add()([y, L.MultiHeadAttention(2, 3)(y, y)]))

    path = tmp_path / "model.h5"
    branches(((8, 6), make)).save(path)
    result = mote.verify(mote.compile(path), 3)
    assert result.passed and result.reference.startswith("Keras 3")


def test_no_layer_of_the_table_is_untried() -> None:
    """What is read is also in Keras, and in one of the tests here."""
    text = open(__file__, encoding="utf-8").read()  # noqa: PTH123, SIM115
    elsewhere = {*core.AUGMENTING, *core.KERAS2, *tensorflow.LAYERS, *qkeras.LAYERS}
    for name in LAYERS.keys() - elsewhere:
        kind = next((k for k in ("Max", "Average") if f"{k}Pooling" in name), None)
        pattern = name.replace(kind, "{kind}") if kind else name
        assert f'"{pattern}"' in text or f"L.{name}(" in text or f'"{name}"' in text, name
        assert hasattr(L, name) or name == "GroupedQueryAttention", name
