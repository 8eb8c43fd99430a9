"""Detection of file formats by content, and remedies for formats that Mote does not read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import file_digest
from io import BytesIO
from itertools import islice
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from mote.base.errors import MoteError
from mote.frontends.source import SUFFIXES, Format

ONNX_FIELDS = {1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 7: 2, 8: 2, 14: 2, 20: 2, 25: 2, 26: 2}
"""Protobuf fields of an ONNX model and their wire types."""
ONNX_GRAPH, ONNX_OPSET, ONNX_PRODUCER = 7, 8, 2
COREML_FIELDS = range(200, 4000)
"""Protobuf fields of a Core ML model that tell its kind."""
MOST_BYTES = (1 << 31) - 1
"""Size limit of a model file."""
MOST_TOPOLOGY = 1 << 16
"""Bytes of a network of TensorFlow.js in an archive that are read to tell its kind."""
MOST_NAME = 200
"""Length limit of the producer name of an ONNX model."""
EXPORT = "export the model in a format that Mote reads: " + ", ".join(dict.fromkeys(SUFFIXES.values()))
EXPORT_TORCH = (
    "export it where the module is defined: torch.export.save(torch.export.export(module.eval(), example_inputs),"
    " 'model.pt2'), or give the module itself: mote.compile(module, example_inputs=example_inputs)"
)
LOAD_OBJECT = "load it in Python, where you trust it, and give the object: mote.compile(joblib.load('model.joblib'))"
FROM_FROZEN = (
    "tf.compat.v1.lite.TFLiteConverter.from_frozen_graph(file, inputs, outputs).convert() makes a .tflite file of it,"
    " with the names of its inputs and outputs"
)
FROM_LAYERS = (
    "tensorflowjs_converter --input_format=tfjs_layers_model --output_format=keras model.json model.h5 makes a file of"
    " it that Mote reads"
)
TO_TFLITE = "tf.lite.TFLiteConverter.from_saved_model(folder).convert() makes a .tflite file of it"

_MLIR = re.compile(rb"(\s|//[^\n]*\n|#[^\n]*\n)*(builtin\.module|module|func\.func)\b")
"""The beginning of MLIR as text: comments, aliases of attributes, then a module or a function."""
_LOCATION = re.compile(rb"\x0a\x08location\x12")
"""Encoding of the location of an ONNX tensor's external data; the length of its file name and the name follow."""

Refusal = tuple[str, str]
"""The description of a file that Mote does not read, and the remedy."""


def detect(data: bytes, where: str) -> Format:
    """The format of a file. Unknown content has the format of the file's suffix, whose reader then reports the error;
    known formats that Mote does not read are refused with a remedy."""
    recognized = _recognized(data)
    if isinstance(recognized, Format):
        return recognized
    if recognized is None:
        suffix = Path(where).suffix.lower()
        named = next((format for format, usual in SUFFIXES.items() if usual == suffix), None)
        if named is not None:
            return named
        recognized = next((refusal for names, refusal in _NAMES if names.search(Path(where).name.lower())), None)
    what, remedy = recognized or ("has an unknown format", EXPORT)
    raise MoteError(what, where=where, remedy=remedy)


def files_beside(data: bytes, folder: Path) -> tuple[tuple[str, str], ...]:
    """The external data files of an ONNX file: names, and digests of what is in them."""
    files = []
    for match in _LOCATION.finditer(data):
        size, begin = _varint(data, match.end())
        name = data[begin : begin + size].decode("utf-8", "replace")
        with suppress(OSError, ValueError):
            files.append((name, _contents(folder / name)))
    return tuple(sorted(set(files)))


def _contents(path: Path) -> str:
    """A digest of a file; size and time of what no model has all of, or is no file, which may not end."""
    about = path.stat()
    if not path.is_file() or about.st_size > MOST_BYTES:
        return f"{about.st_size} {about.st_mtime_ns}"
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def refuse_folder(path: Path) -> None:
    """Refuse a folder: no format that Mote reads is one."""
    if not path.is_dir():
        return
    what, remedy = "is a folder", "name the model file in it"
    if (path / "saved_model.pb").exists():
        what, remedy = "is a TensorFlow SavedModel, which Mote does not read", TO_TFLITE
    elif (path / "model.json").exists() and any(path.glob("*shard*")):
        what, remedy = _web_model((path / "model.json").read_bytes())
    elif (path / "Manifest.json").exists() or path.suffix == ".mlpackage":
        what, remedy = _COREML
    raise MoteError(what, where=str(path), remedy=remedy)


def _web_members(names: Sequence[str]) -> str | None:
    """The network among the members of an archive with a model of TensorFlow.js."""
    if not any("-shard" in name for name in names):
        return None
    return next((name for name in names if name.rpartition("/")[2] == "model.json"), None)


