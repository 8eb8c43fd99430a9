"""Files of Keras 2 (`.h5`, and `.keras` of tf.keras), in the layout that it writes: neither Keras nor TensorFlow is
needed."""

from __future__ import annotations

import json
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

import mote
from mote.base.errors import MoteError
from mote.frontends import Format, Source, load, source_of
from mote.frontends.keras import archive, read
from mote.ir.graph.tensor import Array
from tests.frontends.keras.keras2_models import (
    Stored,
    affine,
    close,
    dense,
    evaluated,
    functional,
    h5_file,
    layer,
    of,
    some,
    taken,
)
from tests.frontends.keras.keras_files import keras_file
from tests.frontends.keras.test_keras_files import ODD, places
from tests.helpers.support import examples

SMALL = {
    "class_name": "Sequential",
    "config": {
        "name": "sequential",
        "layers": [
            layer("Dense", "a", units=3, activation="relu", use_bias=True, batch_input_shape=[None, 4]),
            layer("LeakyReLU", "l", alpha=0.25),
            layer("Dense", "b", units=2, activation="hard_sigmoid", use_bias=True),
        ],
    },
}
WEIGHTS: Stored = {"a": dense("a", 4, 3), "l": [], "b": dense("b", 3, 2)}


def small(x: Array) -> Array:
    """hard_sigmoid has another slope than in Keras 3."""
    found: Array = np.clip(affine(np.maximum(affine(x, WEIGHTS["a"]), 0), WEIGHTS["b"]) * 0.2 + 0.5, 0, 1)
    return found


def test_a_sequential_model_runs_in_c() -> None:
    data = h5_file(SMALL, WEIGHTS)
    assert source_of(data).format == Format.KERAS
    x = some(1, 4)
    (found,) = mote.run(mote.compile(data), x, layers=False).values.values()
    close(found, small(x))


def test_layers_as_a_list_and_names_in_parts() -> None:
    """The first versions wrote no dictionary; long lists of names are split into several attributes."""
    early = {"class_name": "Sequential", "config": SMALL["config"]["layers"]}
    x = some(1, 4)
    for data in (
        h5_file(early, WEIGHTS, "2.1.6"),
        h5_file(SMALL, WEIGHTS, parts=2),
        h5_file(SMALL, WEIGHTS, "2.2.4-tf"),
    ):
        close(evaluated(data, x)[0], small(x))


def test_networks_inside_shared_layers_and_calls_that_count_from_one() -> None:
    """Weights of a network inside are stored together, trainable ones first: only names say whose they are."""
    norm = layer("BatchNormalization", "norm", [of("first")], axis=[1], epsilon=1e-3, center=True, scale=1)
    inside = functional(
        [
            taken("in", 4),
            layer("Dense", "first", [of("in")], units=4, use_bias=True, activation="linear"),
            norm,
            layer("Dense", "last", [of("norm")], units=4, use_bias=True, activation="linear"),
        ],
        ["in"],
        ["last"],
        "inner",
    )
    nodes = [[of("x")], [of("inner", 1)]]
    net = functional(
        [
            taken("x", 4),
            {**inside, "name": "inner", "inbound_nodes": nodes},
            layer("Add", "sum", [of("inner", 1), of("inner", 2)]),
        ],
        ["x"],
        ["sum", ["inner", 2, 0]],
    )
    first, last = dense("first", 4, 4), dense("last", 4, 4, "inner/")
    gamma, beta, mean, variance = some(4), some(4), some(4), some(4, low=0.5)
    norms = [(f"norm/{n}:0", v) for n, v in (("gamma", gamma), ("beta", beta))]
    still = [(f"norm/{n}:0", v) for n, v in (("moving_mean", mean), ("moving_variance", variance))]

    def inner(x: Array) -> Array:
        middle = (affine(x, first) - mean) / np.sqrt(variance + 1e-3) * gamma + beta
        return affine(middle, last)

    x = some(1, 4)
    total, twice = evaluated(h5_file(net, {"x": [], "inner": [*first, *norms, *last, *still], "sum": []}), x)
    close(twice, inner(inner(x)))
    close(total, inner(x) + inner(inner(x)))


