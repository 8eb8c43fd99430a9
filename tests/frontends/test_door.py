"""Which format a model has is told by its content; what Mote does not read gets a remedy of its own."""

from __future__ import annotations

import itertools
import json
import pickle
import shutil
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mote
from mote import frontends
from mote.base.errors import MoteError
from mote.base.extras import require
from mote.frontends import Format, Source, source_of
from mote.frontends.detection import detect
from mote.frontends.objects import from_object
from mote.ui.cli import main

MODELS = Path(__file__).parents[2] / "models"
DIGITS = MODELS / "digits.tflite"
HEAVY = [
    "onnx",
    "onnxruntime",
    "torch",
    "torchao",
    "keras",
    "h5py",
    "sklearn",
    "scipy",
    "xgboost",
    "lightgbm",
    "flatbuffers",
    "ai_edge_litert",
]


def archive(*names: str) -> bytes:
    """A ZIP file with members of these names."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, b"")
    return file.getvalue()


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """A message as Protocol Buffers have it, with short values."""
    return b"".join(
        bytes([number << 3, value]) if isinstance(value, int) else bytes([number << 3 | 2, len(value)]) + value
        for number, value in fields
    )


ONNX = message((1, 10), (2, b"pytorch"), (3, b"2.9"), (7, b"\x0a\x00"), (8, b"\x10\x11"))


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (b"\x1c\x00\x00\x00TFL3", Format.TFLITE),
        (ONNX, Format.ONNX),
        (ONNX[:9], Format.ONNX),
        (message((1, 8), (7, b""), (8, b"")), Format.ONNX),
        (archive("net/archive_format", "net/models/model.json"), Format.TORCH),
        (archive("serialized_exported_program.json", "version"), Format.TORCH),
        (archive("metadata.json", "config.json", "model.weights.h5"), Format.KERAS),
        (b"\x89HDF\r\n\x1a\n" + bytes(40), Format.KERAS),
        (b'{"learner":{}}', Format.XGBOOST),
        (b'  {\n "version": [3], "learner": {}}', Format.XGBOOST),
        (b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner{", Format.XGBOOST),
        (b"tree\nversion=v4\n", Format.LIGHTGBM),
        (b"tree\r\nversion=v4\r\n", Format.LIGHTGBM),
    ],
    ids=lambda value: value if isinstance(value, Format) else "",  # archives have the time in them
)
def test_the_content_tells_the_format(data: bytes, format: Format) -> None:
    """Under any name."""
    for name in ("model", "model.tflite", "model.onnx", "model.bin"):
        assert detect(data, name) == format


@pytest.mark.parametrize(
    ("data", "said", "remedy"),
    [
        (pickle.dumps({"a": 1}), "a pickle, which can run programs", "mote.compile\\(joblib.load"),
        (archive("archive/data.pkl", "archive/data/0", "archive/version"), "a PyTorch pickle", "torch.export.save"),
        (archive("net/code/x.py", "net/constants.pkl", "net/data.pkl"), "a TorchScript program", "torch.export.save"),
        (pickle.dumps(0x1950A86A20F9469CFC6C, 2), "a PyTorch pickle", "torch.export.save"),
        (archive("a.npy", "b.npy"), "holds NumPy arrays", "--data"),
        (archive("readme.txt"), "neither a Keras nor a PyTorch model", "tflite"),
        (archive("config.json", "model.weights.h5")[:60], "ZIP file that is damaged", "again"),
        (b"\x93NUMPY\x01\x00", "a NumPy array", "--data"),
        (b"binf" + bytes(60), "old binary format", "save_model\\('model.json'\\)"),
        (b'{"tree_info": []}', "a human-readable LightGBM dump", "save_model\\('model.txt'\\)"),
        (b'{"class_name": "Sequential"}', "without its weights", "model.save\\('model.keras'\\)"),
        (b'{"layers": []}', "is JSON, but not an XGBoost model", "tflite"),
        (b"<?xml version='1.0'?><PMML/>", "is XML", "tflite"),
        (b"\x08\x00\x00\x00ORTM", "ONNX Runtime's own format", ".onnx file"),
        (b"\x08\x00\x00\x00ET12", "ExecuTorch", "pt2"),
        (b'\x40\x00\x00\x00\x00\x00\x00\x00{"weight":{}}', "safetensors", "torch.export.save"),
        (b"GGUF\x03", "GGUF", "tflite"),
        (b"MOTE\x00\x00", "an image of `mote pack`", "mote run"),
        (message((1, 4), (2, b"\x0a\x03abc")) + b"\xa2\x1f\x00", "a Core ML model", "tflite"),
        (message((1, 1), (2, b"\x0a\x08\x22\x01\xff\x00\x12\x00")), "a TensorFlow SavedModel", "TFLiteConverter"),
        (b"\x1f\x8b\x08", "compressed by gzip", "joblib"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 9\n",
            "a pointer of Git LFS",
            "git lfs pull",
        ),
        (message((1, message((1, b"x"), (2, b"Placeholder")))), "a frozen graph of TensorFlow", "from_frozen_graph"),
        (b'{"format": "layers-model", "modelTopology": {"class_name": "Model"}}', "TensorFlow.js", "tfjs_layers_model"),
        (b'{"format": "graph-model", "modelTopology": {}}', "a TensorFlow.js model", "made from"),
        (archive("web/model.json", "web/group1-shard1of1.bin"), "a TensorFlow.js model", "made from"),
        (archive("net/saved_model.pb", "net/variables/variables.index"), "SavedModel in a ZIP", "unpack(.|\n)*TFLite"),
        (b"CBM1" + bytes(20), "a CatBoost model", "format='onnx'"),
        (b'{"features_info": {}, "oblivious_trees": []}', "a CatBoost model as JSON", "format='onnx'"),
        (b"ML\xefR\x0dMLIR", "is MLIR", "made from"),
        (b"#map = affine_map<(d0) -> (d0)>\nmodule attributes {} {\n", "is MLIR", "made from"),
        (b"EDL2" + bytes(20), "an ESP-DL model", "ONNX"),
        (b"hello, this is no model", "an unknown format", ".onnx"),
        (b"", "an unknown format", ".onnx"),
    ],
    ids=itertools.count(),
)
def test_what_is_not_read_has_a_remedy(data: bytes, said: str, remedy: str) -> None:
    with pytest.raises(MoteError, match=f"model.bin: .*{said}(.|\n)*help: .*{remedy}"):
        detect(data, "model.bin")


def test_a_name_speaks_for_what_is_nothing_that_is_known(tmp_path: Path) -> None:
    for name in ("model.tflite", "MODEL.TFLITE"):
        assert detect(b"hello", name) == Format.TFLITE
    assert detect(b"hello", "model.onnx") == Format.ONNX


@pytest.mark.parametrize(
    ("name", "said"), [("net.mnn", "is an MNN model"), ("group1-shard1of2.bin", "weights of a TensorFlow.js model")]
)
def test_names_of_what_tells_nothing(name: str, said: str) -> None:
    with pytest.raises(MoteError, match=said):
        detect(b"\x14\x00\x00\x00 anything", name)


def test_folders_are_named(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    saved.mkdir()
    with pytest.raises(MoteError, match=r"saved: is a folder\n.*name the model file"):
        source_of(saved)
    (saved / "saved_model.pb").write_bytes(b"")
    with pytest.raises(MoteError, match=r"is a TensorFlow SavedModel.*\n.*TFLiteConverter"):
        source_of(saved)
    web = tmp_path / "web"
    web.mkdir()
    (web / "model.json").write_bytes(b'{"modelTopology": {"class_name": "Sequential"}}')
    (web / "group1-shard1of1.bin").write_bytes(b"")
    with pytest.raises(MoteError, match=r"is a TensorFlow.js model.*\n.*tfjs_layers_model"):
        source_of(web)
    package = tmp_path / "net.mlpackage"
    package.mkdir()
    with pytest.raises(MoteError, match="is a Core ML model"):
        source_of(package)


@given(st.binary(max_size=200), st.sampled_from(["", "PK\x03\x04", "{", "tree\n", "\x08\x08", "\x80\x02"]))
@settings(max_examples=300, deadline=None)
def test_any_bytes_have_a_format_or_an_error(data: bytes, start: str) -> None:
    try:
        assert detect(start.encode("latin1") + data, "noise") in Format
    except MoteError as error:
        assert error.remedy and "noise" in error.where


def test_the_same_model_under_another_name(tmp_path: Path) -> None:
    """A file without its suffix compiles to the same C."""
    shutil.copy(DIGITS, tmp_path / "digits.model")
    renamed, usual = (mote.compile(path) for path in (tmp_path / "digits.model", DIGITS))
    assert renamed.model.format == Format.TFLITE
    assert renamed.project.files["digits.c"] == usual.project.files["digits.c"].replace("digits.tflite", "digits.model")
    assert mote.compile(DIGITS.read_bytes()).path == "model.tflite"


def test_sources_are_the_same_by_their_content() -> None:
    one, other = (Source("a", Format.TFLITE, b"abc", origin=origin) for origin in (1, 2))
    assert one == other and hash(one) == hash(other)
    assert one != Source("a", Format.TFLITE, b"abd") and one != Source("a", Format.TFLITE, b"abc", edges="model")
    assert mote.compile(source_of(DIGITS)).path == str(DIGITS)


class Estimator:
    """What has the name of a class of scikit-learn, and is none."""


def test_objects_are_told_by_their_classes() -> None:
    with pytest.raises(MoteError, match=r"a Estimator is not a model\n.*an estimator of scikit-learn"):
        from_object(Estimator())
    with pytest.raises(MoteError, match="a ndarray is not a model"):
        mote.compile(np.zeros(3))


def test_a_package_that_is_missing_is_named() -> None:
    with pytest.raises(MoteError, match=r"ONNX models: needs the package absent_one.*\n.*pip install .*\[onnx\]'"):
        require("absent_one.part", extra="onnx", what="ONNX models")
    with pytest.raises(MoteError, match="pip install absent_one"):
        require("absent_one")


def test_no_heavy_package_is_loaded_for_nothing() -> None:
    """Neither by the package, nor for models that do not need it."""
    does = (
        f"import mote; mote.compile({str(DIGITS)!r}); from mote.ui.cli import main; main(['inspect', {str(DIGITS)!r}])"
    )
    ask = f"{does}\nimport sys; print('loaded:', [m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded: []", done.stdout


def test_importing_mote_loads_little() -> None:
    """Two modules of its own and a few of the standard library, which most programs have loaded anyway: the rest is
    loaded when it is used."""
    ask = "import sys; before = set(sys.modules); import mote; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    packages = {name.partition(".")[0] for name in loaded}
    assert [name for name in loaded if name.startswith("mote")] == ["mote", "mote.version"]
    assert packages - {"mote"} <= set(sys.stdlib_module_names) and len(loaded) < 60, loaded


def test_a_model_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large.onnx"
    with large.open("wb") as file:
        file.truncate(frontends.MOST_BYTES + 1)
    with pytest.raises(MoteError, match=r"large.onnx: has more than 2,147,483,647 bytes"):
        source_of(large)


@pytest.mark.parametrize("format", [str(format) for format in Format if format != Format.TFLITE])
def test_what_is_read_of_a_format_is_listed(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the format's own package."""
    assert main(["ops", "--format", format]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert (len(listed) > 5 and listed[1:] == sorted(set(listed[1:]))) or format == Format.TFLITE
    if format != Format.TFLITE:
        assert main(["ops", "--format", format, listed[-1], "--json"]) == 0
        assert listed[-1] in capsys.readouterr().out
        assert main(["ops", "--format", format, "nothing"]) == 1
        assert f"`mote ops --format {format}` lists all" in capsys.readouterr().err


def test_the_doctor_knows_the_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    tools = {tool["name"] for tool in json.loads(capsys.readouterr().out)["tools"]}
    assert tools >= {"onnx", "onnxruntime", "torch", "h5py", "keras", "scikit-learn", "xgboost", "lightgbm"}
