"""Inputs and outputs of a model whose images have channels first: in C they come last, in Python they do not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mote
from mote import frontends
from mote.base.errors import MoteError
from mote.bench.execute import format_references
from mote.frontends import Format, Source
from mote.frontends.build.builder import Builder
from mote.frontends.build.windows import conv, window
from mote.frontends.model import Model
from mote.ir.graph.io_order import channels_moved, code_axis, model_shape, to_code, to_model
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array, Tensor
from mote.ir.graph.types import DType

SHAPE = (1, 3, 4, 5)
SOURCE = Source("turned", Format.ONNX, b"a model with channels first")


def turned(source: Source, shape: tuple[int, ...] = SHAPE) -> Model:
    """A model that doubles images of three channels, and gives the channels in the opposite order."""
    b = Builder(source.where, source.edges)
    x = b.input("x", shape, DType.FLOAT32, channels_last=True)
    with b.layer(0, "Conv", "y"):
        weights = np.zeros((3, 3, 1, 1), np.float32)
        weights[[0, 1, 2], [2, 1, 0]] = 2
        y = b.named(conv(b, x, weights, None, window((1, 1))), "y")
    b.output(y, "y")
    return b.finish()


def expected(x: Array) -> Array:
    return 2 * x[:, ::-1]


@pytest.fixture(autouse=True)
def front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontends, "read", turned)

    def reference(source: Source, names: Collection[str]) -> Any:
        def run(inputs: Mapping[str, Array]) -> Mapping[str, Array]:
            assert inputs["x"].shape == SHAPE and "y" in names
            return {"y": expected(inputs["x"])}

        return "the test", run

    monkeypatch.setattr(format_references, "import_module", lambda name: SimpleNamespace(reference=reference))


def some(count: int = 1) -> Array:
    return np.random.default_rng(1).normal(size=(count, *SHAPE[1:])).astype(np.float32)


@pytest.mark.parametrize("edges", ["channels-last", "model"])
def test_python_has_the_shapes_of_the_model(edges: str) -> None:
    compiled = mote.compile(SOURCE, edges=edges)
    header = compiled.project.files["turned.h"]
    assert ("with channels last: the model has [1, 3, 4, 5]" in header) == (edges == "channels-last")
    assert ("whose element [n][c][y][x] is [n][y][x][c] here" in header) == (edges == "channels-last")
    assert ("TURNED_INPUT_SHAPE {1, 4, 5, 3}" in header) == (edges == "channels-last")
    x = some(2)
    result = mote.run(compiled, x)
    assert result.outputs[0].shape == list(SHAPE)
    np.testing.assert_array_equal(result.values["y"].reshape(x.shape), expected(x))
    np.testing.assert_array_equal(mote.run(compiled, {"x": x[:1].reshape(-1)}).values["y"], expected(x[:1]))
    assert mote.verify(compiled, 3).exact and mote.verify(compiled, 1).reference == "the test"


@pytest.mark.parametrize("size", [256, 640])
def test_large_images_are_turned_row_by_row(size: int) -> None:
    """As matrices they had a row for each pixel, more than plans may have."""
    graph = turned(replace(SOURCE, edges="model"), (1, 3, size, size)).graph()
    assert [op.kind for op in graph.ops] == ["TRANSPOSE", "CONV_2D", "TRANSPOSE"]
    assert max(row_count(t.shape) for t in graph.tensors.values() if t.data is None) == size


def test_images_in_the_order_of_the_code_are_refused() -> None:
    compiled = mote.compile(SOURCE)
    for wrong in ((1, 4, 5, 3), (4, 5, 3), (3, 4, 5), (1, 3, 20)):
        with pytest.raises(MoteError, match="the model takes float32 1x3x4x5"):
            mote.run(compiled, np.zeros(wrong, np.float32))


@pytest.mark.slow
def test_images_and_the_interpreter_have_the_shapes_of_the_model(tmp_path: Path) -> None:
    x = some()
    image = mote.pack(SOURCE)
    image.write(tmp_path / "turned.mote")
    for interpreter in (mote.Interpreter(SOURCE), mote.Interpreter(tmp_path / "turned.mote")):
        assert tuple(interpreter.get_input_details()[0]["shape"]) == SHAPE
        interpreter.set_tensor(0, x)
        interpreter.invoke()
        np.testing.assert_array_equal(interpreter.get_tensor(1), expected(x))
    loaded = mote.load_image(tmp_path / "turned.mote")
    np.testing.assert_array_equal(mote.run(loaded, x).values["y"], expected(x))
    assert "the same image on this computer" in mote.verify(loaded, 2).reference
    assert mote.verify(loaded, 2).passed
    assert mote.verify(loaded, 2, source=SOURCE).exact


def test_what_a_runtime_does_not_tell_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = SimpleNamespace(reference=lambda source, names: ("wrong", lambda inputs: {"y": inputs["x"]}))
    monkeypatch.setattr(format_references, "import_module", lambda name: wrong)
    assert not mote.verify(mote.compile(SOURCE), 2).passed
    absent = SimpleNamespace(reference=lambda source, names: None)
    monkeypatch.setattr(format_references, "import_module", lambda name: absent)
    result = mote.verify(mote.compile(SOURCE), 2)
    assert result.passed and result.reference == "numpy (ONNX is not installed)"


def test_numerics_of_another_library_are_refused() -> None:
    with pytest.raises(MoteError, match="option numerics: TFLite Micro does not run models of ONNX"):
        mote.compile(SOURCE, numerics="tflm")


@pytest.mark.parametrize("shape", [(1, 3, 5), (1, 3, 4, 5), (1, 2, 3, 4, 5), (1, 1, 4, 5), (2, 3, 1, 1)])
def test_orders_at_the_edges(shape: tuple[int, ...]) -> None:
    moved = (shape[0], *shape[2:], shape[1])
    t = Tensor(0, "x", moved, DType.FLOAT32, arrangement=channels_moved(moved))
    value = np.arange(np.prod(shape)).reshape(shape)
    assert model_shape(t) == shape
    code = to_code(t, value)
    assert code is not None and code.shape == moved
    np.testing.assert_array_equal(code, np.moveaxis(value, 1, -1))
    np.testing.assert_array_equal(to_model(t, code), value)
    np.testing.assert_array_equal(code, t.part(value))
    for axis, size in enumerate(shape):
        assert moved[code_axis(t, axis)] == size