def test_functions_of_tensorflow_between_layers() -> None:
    """Constants come first or by name, tensors by name, slices as dictionaries."""
    net = functional(
        [
            taken("x", 4, 6),
            layer("TFOpLambda", "tf.math.multiply", of("x", y=2.0, name=None), function="math.multiply"),
            layer("TFOpLambda", "tf.nn.relu6", of("tf.math.multiply"), function="nn.relu6"),
            layer(
                "SlicingOpLambda",
                "tf.__operators__.getitem",
                of(
                    "tf.nn.relu6",
                    slice_spec=[dict.fromkeys(("start", "stop", "step")), {"start": 1, "stop": None, "step": 2}],
                ),
                function="__operators__.getitem",
            ),
            layer(
                "TFOpLambda",
                "tf.math.subtract",
                ["_CONSTANT_VALUE", -1, 1.0, {"y": ["tf.__operators__.getitem", 0, 0], "name": None}],
                function="math.subtract",
            ),
            layer(
                "TFOpLambda",
                "tf.concat",
                [of("tf.math.subtract", axis=1), of("tf.__operators__.getitem", axis=1)],
                function="concat",
            ),
            layer("TFOpLambda", "tf.reshape", of("tf.concat", shape=[-1, 24]), function="reshape"),
            layer(
                "TensorFlowOpLayer",
                "tf_op_layer_Mean",
                [of("tf.reshape")],
                node_def={"name": "Mean", "op": "Mean", "input": ["a", "b"], "attr": {"keep_dims": {"b": True}}},
                constants={"1": -1},
            ),
            layer("TFOpLambda", "tf.math.add", of("tf.reshape", y=["tf_op_layer_Mean", 0, 0]), function="math.add"),
        ],
        ["x"],
        ["tf.math.add"],
    )
    x = some(1, 4, 6)
    part = np.clip(2 * x, 0, 6)[:, 1::2]
    flat = np.concatenate([1 - part, part], 1).reshape(1, 24)
    close(evaluated(h5_file(net, {}), x)[0], flat + flat.mean(-1, keepdims=True))


def sigmoid(x: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-x))
    return found


def gru(x: Array, kernel: Array, again: Array, bias: Array) -> Array:
    """One whose reset gate comes before the product, step by step."""
    units, h = again.shape[0], np.zeros((1, again.shape[0]), np.float32)
    for step in range(x.shape[1]):
        z, r = (
            sigmoid(x[:, step] @ kernel[:, s] + h @ again[:, s] + bias[s])
            for s in (slice(units), slice(units, 2 * units))
        )
        new = np.tanh(x[:, step] @ kernel[:, 2 * units :] + (r * h) @ again[:, 2 * units :] + bias[2 * units :])
        h = z * h + (1 - z) * new
    found: Array = h
    return found


def test_weights_of_recurrent_layers_attention_and_wrappers() -> None:
    """`reset_after` was no option once; both directions are stored one after the other; states lie behind sequences."""
    step = {
        "class_name": "GRU",
        "config": {"name": "gru", "units": 3, "activation": "tanh", "recurrent_activation": "sigmoid"},
    }
    net = functional(
        [
            taken("x", 5, 2),
            taken("h", 3),
            layer("Bidirectional", "both", [of("x")], layer=step, merge_mode="concat"),
            layer("SimpleRNN", "given", [of("x"), of("h")], units=3, activation="linear", use_bias=False),
            layer(
                "MultiHeadAttention",
                "mha",
                [of("x", value=["x", 0, 0])],
                num_heads=2,
                key_dim=3,
                value_dim=3,
                attention_axes=[1],
                use_bias=True,
            ),
            layer(
                "TimeDistributed",
                "each",
                [of("x")],
                layer={
                    "class_name": "Dense",
                    "config": {"name": "d", "units": 3, "activation": "linear", "use_bias": True},
                },
            ),
        ],
        ["x", "h"],
        ["both", "given", "mha", "each"],
    )
    halves = [[some(2, 9), some(3, 9), some(9)] for _ in range(2)]
    kinds = ("kernel:0", "recurrent_kernel:0", "bias:0")
    both = [
        (f"both/{way}_gru/gru_cell/{kind}", value)
        for way, half in zip(("forward", "backward"), halves, strict=True)
        for kind, value in zip(kinds, half, strict=True)
    ]
    simple = [("given/simple_rnn_cell/kernel:0", some(2, 3)), ("given/simple_rnn_cell/recurrent_kernel:0", some(3, 3))]
    heads = {part: (some(2, 2, 3), some(2, 3)) for part in ("query", "key", "value")}
    heads["attention_output"] = (some(2, 3, 2), some(2))
    mha = [
        (f"mha/{part}/{kind}:0", v)
        for part, pair in heads.items()
        for kind, v in zip(("kernel", "bias"), pair, strict=True)
    ]
    each = dense("each", 2, 3)
    stored = {"x": [], "h": [], "both": both, "given": simple, "mha": mha, "each": each}
    x, h = some(1, 5, 2), some(1, 3)
    found = evaluated(h5_file(net, stored), x, h)
    close(found[0], np.concatenate([gru(x, *halves[0]), gru(x[:, ::-1], *halves[1])], -1))
    state = h
    for i in range(5):
        state = x[:, i] @ simple[0][1] + state @ simple[1][1]
    close(found[1], state)
    q, k, v = (np.einsum("btc,chd->bhtd", x, heads[p][0]) + heads[p][1][:, None] for p in ("query", "key", "value"))
    scores = np.exp(q @ k.transpose(0, 1, 3, 2) / np.sqrt(3))
    seen = np.einsum("bhtd,hdc->btc", scores / scores.sum(-1, keepdims=True) @ v, heads["attention_output"][0])
    close(found[2], seen + heads["attention_output"][1])
    close(found[3], affine(x, each))


