"""TFLite metadata: a FlatBuffer inside of the file, and files that are appended to it as a zip archive. It names the
classes, the version and how inputs were normalized. Damaged metadata is no error: the network does not need it."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO

import numpy as np

from mote.base.text import printable
from mote.frontends.labels import MOST_BYTES, LabelsError, listed
from mote.frontends.tflite.file import schema
from mote.frontends.tflite.file.flatbuffer import FlatBuffer, MalformedError
from mote.frontends.tflite.file.record import TableRecord
from mote.frontends.tflite.file.schema import FieldKind, Fields, TableField
from mote.frontends.tflite.file.storage import Storage
from mote.ir.graph.tensor import Normalization

NAME, PREPROCESS, ARENA = "TFLITE_METADATA", "MOTE_PREPROCESS", "OfflineMemoryAllocation"
"""The metadata that TFLite defines, the steps that make a model's input, as text, and where Vela has placed tensors."""
IDENTIFIER = b"M001"
"""Bytes 4 to 7 of the metadata."""
MOST_TENSORS = 256
"""Most inputs or outputs whose metadata is read."""
AXIS_LABELS, VALUE_LABELS = 2, 3
"""Types of associated files: labels of the elements on an axis, and of the values."""
NORMALIZATION = 1
"""The number of NormalizationOptions in the union of process units."""

MODEL: Fields = {
    "version": TableField(2, FieldKind.STRING),
    "subgraph_metadata": TableField(3, FieldKind.TABLES),
}
SUBGRAPH: Fields = {
    "input_tensor_metadata": TableField(2, FieldKind.TABLES),
    "output_tensor_metadata": TableField(3, FieldKind.TABLES),
}
TENSOR: Fields = {
    "process_units": TableField(4, FieldKind.TABLES),
    "associated_files": TableField(6, FieldKind.TABLES),
}
PROCESS_UNIT: Fields = {"options_type": TableField(0, FieldKind.UINT8), "options": TableField(1, FieldKind.TABLE)}
NORMALIZATION_OPTIONS: Fields = {"mean": TableField(0, FieldKind.FLOAT32S), "std": TableField(1, FieldKind.FLOAT32S)}
ASSOCIATED_FILE: Fields = {
    "name": TableField(0, FieldKind.STRING),
    "type": TableField(2, FieldKind.INT8),
    "locale": TableField(3, FieldKind.STRING),
}


@dataclass(frozen=True)
class TensorMetadata:
    """Metadata of an input or output."""

    labels: tuple[str, ...] = ()
    of_values: bool = False
    """The labels are those of its values, not of the elements on its last axis."""
    normalization: Normalization = ()


@dataclass(frozen=True)
class FileMetadata:
    """Metadata of a file: of its inputs and outputs as far as it has any."""

    version: str = ""
    preprocess: str = ""
    """The steps that make the model's input."""
    inputs: tuple[TensorMetadata, ...] = ()
    outputs: tuple[TensorMetadata, ...] = ()
    arena: tuple[int, ...] = ()
    """Offsets of tensors in the arena by index, -1 where a runtime may choose; empty: of none is one known."""


def metadata(root: TableRecord, buffers: Sequence[Storage], data: bytes, number: int, notes: list[str]) -> FileMetadata:
    """The metadata of a file's subgraph; `notes` grows by a warning where it is damaged."""
    about = FileMetadata()
    with _ignoring(notes, "the metadata of the file is damaged"):
        entries = root.children("metadata", schema.METADATA)
        places = {entry.string("name"): entry.integer("buffer") for entry in reversed(entries)}
        contents = {name: buffers[at].content() for name, at in places.items() if at < len(buffers)}
        about = replace(about, preprocess=_steps(contents.get(PREPROCESS, b""), notes))
        about = replace(about, arena=_arena(contents.get(ARENA, b"")))
        if content := contents.get(NAME):
            if content[4:8] != IDENTIFIER:
                raise MalformedError("no M001 identifier")
            read = _read(TableRecord(MODEL, FlatBuffer(content).root()), data, number, notes)
            return replace(read, preprocess=about.preprocess, arena=about.arena)
    return about


