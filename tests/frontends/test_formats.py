"""Every command, and every function of the API, with a model of every format."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.frontends import Format, source_of
from mote.ui.cli import main

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)


def onnx_model() -> Any:
    onnx = pytest.importorskip("onnx")
    h = onnx.helper
    floats = onnx.TensorProto.FLOAT
    weights = onnx.numpy_helper.from_array(rng.normal(size=(3, 2, 3, 3)).astype(np.float32), "w")
    given, made = h.make_tensor_value_info("x", floats, ["batch", 2, "h", 5]), h.make_empty_tensor_value_info("y")
    nodes = [h.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), h.make_node("Relu", ["c"], ["y"])]
    graph = h.make_graph(nodes, "net", [given], [made], [weights])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=9)


def torch_module() -> tuple[Any, Any]:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3, padding=1), torch.nn.ReLU(), torch.nn.Dropout(0.5))
    return net, (torch.zeros(1, 2, 6, 5),)


def keras_model() -> Any:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    layers = pytest.importorskip("keras.layers")
    keras = sys.modules["keras"]
    return keras.Sequential([keras.Input((6, 5, 2)), layers.Conv2D(3, 3, activation="relu")])


def sklearn_model() -> Any:
    return pytest.importorskip("sklearn.ensemble").RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, Y)


def xgboost_model() -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=3, max_depth=2).fit(X, Y)


def lightgbm_model() -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=3, verbose=-1).fit(X, Y)


NETWORKS = (Format.ONNX, Format.TORCH, Format.KERAS)
"""Formats of networks, whose kernels images may have."""
FRONTENDS = pytest.mark.frontends
OBJECTS: list[Any] = [
    pytest.param(onnx_model, Format.ONNX, "ONNX Runtime", id="onnx"),
    pytest.param(torch_module, Format.TORCH, "PyTorch", id="torch"),
    pytest.param(keras_model, Format.KERAS, "Keras", id="keras", marks=FRONTENDS),
    pytest.param(sklearn_model, Format.SKLEARN, "scikit-learn", id="sklearn"),
    pytest.param(xgboost_model, Format.XGBOOST, "XGBoost", id="xgboost", marks=FRONTENDS),
    pytest.param(lightgbm_model, Format.LIGHTGBM, "LightGBM", id="lightgbm", marks=FRONTENDS),
]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("make", "format", "reference"), OBJECTS)
def test_objects(make: Callable[[], Any], format: Format, reference: str) -> None:
    """All functions take an object, and the judge is the library that it comes from."""
    made = make()
    model, examples = made if isinstance(made, tuple) else (made, None)
    shapes = {"shapes": {"x": (1, 2, 6, 5)}} if format == Format.ONNX else {}
    compiled = mote.compile(model, examples, **shapes)
    assert compiled.model.format == format
    result = mote.verify(compiled, 3)
    assert result.passed and result.reference.startswith(reference), result
    assert mote.run(compiled, layers=False).values
    if format != Format.ONNX:  # what takes long is to make a file of it
        model, examples = compiled.model, None
    assert mote.shrink(model, examples, inputs=2, **shapes).equal
    assert mote.explore(model, examples, points=1, measure=False, **shapes).points
    if format in NETWORKS:
        assert mote.Interpreter(model, example_inputs=examples, **shapes).get_input_details()
        image = mote.pack(model, examples, **shapes)
        assert image.model.format == format and image.data
    shared = mote.compile_shared([compiled.model, Path(__file__).parents[2] / "models" / "digits.tflite"])
    assert len(shared.models) == 2


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[Format, Path]:
    """A file of each format that is a network, under a name that says nothing."""
    onnx, torch = pytest.importorskip("onnx"), pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("files")
    paths = {Format.ONNX: folder / "o.model", Format.TORCH: folder / "t.model"}
    onnx.save(onnx_model(), paths[Format.ONNX])
    module, examples = torch_module()
    torch.export.save(torch.export.export(module.eval(), examples), str(folder / "t.pt2"))
    (folder / "t.pt2").rename(paths[Format.TORCH])
    return paths


COMMANDS = (
    ("inspect",),
    ("compile", "-o", "OUT"),
    ("run",),
    ("verify", "--inputs", "2"),
    ("plan",),
    ("explore", "--points", "1", "--no-measure"),
    ("profile", "--target", "cortex-m4"),
    ("shrink", "--inputs", "2"),
    ("pack", "-o", "FILE"),
)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_commands(
    command: tuple[str, ...], files: dict[Format, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formats = files if command[0] in ("inspect", "verify") else [Format.ONNX]
    for format, path in ((format, files[format]) for format in formats):
        shape = ["--shape", "x=1,2,6,5"] if format == Format.ONNX else []
        told = [
            word.replace("OUT", str(tmp_path / format)).replace("FILE", str(tmp_path / "x.mote")) for word in command
        ]
        status = main([told[0], str(path), *told[1:], *shape, "--json"])
        said = capsys.readouterr()
        assert status == 0, said.out + said.err
        assert json.loads(said.out)
        if command[0] == "inspect":
            assert json.loads(said.out)["format"] == format
            assert json.loads(said.out)["inputs"][0]["shape"] == [1, 2, 6, 5]


def test_edges_as_in_the_model(files: dict[Format, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = files[Format.TORCH]
    for edges, shape in (("channels-last", "{1, 6, 5, 2}"), ("model", "{1, 2, 6, 5}")):
        out = tmp_path / edges
        assert main(["compile", str(path), "-o", str(out), "--edges", edges, "--name", "net"]) == 0
        assert f"NET_INPUT_SHAPE {shape}" in (out / "net.h").read_text()
    capsys.readouterr()


def test_an_image_finds_the_model_beside_it(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    onnx.save(onnx_model(), tmp_path / "net.onnx")
    image = mote.pack(tmp_path / "net.onnx", shapes=["x=1,2,6,5"])
    image.write(tmp_path / "net.mote")
    result = mote.verify(mote.load_image(tmp_path / "net.mote"), 2)
    assert result.passed and result.reference.startswith("ONNX Runtime")


def test_open_shapes_are_named() -> None:
    with pytest.raises(MoteError, match=r"--shape x=|'x'"):
        mote.compile(source_of(onnx_model()))


def test_without_onnx_runtime_the_judge_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from mote.frontends.onnx import reference

    pytest.importorskip("onnx")
    monkeypatch.setattr(reference, "installed", lambda package: package != "onnxruntime")
    result = mote.verify(mote.compile(onnx_model(), shapes=["x=1,2,6,5"]), 2)
    assert result.passed and result.reference.startswith("onnx.reference")


def test_weights_that_were_written_anew_are_seen(tmp_path: Path) -> None:
    """A file that names another one stays the same when its weights change."""
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "net.onnx"
    found = []
    for number in (1, 2):
        model = onnx_model()
        weights = np.full((3, 2, 3, 3), number, np.float32)
        model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
        (tmp_path / "net.data").unlink(missing_ok=True)
        onnx.save(model, path, save_as_external_data=True, location="net.data", size_threshold=0)
        found.append((path.read_bytes(), mote.compile(path, shapes=["x=1,2,6,5"])))
    (before, one), (after, other) = found
    assert before == after and one.model.beside != other.model.beside
    x = np.ones((1, 2, 6, 5), np.float32)
    values = [next(iter(mote.run(compiled, x, layers=False).values.values())) for compiled in (one, other)]
    np.testing.assert_allclose(2 * values[0], values[1])