def test_keras_files_of_keras_2() -> None:
    """The archive of Keras 3 with the network of Keras 2, and perhaps groups of other names."""
    layers = [{**x, "module": "keras.layers", "registered_name": None} for x in SMALL["config"]["layers"]]
    config = {"module": "tf_keras", "class_name": "Sequential", "config": {"name": "s", "layers": layers}}
    x = some(1, 4)
    for folder in ("layers", "_layer_checkpoint_dependencies"):
        names = {f"{folder}/dense/vars/{i}": v for i, (_, v) in enumerate(WEIGHTS["a"])}
        names |= {f"{folder}/dense_1/vars/{i}": v for i, (_, v) in enumerate(WEIGHTS["b"])}
        close(evaluated(keras_file(config, names, version="2.12.0"), x)[0], small(x))


def attributes(**values: Any) -> bytes:
    file = BytesIO()
    with h5py.File(file, "w") as made:
        for name, value in values.items():
            made.attrs[name] = value
    return file.getvalue()


def linked(kind: Any) -> bytes:
    file = BytesIO()
    with h5py.File(file, "w") as made:
        made.attrs["model_config"] = json.dumps(SMALL)
        made["model_weights"] = kind
    return file.getvalue()


def single(made: dict[str, Any]) -> bytes:
    """A network of this layer alone, which has no weights in the file."""
    return h5_file(functional([taken("x", 4), made], ["x"], [made["name"]]), {})


DEEP = reduce(lambda inside, _: {"class_name": "Sequential", "config": {"layers": [inside]}}, range(60), SMALL)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (attributes(layer_names=[b"a"]), "holds weights without the network\n.*model.load_weights"),
        (attributes(other=1), "an HDF5 file, but not a Keras model"),
        (attributes(model_config=json.dumps(SMALL)), "there is no model_weights"),
        (attributes(model_config=7), "the attribute model_config is not a string"),
        (linked(h5py.ExternalLink("/etc/passwd", "/x")), "'model_weights' is not a group of this file"),
        (linked(h5py.SoftLink("/")), "'model_weights' is not a group of this file"),
        (h5_file(SMALL, WEIGHTS)[:3000], "damaged"),
        (h5_file(SMALL, {}), "the kernel of 'a' is missing"),
        (h5_file(SMALL, WEIGHTS, "1.2.2"), "saved by Keras 1.2.2(.|\n)*tf_keras"),
        (h5_file({"class_name": "Sequential", "config": [3]}, {}), "a layer is not described"),
        (h5_file(DEEP, WEIGHTS), "bodies inside of one another"),
        (single(layer("Mine", "own", [of("x")])), "Mine is a custom class"),
        (
            single(layer("TFOpLambda", "f", of("x"), function="sparse.add")),
            "the function tf.sparse.add is not supported",
        ),
        (single(layer("LSTM", "r", [of("x")], time_major=True)), "time_major"),
    ],
)
def test_errors(data: bytes, error: str, tmp_path: Path) -> None:
    path = tmp_path / "model.h5"
    path.write_bytes(data)
    with pytest.raises(MoteError, match=error) as found:
        load(path)
    assert str(path) in found.value.where


