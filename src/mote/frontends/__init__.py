"""Model files in, Graph out. A front end is a folder; which one reads a file is told by the file's suffix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from mote import files
from mote.errors import MoteError
from mote.frontends import tflite
from mote.frontends.model import Model
from mote.graph import Graph

READERS: Mapping[str, Callable[[bytes, str], Model]] = {".tflite": tflite.read}
"""The suffixes of files that Mote reads, and what reads them."""


def read_file(path: str | Path) -> bytes:
    """The bytes of a model file of a kind that Mote knows."""
    _reader(str(path))
    return files.read_file(path)


def read(data: bytes, where: str) -> Model:
    """A model from the bytes of the file `where`, with its unsupported layers marked."""
    return _reader(where)(data, where)


def parse(data: bytes, where: str) -> Graph:
    """The graph of that model. Every problem with the file is a MoteError that names it."""
    return read(data, where).graph()


def load(path: str | Path) -> Graph:
    """Read a model file."""
    return parse(read_file(path), str(path))


def _reader(where: str) -> Callable[[bytes, str], Model]:
    suffix = Path(where).suffix
    if suffix not in READERS:
        raise MoteError(
            f"'{suffix or Path(where).name}' files are not supported",
            where=where,
            remedy=f"convert it to {' or '.join(READERS)}",
        )
    return READERS[suffix]