def _arena(content: bytes) -> tuple[int, ...]:
    """Offsets of tensors: words, of which the first is a version and the third the number of those that follow."""
    words = np.frombuffer(content[: len(content) // 4 * 4], "<i4")
    if len(words) < 3 or words[0] != 0 or words[2] != len(words) - 3:
        return ()
    return tuple(map(int, words[3:]))


def _steps(content: bytes, notes: list[str]) -> str:
    """Preprocessing steps: a file may not name Python code to run."""
    try:
        text = content[:MOST_BYTES].decode("ascii")
    except UnicodeDecodeError:
        text = "\0"
    if text.isprintable() and ".py" not in text:
        return text
    notes.append("the preprocessing in the metadata of the file is no list of steps, and is ignored")
    return ""


@contextmanager
def _ignoring(notes: list[str], what: str) -> Iterator[None]:
    """Errors become warnings."""
    try:
        yield
    except MalformedError as error:
        notes.append(f"{what}, and is ignored: {error.reason}")


def _read(model: TableRecord, data: bytes, number: int, notes: list[str]) -> FileMetadata:
    subgraphs = model.children("subgraph_metadata", SUBGRAPH)
    own = subgraphs[number] if number < len(subgraphs) else TableRecord(SUBGRAPH, None)
    archive = _Archive(data, notes)

    def tensors(name: str, read: Callable[[TableRecord], TensorMetadata]) -> tuple[TensorMetadata, ...]:
        return tuple(map(read, own.children(name, TENSOR)[:MOST_TENSORS]))

    return FileMetadata(
        printable(model.string("version")),
        "",
        tensors("input_tensor_metadata", lambda t: TensorMetadata(normalization=_normalization(t, notes))),
        tensors("output_tensor_metadata", lambda t: _labels(t, archive, notes)),
    )


def _normalization(tensor: TableRecord, notes: list[str]) -> Normalization:
    """Means and standard deviations of an input."""
    for unit in tensor.children("process_units", PROCESS_UNIT):
        if unit.integer("options_type") == NORMALIZATION:
            options = TableRecord(NORMALIZATION_OPTIONS, unit.child("options"))
            means, deviations = (_floats(options, name) for name in ("mean", "std"))
            if len(means) == len(deviations) > 0 and np.isfinite([*means, *deviations]).all() and 0 not in deviations:
                pairs = list(zip(means, deviations, strict=True))
                return tuple(pairs[:1] if len(set(pairs)) == 1 else pairs)
            notes.append("the normalization in the metadata of the file makes no sense, and is ignored")
    return ()


def _floats(record: TableRecord, name: str) -> list[float]:
    vector = record.vector(name)
    return [] if vector is None else vector.array("float32").astype(np.float64).tolist()


def _labels(tensor: TableRecord, archive: _Archive, notes: list[str]) -> TensorMetadata:
    """Labels of an output: those without a locale, else the first ones."""
    files = [
        f
        for f in tensor.children("associated_files", ASSOCIATED_FILE)
        if f.integer("type") in (AXIS_LABELS, VALUE_LABELS)
    ]
    for file in sorted(files, key=lambda f: bool(f.string("locale")))[:1]:
        name = file.string("name")
        try:
            return TensorMetadata(listed(archive.text(name)), file.integer("type") == VALUE_LABELS)
        except LabelsError as error:
            notes.append(f"'{printable(name)}' in the metadata of the file {error.reason}: it is ignored")
    return TensorMetadata()


@dataclass(frozen=True)
class _Archive:
    """The zip archive behind the model."""

    data: bytes
    notes: list[str]

    def text(self, name: str) -> str:
        """A file in it."""
        try:
            with zipfile.ZipFile(BytesIO(self.data)) as archive, archive.open(name) as file:
                content = file.read(MOST_BYTES + 1)
        except KeyError:
            raise LabelsError("is not in it") from None
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError):
            raise LabelsError("cannot be read") from None
        if len(content) > MOST_BYTES:
            raise LabelsError(f"has more than {MOST_BYTES:,} bytes")
        return content.decode("utf-8-sig", "replace")
