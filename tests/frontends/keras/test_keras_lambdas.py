"""Lambda layers whose code is a slice: read as data, as in Keras; any other code is refused, and none is run."""

from __future__ import annotations

import base64
import marshal
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("keras")

import mote
from mote.base.errors import MoteError
from mote.frontends.keras.layers import slices
from tests.frontends.keras.keras_files import given, keras_file, layer, sequential
from tests.frontends.keras.test_keras_layers import L, branches, check, keras

SLICES: list[Callable[[Any], Any]] = [
    lambda x: x[:, 0],
    lambda x: x[:, -1, :],
    lambda x: x[:, 1:3],
    lambda x: x[..., 2],
    lambda x: x[:, ::2, 1:],
    lambda x: x[:, :, None, 1:4:2],
    lambda x: x[:, None][..., 0, :, 1],
]


def packed(code: bytes) -> str:
    return base64.encodebytes(code).decode()


def file_of(code: bytes, **more: Any) -> bytes:
    inner = {"class_name": "__lambda__", "config": {"code": packed(code), "defaults": None, "closure": None}}
    options = {"function": inner, "arguments": {}, **more}
    return keras_file(sequential(given("x", 5, 4), layer("Lambda", "part", **options)))


@pytest.mark.frontends
def test_slices_equal_keras(tmp_path: Path) -> None:
    x = np.arange(20, dtype=np.float32).reshape(1, 5, 4)
    layers = [L.Lambda(function, output_shape=function(x).shape[1:]) for function in SLICES]
    check(*(((5, 4), layer) for layer in layers))
    model = branches(*(((5, 4), layer) for layer in layers))
    for name in ("model.keras", "model.h5"):
        model.save(tmp_path / name)
        graph = mote.compile(tmp_path / name).plan.graph
        values = graph.evaluate(dict.fromkeys(graph.inputs, x))
        for output, function in zip(graph.outputs, SLICES, strict=True):
            assert np.array_equal(values[output], function(x))


def test_keras_2_has_the_code_in_a_list() -> None:
    code = SLICES[0].__code__
    data = file_of(b"", function=[packed(marshal.dumps(code)), None, None], function_type="lambda")
    graph = mote.compile(data).plan.graph
    x = np.arange(20, dtype=np.float32).reshape(1, 5, 4)
    assert np.array_equal(graph.evaluate({graph.inputs[0]: x})[graph.outputs[0]], x[:, 0])


def test_code_of_python_3_8() -> None:
    """It has six numbers before the instructions, of which none is RESUME."""
    numbers = b"".join(n.to_bytes(4, "little") for n in (1, 0, 0, 1, 4, 67))
    instructions = bytes([124, 0, 100, 0, 100, 0, 133, 2, 100, 1, 102, 2, 25, 0, 83, 0])
    data = b"\xe3" + numbers + marshal.dumps(instructions, 1) + marshal.dumps((None, 3), 1)
    assert slices._keys(data) == [(slice(None), 3)]


def code_of(text: str) -> CodeType:
    return next(part for part in compile(text, "", "eval").co_consts if isinstance(part, CodeType))


@pytest.mark.parametrize(
    "text",
    [
        *("lambda x: x + 1", "lambda x: x", "lambda x, y: x[0]", "lambda x: x[x]", "lambda x: (x[0], x[1])"),
        *("lambda x: x[:, 9]", "lambda x: x[0, 0, 0, 0]", "lambda x: x['a']", "lambda x: print(x)[0]"),
        *("lambda x: x[True]", "lambda x: x[:, 0.5:]", "lambda x: x[::0]", "lambda x: x[0] if x else x[1]"),
    ],
)
def test_other_code_is_refused(text: str) -> None:
    if text == "lambda x: x":
        assert slices._keys(marshal.dumps(code_of(text))) == []
        return
    with pytest.raises(MoteError, match=r"never runs|is not supported|more indices"):
        mote.compile(file_of(marshal.dumps(code_of(text))))


def test_damaged_code_is_refused() -> None:
    """Cut short, and with bytes that are others: read, or refused in words."""
    whole = marshal.dumps(SLICES[6].__code__)
    rng = np.random.default_rng(0)
    for at in range(len(whole)):
        changed = bytearray(whole)
        for place in rng.integers(0, len(whole), 2):
            changed[place] = int(rng.integers(256))
        for data in (whole[:at], bytes(changed)):
            try:
                mote.frontends.load(file_of(data))
            except MoteError as error:
                assert error.remedy or error.where
    with pytest.raises(MoteError, match="never runs"):
        mote.compile(file_of(b"", function="my_function"))


def test_items_between_layers_have_ellipses_and_new_axes() -> None:
    if keras.backend.backend() != "torch":
        pytest.skip("the reference needs PyTorch")
    check(((5, 4), lambda x: x[..., 0]), ((5, 4), lambda x: x[:, None, 1:]), ((5, 4), lambda x: x[..., None, 2]))
