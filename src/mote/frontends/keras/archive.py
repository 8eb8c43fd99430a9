"""The containers of Keras models: a ZIP archive of the network, as JSON, and its weights, as HDF5 (`.keras`); or one
HDF5 file with both (`.h5`, the format of Keras 2)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from mote.base.documents import DocumentError, parse_json
from mote.base.errors import MoteError, TooLargeError
from mote.base.extras import require
from mote.ir.graph.tensor import Array

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
HDF5 = b"\x89HDF\r\n\x1a\n"
NETWORK, LAYERS = "model_config", "model_weights"
"""The attribute and the group of an HDF5 file that hold the network and its weights."""
MOST_CONFIG = 1 << 26
"""Size limit of the network's description, in bytes."""
MOST_NESTED = 256
"""Depth limit of the network's description: networks may be layers of others."""
MOST_WEIGHTS = 1 << 30
"""Size limit of the weights, compressed and uncompressed, in bytes."""
MOST_OBJECTS = 1 << 16
"""Limit of groups and arrays among the weights."""
MOST_TEXT = 1 << 31
"""Size limit of all strings of an attribute, in bytes."""
HEAP = b"GCOL"
"""Signature of an HDF5 global heap collection; its size follows 8 bytes later."""
SAVE = "save the model again: model.save('model.keras')"
WHOLE = "build the model in Python, model.load_weights('weights.h5'), and save all of it: model.save('model.keras')"


