"""The reader of `.keras` files, with files that the tests make: Keras is not needed."""

from __future__ import annotations

import json
import zipfile
from copy import deepcopy
from functools import reduce
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

h5py = pytest.importorskip("h5py")

import keras_layers
import mote
from mote.base.errors import MoteError
from mote.frontends import Format, Source, load, source_of
from mote.frontends.keras import archive, read
from mote.frontends.keras.layers import LAYERS
from mote.frontends.keras.layers.operations import OPERATIONS
from mote.ir.graph.tensor import Array
from tests.frontends.keras.keras_files import (
    called,
    dense,
    dense_weights,
    functional,
    given,
    keras_file,
    layer,
    sequential,
    stored,
    tensor,
)
from tests.helpers.support import examples

SMALL = sequential(given("x", 4), dense("a", 3, activation="relu"), dense("b", 2))
WEIGHTS = dense_weights("layers/dense", 4, 3) | dense_weights("layers/dense_1", 3, 2, seed=1)


def values(data: bytes, *inputs: Array, **options: Any) -> list[Array]:
    """What the generated C computes."""
    compiled = mote.compile(data, **options)
    names = [compiled.plan.graph.tensors[t].name for t in compiled.plan.graph.inputs]
    found = mote.run(compiled, dict(zip(names, inputs, strict=True)), layers=False).values
    return list(found.values())


def some(*shape: int, seed: int = 5) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def affine(x: Array, path: str, weights: Any = WEIGHTS) -> Array:
    result: Array = x @ weights[f"{path}/vars/0"] + weights[f"{path}/vars/1"]
    return result