def _web_model(data: bytes) -> Refusal:
    """A model of TensorFlow.js: of Keras's layers, or a graph."""
    layers = b'"class_name"' in data and b"graph-model" not in data
    return _WEB, FROM_LAYERS if layers else "it is of a graph: give Mote the model that it was made from"


_WEB = "is a TensorFlow.js model, which Mote does not read"
_COREML = ("is a Core ML model, which Mote does not read", EXPORT)


def _recognized(data: bytes) -> Format | Refusal | None:
    for recognize in (_by_mark, _archive, _text, _protobuf):
        format_or_refusal = recognize(data)
        if format_or_refusal is not None:
            return format_or_refusal
    return None


def _by_mark(data: bytes) -> Format | Refusal | None:
    """Formats with a magic number at the beginning."""
    if data[4:8] == b"TFL3":
        return Format.TFLITE
    if data.startswith(b"\x89HDF\r\n\x1a\n"):
        return Format.KERAS
    for at, mark, what, remedy in _MARKS:
        if data[at : at + len(mark)] == mark:
            return what, remedy
    if len(data) > 2 and data[0] == 0x80 and 2 <= data[1] <= 5:
        if b"ctorch" in data[:4096] or b"\x8a\nl\xfc\x9cF\xf9" in data[:32]:
            return "is a PyTorch pickle, which can run programs when it is loaded: Mote never does", EXPORT_TORCH
        return "is a pickle, which can run programs when it is loaded: Mote never does", LOAD_OBJECT
    return None


_MARKS = (
    (0, b"version https://git-lfs.github.com/spec/", "is a pointer of Git LFS, not the file itself", "fetch the file:"
     " git lfs install, then git lfs pull in the repository"),
    (0, b"CBM1", "is a CatBoost model", "save it as ONNX: model.save_model('model.onnx', format='onnx')"),
    (0, b"ML\xefR", "is MLIR, of a compiler on the way", "give Mote the model that it was made from"),
    *((0, mark, "is an ESP-DL model, which is quantized and laid out for Espressif's library", "give Mote the ONNX or"
       " PyTorch model that it was made from") for mark in (b"EDL1", b"EDL2", b"PDL1", b"PDL2")),
    (0, b"binf", "is in XGBoost's old binary format", "save it again as JSON: booster.save_model('model.json')"),
    (0, b"\x93NUMPY", "is a NumPy array, not a model", "--data takes it; give a model, too"),
    (0, b"\x1f\x8b", "is compressed by gzip", f"unpack it; if it is of joblib, {LOAD_OBJECT}"),
    (0, b"\x78\x9c", "is compressed by zlib", f"unpack it; if it is of joblib, {LOAD_OBJECT}"),
    (0, b"GGUF", "is a GGUF file, of a language model that no microcontroller has memory for", EXPORT),
    (0, b"MOTE", "is an image of `mote pack`: a model that is compiled already", "give it to mote run, verify, profile"
     " or dump"),
    (4, b"ORTM", "is in ONNX Runtime's own format", "give the .onnx file that it was made from"),
    (4, b"ET12", "is an ExecuTorch program", "give the .pt2 file of torch.export.save that it was made from"),
    (8, b'{"', "holds weights without the network (safetensors)", EXPORT_TORCH),
)  # fmt: skip
"""Magic numbers of files that Mote does not read: offset, bytes, description and remedy."""


_NAMES = (
    (re.compile(r"\.mnn$"), ("is an MNN model, which Mote does not read", "give Mote the model that it was made from")),
    (
        re.compile(r"^group\d+-shard\d+of\d+(\.bin)?$"),
        ("holds weights of a TensorFlow.js model, without the network", "name the model.json beside it"),
    ),
)
"""Names of files whose content tells nothing."""


def _archive(data: bytes) -> Format | Refusal | None:
    """ZIP files: PyTorch, Keras, and others."""
    if data[:4] not in (b"PK\x03\x04", b"PK\x05\x06"):
        return None
    try:
        with ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()
            if (web := _web_members(names)) is not None:
                with archive.open(web) as file:
                    return _web_model(file.read(MOST_TOPOLOGY))
    except (BadZipFile, NotImplementedError, ValueError, OSError, RuntimeError) as error:
        return f"is a ZIP file that is damaged ({error})", "copy or export it again"
    last = {name.rpartition("/")[2] for name in names}
    for wanted, format_or_refusal in _MEMBERS:
        if wanted(set(names), last):
            return format_or_refusal
    return "is a ZIP file, and neither a Keras nor a PyTorch model", EXPORT