class DamagedArchiveError(MoteError):
    """A malformed file."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the file is damaged ({reason})", remedy=f"{SAVE}, or fetch the file again")


Stored = Sequence[tuple[str, Array]]
"""Weights in the order in which they were saved, each with its name."""


@dataclass(frozen=True)
class Archive:
    """The content of a file: the network, the version of Keras, and all weights by their paths; of an HDF5 file by the
    names of the layers of the outermost network."""

    config: Mapping[str, Any]
    version: str
    weights: Mapping[str, Array]
    layers: Mapping[str, Stored] | None = None


def opened(data: bytes) -> Archive:
    """Open a file, within limits of its uncompressed size and of the number of its objects."""
    if data.startswith(HDF5):
        return _opened_hdf5(data)
    try:
        with ZipFile(BytesIO(data)) as archive:
            config = _json(_member(archive, CONFIG, MOST_CONFIG), CONFIG)
            names = archive.namelist()
            about = _json(_member(archive, METADATA, MOST_CONFIG), METADATA) if METADATA in names else {}
            if WEIGHTS not in names:
                raise MoteError(
                    "its weights are in several files, or missing", remedy=f"{SAVE}, without max_shard_size"
                )
            weights = _member(archive, WEIGHTS, MOST_WEIGHTS)
    except (BadZipFile, NotImplementedError, EOFError, ValueError, OSError, RuntimeError, zlib.error) as error:
        raise DamagedArchiveError(" ".join(str(error).split())) from None
    return Archive(config, str(about.get("keras_version", "")), _weights(weights))


def _member(archive: ZipFile, name: str, most: int) -> bytes:
    """The uncompressed content of a member of the archive, up to its size limit."""
    if name not in archive.namelist():
        raise DamagedArchiveError(f"there is no {name}")
    with archive.open(name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise TooLargeError(f"{name} has more than {most:,} bytes", remedy="no microcontroller has memory for it")
    return content


def _json(text: bytes, name: str) -> Mapping[str, Any]:
    try:
        document = parse_json(text, MOST_NESTED)
    except DocumentError as error:
        raise DamagedArchiveError(f"{name}: {error}") from None
    if not isinstance(document, dict):
        raise DamagedArchiveError(f"{name} is not a JSON object")
    return document


def _weights(data: bytes) -> dict[str, Array]:
    with _hdf5(data, f"{WEIGHTS}: ") as (h5py, file):
        return dict(_arrays(h5py, file))


@contextmanager
def _hdf5(data: bytes, what: str = "") -> Iterator[tuple[Any, Any]]:
    """The package h5py and an open file; errors of HDF5 are reported as a damaged file."""
    h5py = require("h5py", extra="keras", what="Keras models")
    try:
        with h5py.File(BytesIO(data), "r") as file:
            yield h5py, file
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedArchiveError(f"{what}{' '.join(str(error).split())}") from None


def _opened_hdf5(data: bytes) -> Archive:
    """Read an HDF5 file with the network in an attribute and a group of weights for each layer."""
    with _hdf5(data) as (h5py, file):
        if NETWORK not in file.attrs:
            raise MoteError(
                "it holds weights without the network"
                if "layer_names" in file.attrs or LAYERS in file
                else "it is an HDF5 file, but not a Keras model",
                remedy=WHOLE,
            )
        heap = _largest_heap(data)
        config = _json(_text(file, NETWORK, heap).encode(), NETWORK)
        version = _text(file, "keras_version", heap) if "keras_version" in file.attrs else ""
        if LAYERS not in file:
            raise DamagedArchiveError(f"there is no {LAYERS}")
        group = _hard_linked(h5py, file, LAYERS)
        arrays = dict(_arrays(h5py, group))
        layers = {name: _stored(group, name, arrays, heap) for name in _texts(group, "layer_names", heap)}
    return Archive(config, version, {}, layers)


def _hard_linked(h5py: Any, file: Any, name: str) -> Any:
    if not isinstance(file.get(name, getlink=True), h5py.HardLink) or not isinstance(file[name], h5py.Group):
        raise DamagedArchiveError(f"'{name}' is not a group of this file")
    return file[name]


def _stored(group: Any, layer: str, arrays: Mapping[str, Array], heap: int) -> Stored:
    """The weights of a layer, of which the groups and links were checked when the arrays were read."""
    if layer.startswith("/") or layer not in group:
        raise DamagedArchiveError(f"'{layer}' has no weights")
    names = _texts(group[layer], "weight_names", heap)
    missing = next((name for name in names if f"{layer}/{name}" not in arrays), None)
    if missing is not None:
        raise DamagedArchiveError(f"'{layer}' has no weight '{missing}'")
    return [(name, arrays[f"{layer}/{name}"]) for name in names]


def _texts(group: Any, name: str, heap: int) -> list[str]:
    """An attribute with several strings, which Keras splits into numbered attributes where it is long."""
    if name in group.attrs:
        return _decoded(group, name, heap)
    texts, part = [], 0
    while f"{name}{part}" in group.attrs:
        texts += _decoded(group, f"{name}{part}", heap)
        part += 1
    return texts


def _text(group: Any, name: str, heap: int) -> str:
    texts = _decoded(group, name, heap)
    if len(texts) != 1:
        raise DamagedArchiveError(f"the attribute {name} is not a string")
    return texts[0]


def _largest_heap(data: bytes) -> int:
    """The size of the largest global heap collection of a file, which bounds the length of its strings."""
    largest, at = 0, data.find(HEAP)
    while at >= 0:
        largest = max(largest, min(int.from_bytes(data[at + 8 : at + 16], "little"), len(data)))
        at = data.find(HEAP, at + len(HEAP))
    return largest


def _decoded(group: Any, name: str, heap: int) -> list[str]:
    """The strings of an attribute. Many of variable length may refer to the same bytes of the file, which would be
    copied for each: their sizes are checked before they are read."""
    about = group.attrs.get_id(name)
    count = int(np.prod(about.shape, dtype=np.int64))
    if about.dtype.kind not in "SO" and count:
        raise DamagedArchiveError(f"the attribute {name} is not a string")
    each = heap if about.dtype.kind == "O" else about.dtype.itemsize
    if count > MOST_OBJECTS or count * each > MOST_TEXT:
        raise TooLargeError(f"the attribute {name} has more than {MOST_TEXT:,} bytes")
    entries = np.asarray(group.attrs[name]).reshape(-1) if count else ()
    return [text.decode() if isinstance(text, bytes) else str(text) for text in entries]


def _arrays(h5py: Any, file: Any) -> Iterator[tuple[str, Array]]:
    """All arrays and their paths. External and soft links are not followed. A group has one path: with a second one,
    groups could contain themselves."""
    waiting, seen, total = [("", file)], 0, 0
    groups = {h5py.h5o.get_info(file.id).addr}
    while waiting:
        path, group = waiting.pop()
        for name in group:
            seen += 1
            if seen > MOST_OBJECTS:
                raise TooLargeError(f"{WEIGHTS} has more than {MOST_OBJECTS:,} groups and arrays")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise DamagedArchiveError(f"{WEIGHTS}: '{path}{name}' is a link to elsewhere")
            item = group[name]
            if isinstance(item, h5py.Group):
                address = h5py.h5o.get_info(item.id).addr
                if address in groups:
                    raise DamagedArchiveError(f"{WEIGHTS}: '{path}{name}' is a group that has another path as well")
                groups.add(address)
                waiting.append((f"{path}{name}/", item))
                continue
            total += item.size * item.dtype.itemsize
            if total > MOST_WEIGHTS:
                raise TooLargeError(f"its weights take more than {MOST_WEIGHTS:,} bytes")
            if item.is_virtual or item.external:
                raise DamagedArchiveError(f"{WEIGHTS}: '{path}{name}' is in another file")
            yield f"{path}{name}", _array(item)


def _array(item: Any) -> Array:
    """An array; bfloat16, which NumPy lacks and Keras marks, is converted to float32."""
    array: Array = np.asarray(item[()])
    if item.attrs.get("dtype") == "bfloat16" and array.dtype.itemsize == 2:
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array
