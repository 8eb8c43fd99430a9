"""The container of a `.keras` file: a ZIP archive of the network, as JSON, and its weights, as HDF5."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from mote.errors import MoteError, TooLargeError
from mote.extras import require
from mote.graph.tensor import Array

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
MOST_CONFIG = 1 << 26
"""Bytes of the network's description."""
MOST_WEIGHTS = 1 << 30
"""Bytes of the weights, as they are stored and when they are unpacked."""
MOST_OBJECTS = 1 << 16
"""Groups and arrays among the weights."""
SAVE = "save the model again: model.save('model.keras')"


class DamagedError(MoteError):
    """A file that does not say what it should."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the file is damaged ({reason})", remedy=f"{SAVE}, or fetch the file again")


@dataclass(frozen=True)
class Archive:
    """What is in a file: the network, what Keras says about itself, and all weights by their paths."""

    config: Mapping[str, Any]
    version: str
    weights: Mapping[str, Array]


def opened(data: bytes) -> Archive:
    """Read a file; neither what it packs nor what it names may be more than is good for this computer."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            config = _json(_member(archive, CONFIG, MOST_CONFIG), CONFIG)
            names = archive.namelist()
            about = _json(_member(archive, METADATA, MOST_CONFIG), METADATA) if METADATA in names else {}
            if WEIGHTS not in names:
                raise MoteError(
                    "its weights are in several files, or missing",
                    remedy=f"{SAVE}, without max_shard_size",
                )
            weights = _member(archive, WEIGHTS, MOST_WEIGHTS)
    except (BadZipFile, NotImplementedError, EOFError, ValueError, OSError, RuntimeError, zlib.error) as error:
        raise DamagedError(" ".join(str(error).split())) from None
    return Archive(config, str(about.get("keras_version", "")), _weights(weights))


def _member(archive: ZipFile, name: str, most: int) -> bytes:
    """The contents of a file of the archive, of which no more is unpacked than there may be."""
    if name not in archive.namelist():
        raise DamagedError(f"there is no {name}")
    with archive.open(name) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise TooLargeError(f"{name} has more than {most:,} bytes", remedy="no microcontroller has memory for it")
    return found


def _json(text: bytes, name: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{name}: {error}") from None
    if not isinstance(found, dict):
        raise DamagedError(f"{name} is no object")
    return found


def _weights(data: bytes) -> dict[str, Array]:
    h5py = require("h5py", extra="keras", what="Keras models")
    try:
        with h5py.File(BytesIO(data), "r") as file:
            return dict(_arrays(h5py, file))
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedError(f"{WEIGHTS}: {' '.join(str(error).split())}") from None


def _arrays(h5py: Any, file: Any) -> Iterator[tuple[str, Array]]:
    """All arrays and their paths. Links to elsewhere are not followed, and nothing is read from other files."""
    waiting, seen, total = [("", file)], 0, 0
    while waiting:
        path, group = waiting.pop()
        for name in group:
            seen += 1
            if seen > MOST_OBJECTS:
                raise TooLargeError(f"{WEIGHTS} has more than {MOST_OBJECTS:,} groups and arrays")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise DamagedError(f"{WEIGHTS}: '{path}{name}' is a link to elsewhere")
            item = group[name]
            if isinstance(item, h5py.Group):
                waiting.append((f"{path}{name}/", item))
                continue
            total += item.size * item.dtype.itemsize
            if total > MOST_WEIGHTS:
                raise TooLargeError(f"its weights take more than {MOST_WEIGHTS:,} bytes")
            if item.is_virtual or item.external:
                raise DamagedError(f"{WEIGHTS}: '{path}{name}' is in another file")
            yield f"{path}{name}", _array(item)


def _array(item: Any) -> Array:
    """An array; of numbers that NumPy has no name for, which Keras marks, the float32 ones."""
    found: Array = np.asarray(item[()])
    if item.attrs.get("dtype") == "bfloat16" and found.dtype.itemsize == 2:
        return (found.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return found