def test_layers_in_a_row() -> None:
    data = keras_file(SMALL, WEIGHTS)
    assert source_of(data).format == Format.KERAS
    x = some(1, 4)
    (found,) = values(data, x)
    wanted = affine(np.maximum(affine(x, "layers/dense"), 0), "layers/dense_1")
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_graph_with_a_shared_layer_a_network_inside_and_several_outputs() -> None:
    inner = sequential(given("in", 3), dense("twice", 3), name="inner")
    shared = called(called(dense("shared", 3), tensor("a")), tensor("b"))
    both = called(layer("Concatenate", "both", axis=-1), [tensor("shared"), tensor("shared", 1)])
    net = functional(
        [
            given("a", 4),
            given("b", 4),
            both,
            called(inner, tensor("shared")),
            shared,
        ],
        [["a", 0, 0], ["b", 0, 0]],
        [["both", 0, 0], ["inner", 0, 0], ["both", 0, 0]],
    )
    weights = dense_weights("layers/dense", 4, 3) | dense_weights("layers/sequential/layers/dense", 3, 3, seed=2)
    a, b = some(1, 4), some(1, 4, seed=6)
    joined, inside, again = values(keras_file(net, weights), a, b)
    one, other = (affine(x, "layers/dense", weights) for x in (a, b))
    np.testing.assert_allclose(joined, np.concatenate([one, other], -1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(inside, affine(one, "layers/sequential/layers/dense", weights), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(joined, again)


def test_images_that_have_channels_first_have_them_last_in_c() -> None:
    options = {"kernel_size": [1, 1], "strides": [1, 1], "padding": "valid", "data_format": "channels_first"}
    conv = layer("Conv2D", "c", filters=2, **options)
    kernel = some(1, 1, 3, 2)
    data = keras_file(
        sequential(given("x", 3, 4, 5), conv), {"layers/conv2d/vars/0": kernel, "layers/conv2d/vars/1": some(2)}
    )
    compiled = mote.compile(data)
    assert compiled.plan.graph.tensors[compiled.plan.graph.inputs[0]].shape == (1, 4, 5, 3)
    assert not any(op.kind == "TRANSPOSE" for op in compiled.plan.graph.ops)
    x = some(1, 3, 4, 5)
    wanted = np.einsum("nchw,cf->nfhw", x, kernel[0, 0]) + some(2)[:, None, None]
    (found,) = mote.run(compiled, x).values.values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_open_sizes_are_said_or_refused() -> None:
    net = sequential(given("x", None, 4), dense("a", 3))
    weights = dense_weights("layers/dense", 4, 3)
    with pytest.raises(
        MoteError, match=r"the input 'x' is \?x\?x4: one of its dimensions is dynamic\n.*--shape x=1,N,4"
    ):
        load(keras_file(net, weights))
    x = some(1, 6, 4)
    (found,) = values(keras_file(net, weights), x, shapes={"x": (1, 6, 4)})
    np.testing.assert_allclose(found, affine(x, "layers/dense", weights), rtol=1e-5, atol=1e-6)
    wrong = ({"x": (1, 6, 5)}, "which 1x6x5 does not fit"), ({"y": (1,)}, "there is no input 'y'; it has 'x'")
    for shapes, said in wrong:
        with pytest.raises(MoteError, match=f"option shape: .*{said}"):
            load(keras_file(net, weights), shapes=shapes)


def test_an_input_that_is_set() -> None:
    joined = called(layer("Multiply", "m"), [tensor("x"), tensor("gain")])
    net = functional([given("x", 4), given("gain", 4), joined], [["x", 0, 0], ["gain", 0, 0]], [["m", 0, 0]])
    x = some(1, 4)
    (found,) = values(keras_file(net), x, constants={"gain": [1, 2, 3, 4]})
    np.testing.assert_allclose(found, x * [[1, 2, 3, 4]], rtol=1e-6)
    with pytest.raises(MoteError, match="option set: there is no input 'g'"):
        load(keras_file(net), constants={"g": 1})


def test_several_images_at_once() -> None:
    x = some(3, 4)
    (found,) = values(keras_file(SMALL, WEIGHTS), x, shapes=["x=3,4"])
    assert found.shape == (3, 2)


def test_layers_that_are_not_supported_are_all_listed() -> None:
    net = sequential(
        given("x", 4),
        layer("Lambda", "program", function={"class_name": "__lambda__"}),
        {**layer("Mine", "own", module="my.package"), "build_config": {"input_shape": [None, 4]}},
        {**dense("a", 3), "build_config": {"input_shape": [None, 4]}},
        {**layer("Hashing", "hash"), "build_config": {"input_shape": [None, 3]}},
    )
    with pytest.raises(MoteError) as error:
        load(keras_file(net, dense_weights("layers/dense", 4, 3)))
    said = str(error.value)
    assert "3 layer(s) cannot be compiled" in said
    for line in (
        "layer 0 Lambda 'program': a Lambda is a program in Python",
        "layer 1 Mine 'own': Mine is a custom class",
        "layer 3 Hashing 'hash': Hashing is not supported",
    ):
        assert line in said


def test_a_layer_whose_result_is_unknown_ends_the_reading() -> None:
    net = sequential(given("x", 4), layer("Lambda", "program"), dense("a", 3))
    with pytest.raises(MoteError, match=r"1 layer\(s\) cannot be compiled(.|\n)*Lambda"):
        load(keras_file(net, dense_weights("layers/dense", 4, 3)))


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (dense("a", 3, dtype={"class_name": "QuantizedDTypePolicy", "config": {}}), "quantized by Keras"),
        (dense("a", 3, activation="my_function"), "the activation 'my_function' is not supported"),
        (dense("a", 3, activation={"class_name": "function", "config": "other"}), "the activation 'other'"),
        (dense("a", 3, lora_rank=4), "LoRA is not supported"),
        (layer("Dense", "a", units="3"), "damaged .units of 'a' is not an integer"),
        (layer("Dense", "a"), "damaged .'a' lacks the option units"),
        (layer("Dense", "a", units=5), "damaged .the kernel of 'a' is 4x3, not 4x5"),
        (layer("Dense", "a", units=3, use_bias=2), "use_bias of 'a' is neither true nor false"),
        (layer("Embedding", "a", input_dim=3, output_dim=2), "the table of 'a' is 4x3, not 3x2|is missing"),
        (layer("LeakyReLU", "a", negative_slope=1e300), "negative_slope of 'a' is out of range for float32"),
        (layer("LeakyReLU", "a", negative_slope=10**400), "negative_slope' is an integer of more than 64 bits"),
        (layer("Flatten", "a") | {"config": 3}, "the options of a Flatten are missing"),
    ],
)
def test_what_is_wrong_with_a_layer_is_said(said: dict[str, Any], error: str) -> None:
    with pytest.raises(MoteError, match=error):
        load(keras_file(sequential(given("x", 4), said), dense_weights("layers/dense", 4, 3)))


def test_masks_are_refused_where_they_are_not_supported() -> None:
    for refused in (layer("Softmax", "s", axis=-1), layer("ConvLSTM1D", "c", filters=2, kernel_size=[3])):
        net = sequential(given("x", 5, 3), layer("Masking", "m", mask_value=0.0), refused)
        with pytest.raises(MoteError, match="a mask of its sequence is not supported"):
            load(keras_file(net))


def linked(kind: Any) -> bytes:
    file = BytesIO()
    with h5py.File(file, "w") as made:
        made["layers/dense/vars/0"] = kind
    return file.getvalue()


def circular() -> bytes:
    """Groups of which one contains the other, and that one the first."""
    file = BytesIO()
    with h5py.File(file, "w") as made:
        inner = made.create_group("layers/dense")
        inner["around"] = made["layers"]
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (keras_file(SMALL, WEIGHTS, without="model.weights.h5"), "its weights are in several files, or missing"),
        (keras_file(b"{", WEIGHTS), "damaged .config.json"),
        (keras_file(b"[1]", WEIGHTS), "config.json is not a JSON object"),
        (keras_file(b"[" * 100_000, WEIGHTS), "damaged .config.json"),
        (keras_file(SMALL, b"no HDF5"), "damaged .model.weights.h5"),
        (keras_file(SMALL, stored(WEIGHTS)[:900]), "damaged .model.weights.h5"),
        (keras_file(SMALL), "the kernel of 'a' is missing: there is no layers/dense/vars/0"),
        (keras_file(SMALL, linked(h5py.ExternalLink("/etc/passwd", "/x"))), "is a link to elsewhere"),
        (keras_file(SMALL, linked(h5py.SoftLink("/layers"))), "is a link to elsewhere"),
        (keras_file(SMALL, circular()), "'layers/dense/around' is a group that has another path as well"),
        (keras_file({"class_name": "Mine", "module": "x", "config": {}}), "the model is a custom class, 'Mine'"),
        (keras_file(sequential(dense("a", 3))), "does not define its inputs"),
        (keras_file(sequential(given("x", 4, sparse=True))), "the input 'x' is sparse"),
        (keras_file(sequential(given("x", 4) | {"config": {"name": "x"}})), "the input 'x' has no shape"),
        (keras_file(functional([given("x", 4)], [["y", 0, 0]], [["x", 0, 0]])), "inputs are not among its layers"),
        (keras_file(functional([given("x", 4)], [["x", 0, 0]], [["z", 0, 0]])), "the output 'z' is not computed"),
        (keras_file(functional([given("x", 4)], [["x", 0, 0]], 3)), "inputs or outputs of a network are not named"),
        (
            keras_file(
                functional(
                    [
                        given("x", 4),
                        called(layer("Flatten", "a"), tensor("b")),
                        called(layer("Flatten", "b"), tensor("a")),
                    ],
                    [["x", 0, 0]],
                    [["b", 0, 0]],
                )
            ),
            "the layers 'a', 'b' depend on each other",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # archives have the time in them
)
def test_damaged_files_are_named(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    path.write_bytes(data)
    with pytest.raises(MoteError, match=said) as error:
        load(path)
    assert str(path) in error.value.where and error.value.remedy


def test_no_more_is_unpacked_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("config.json", json.dumps(SMALL))
        made.writestr("model.weights.h5", bytes(5 << 20))
    monkeypatch.setattr(archive, "MOST_WEIGHTS", 1 << 20)
    with pytest.raises(MoteError, match="has more than 1,048,576 bytes"):
        load(file.getvalue())
    large = BytesIO()
    with h5py.File(large, "w") as weights:
        weights.create_dataset("layers/dense/vars/0", (1 << 20, 4), "f4", compression="gzip", fillvalue=0)
    with pytest.raises(MoteError, match="its weights take more than 1,048,576 bytes"):
        load(keras_file(SMALL, large.getvalue()))


def survives(data: bytes) -> bool:
    """Whether a file is read; where it is not, that is said as it should be."""
    try:
        read(Source("fuzzed.keras", Format.KERAS, data)).graph()
    except MoteError as error:
        assert "fuzzed.keras" in error.where
        return False
    return True


CONV = layer("Conv2D", "c", filters=2, kernel_size=[3, 3], strides=[1, 1], padding="same", data_format="channels_last")
FUZZED = functional(
    [
        given("x", 6, 6, 3),
        called(CONV, tensor("x", shape=[None, 6, 6, 3])),
        called(layer("MaxPooling2D", "p", pool_size=[2, 2], strides=[2, 2], padding="valid"), tensor("c")),
        called(layer("Flatten", "f", data_format="channels_last"), tensor("p")),
        called(dense("d", 3, activation="softmax"), tensor("f")),
    ],
    [["x", 0, 0]],
    [["d", 0, 0]],
)
FUZZED_WEIGHTS = dense_weights("layers/dense", 18, 3) | {
    "layers/conv2d/vars/0": some(3, 3, 3, 2),
    "layers/conv2d/vars/1": some(2),
}


def test_what_is_fuzzed_is_sound() -> None:
    assert survives(keras_file(FUZZED, FUZZED_WEIGHTS))


def places(said: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything in JSON."""
    inside = said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list) else ()
    return [path, *(place for key, part in inside for place in places(part, (*path, key)))]


ODD = [None, True, -1, 0, 1, 2, 7, 1 << 40, 0.5, "", "same", "x", [], [1], [2, 2], [0, 0, 0], {}, {"a": 1}]


@drawn(st.randoms(use_true_random=False))
@settings(max_examples=examples(150), deadline=None)
def test_networks_that_say_something_else(random: Random) -> None:
    said = json.loads(json.dumps(FUZZED))
    for _ in range(random.randint(1, 3)):
        *outer, last = random.choice([path for path in places(said) if path])
        part = reduce(lambda part, key: part[key], outer, said)
        if random.random() < 0.2 and len(part) > 1:
            del part[last]
        else:
            part[last] = deepcopy(random.choice(ODD))
    survives(keras_file(said, FUZZED_WEIGHTS))


@drawn(st.data())
@settings(max_examples=examples(120), deadline=None)
def test_bytes_that_are_something_else(data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from([keras_file(SMALL, WEIGHTS), stored(WEIGHTS)])))
    inside = whole[:4] != b"PK\x03\x04"
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = whole[: data.draw(st.integers(0, len(whole)))] if data.draw(st.booleans()) else whole
    survives(keras_file(SMALL, bytes(cut)) if inside else bytes(cut))


def test_the_page_lists_what_is_read() -> None:
    """`benchmarks/keras_layers.py --write` writes it."""
    assert keras_layers.PAGE.read_text(encoding="utf-8") == keras_layers.page()
    listed = {name for names in keras_layers.FAMILIES.values() for name in names}
    assert {*LAYERS, *OPERATIONS} - {"GroupedQueryAttention"} <= listed