def test_texts_that_share_bytes_are_not_copied_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attribute of names of variable length can stand for far more than the file has."""
    file = BytesIO(h5_file(SMALL, WEIGHTS))
    with h5py.File(file, "a") as made:
        del made["model_weights"].attrs["layer_names"]
        made["model_weights"].attrs.create("layer_names", ["a" * 3000] * 64, dtype=h5py.string_dtype())
    monkeypatch.setattr(archive, "MOST_TEXT", 1 << 17)
    with pytest.raises(MoteError, match="the attribute layer_names has more than 131,072 bytes"):
        load(file.getvalue())


@drawn(st.randoms(use_true_random=False))
@settings(max_examples=examples(120), deadline=None)
def test_networks_of_keras_2_that_say_something_else(random: Random) -> None:
    first, *_ = SMALL["config"]["layers"]
    inside = functional([taken("in", 4), {**first, "name": "a", "inbound_nodes": [[of("in")]]}], ["in"], ["a"], "inner")
    nodes = [
        {**inside, "name": "inner", "inbound_nodes": [[of("x")]]},
        layer("Add", "s", [of("inner", 1), of("inner", 1)]),
    ]
    calls = [layer("TFOpLambda", "f", of("s", y=["inner", 1, 0]), function="math.add")]
    said = json.loads(json.dumps(functional([taken("x", 4), *nodes, *calls], ["x"], ["f"])))
    for _ in range(random.randint(1, 3)):
        *outer, last = random.choice([path for path in places(said) if path])
        part = reduce(lambda part, key: part[key], outer, said)
        if random.random() < 0.2 and len(part) > 1:
            del part[last]
        else:
            part[last] = deepcopy(random.choice(ODD))
    try:
        read(Source("fuzzed.h5", Format.KERAS, h5_file(said, {"inner": WEIGHTS["a"]}))).graph()
    except MoteError as error:
        assert "fuzzed.h5" in error.where


def test_masks_of_sequences() -> None:
    """A step that does not count leaves the state as it is, wherever it stands; in Keras 2 sums keep a mask that not
    all operands have."""
    step = {"units": 3, "activation": "tanh", "recurrent_activation": "sigmoid", "reset_after": False, "use_bias": True}
    net = functional(
        [
            taken("x", 6, 2),
            layer("Masking", "mask", [of("x")], mask_value=0.0),
            layer("Conv1D", "c", [of("x")], filters=2, kernel_size=[1], strides=[1], padding="valid", use_bias=False),
            layer("Add", "sum", [of("mask"), of("c")]),
            layer("GRU", "seq", [of("sum")], return_sequences=True, **step),
            layer("GRU", "last", [of("sum")], go_backwards=True, **step),
            layer("GlobalAveragePooling1D", "mean", [of("sum")]),
            layer("Dense", "d", [of("sum")], units=2, use_bias=False),
            layer("GlobalAveragePooling1D", "passed", [of("d")]),
        ],
        ["x"],
        ["seq", "last", "mean", "passed"],
    )
    cells = {name: (some(2, 9), some(3, 9), some(9)) for name in ("seq", "last")}
    kinds = ("kernel:0", "recurrent_kernel:0", "bias:0")
    stored = {n: [(f"{n}/gru_cell/{k}", v) for k, v in zip(kinds, w, strict=True)] for n, w in cells.items()}
    kernel, table = some(1, 2, 2), some(2, 2)
    data = h5_file(net, {**stored, "c": [("c/kernel:0", kernel)], "d": [("d/kernel:0", table)]})
    for counting in ([0, 1, 0, 0, 1, 1], [1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0]):
        keep = np.flatnonzero(counting)
        x = some(1, 6, 2) * np.array(counting, np.float32)[:, None]
        total = x + x @ kernel[0]
        sequence, last, mean, passed = evaluated(data, x)
        for step_number in range(6):
            so_far = total[:, keep[keep <= step_number]]
            close(sequence[:, step_number], gru(so_far, *cells["seq"]))
        close(last, gru(total[:, keep][:, ::-1], *cells["last"]))
        if keep.size:
            close(mean, total[:, keep].mean(1))
            close(passed, (total[:, keep] @ table).mean(1))