_MEMBERS: tuple[tuple[Callable[[set[str], set[str]], bool], Format | Refusal], ...] = (
    (lambda names, last: bool(last & {"archive_format", "serialized_exported_program.json"}), Format.TORCH),
    (lambda names, last: "config.json" in names and "model.weights.h5" in names, Format.KERAS),
    (lambda names, last: "config.json" in names and "model.weights.json" in names, Format.KERAS),
    (lambda names, last: "config.json" in names and "metadata.json" in names, Format.KERAS),
    (
        lambda names, last: "saved_model.pb" in last,
        ("is a TensorFlow SavedModel in a ZIP file, which Mote does not read", f"unpack it; {TO_TFLITE}"),
    ),
    (
        lambda names, last: "constants.pkl" in last,
        ("is a TorchScript program, which does not record its shapes", EXPORT_TORCH),
    ),
    (
        lambda names, last: "data.pkl" in last,
        ("is a PyTorch pickle: weights without the network, or a program that Mote never runs", EXPORT_TORCH),
    ),
    (
        lambda names, last: bool(names) and all(name.endswith(".npy") for name in names),
        ("holds NumPy arrays, not a model", "--data takes it; give a model, too"),
    ),
)
"""Kinds of archives, by the paths of all members and by their base names."""


def _text(data: bytes) -> Format | Refusal | None:
    """Text files: tree ensembles, and others."""
    start = data[:64].lstrip()
    if data.startswith((b"tree\n", b"tree\r\n")):
        return Format.LIGHTGBM
    if data.startswith(b"{L\x00\x00\x00\x00\x00\x00\x00") and b"learner" in data[:4096]:
        return Format.XGBOOST
    if start.startswith(b"{"):
        if b'"learner"' in data:
            return Format.XGBOOST
        if b'"modelTopology"' in data or b'"weightsManifest"' in data:
            return _web_model(data)
        if b'"oblivious_trees"' in data or b'"features_info"' in data:
            return "is a CatBoost model as JSON", "save it as ONNX: model.save_model('model.onnx', format='onnx')"
        if b'"tree_info"' in data:
            return "is a human-readable LightGBM dump", "save the model itself: booster.save_model('model.txt')"
        if b'"class_name"' in data:
            return "is a Keras network without its weights", "save both: model.save('model.keras')"
        return "is JSON, but not an XGBoost model", EXPORT
    if start.startswith((b"<?xml", b"<net")):
        return "is XML: PMML, or an OpenVINO network", EXPORT
    if _MLIR.match(data[:4096]):
        return "is MLIR, of a compiler on the way", "give Mote the model that it was made from"
    return None


def _protobuf(data: bytes) -> Format | Refusal | None:
    """Protobuf messages: ONNX, Core ML, TensorFlow."""
    if _is_graph(data):
        return "is a frozen graph of TensorFlow, which Mote does not read", FROM_FROZEN
    fields: dict[int, bytes | int] = {}
    for number, encoding, value in _fields(data):
        if number in COREML_FIELDS and 1 in fields:
            return _COREML
        if ONNX_FIELDS.get(number) != encoding:
            return None
        fields.setdefault(number, value)
    version = fields.get(1)
    if not isinstance(version, int):
        return None
    producer = fields.get(ONNX_PRODUCER, b"")
    if isinstance(producer, bytes) and not _is_name(producer) and ONNX_GRAPH not in fields:
        return "is a TensorFlow SavedModel without its folder, or of a format that Mote does not know", TO_TFLITE
    return Format.ONNX


def _is_graph(data: bytes) -> bool:
    """Whether a message begins with a node of TensorFlow: its name, and its operator."""
    number, encoding, node = next(_fields(data), (0, 0, 0))
    if number != 1 or encoding != 2 or not isinstance(node, bytes):
        return False
    (first, _, name), (second, _, kind) = (*islice(_fields(node), 2), (0, 0, 0), (0, 0, 0))[:2]
    texts = [text for text in (name, kind) if isinstance(text, bytes) and text and _is_name(text)]
    return (first, second) == (1, 2) and len(texts) == 2


def _is_name(text: bytes) -> bool:
    return len(text) <= MOST_NAME and text.isascii() and (text.decode().isprintable() or not text)


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes | int]]:
    """The fields of a message as far as it can be decoded: number, wire type and value."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, encoding = key >> 3, key & 7
        if encoding == 0:
            value, at = _varint(data, at)
            yield number, encoding, value
            continue
        sizes = {1: 8, 5: 4}
        if encoding == 2:
            size, at = _varint(data, at)
        elif encoding in sizes:
            size = sizes[encoding]
        else:
            yield number, encoding, b""
            return
        yield number, encoding, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and its end offset; missing bytes count as 0."""
    value = 0
    for i in range(10):
        if at + i >= len(data):
            return value, len(data)
        value |= (data[at + i] & 0x7F) << 7 * i
        if data[at + i] < 0x80:
            return value, at + i + 1
    return value, at + 10
