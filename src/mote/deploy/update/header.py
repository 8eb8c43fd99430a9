"""What an update must know of an image, and whether a signature stands behind it."""

from __future__ import annotations

from dataclasses import dataclass

from mote.emit.image import reader
from mote.errors import naming
from mote.files import read_file


@dataclass(frozen=True)
class ImageHeader:
    """An image as updates see it: `bytes` without the signature."""

    bytes: int
    crc: int
    version: int
    product: int
    signed: bool


def read_header(data: bytes, where: str) -> ImageHeader:
    """The header of an image that is whole."""
    with naming(where):
        head = reader.read_header(data)
        signed = reader.read_signature(data[head["bytes"] :]) is not None
    return ImageHeader(head["bytes"], head["crc"], head["version"], head["product"], signed)


def load_image(path: str) -> tuple[ImageHeader, bytes]:
    """An image of a file, with its signature, and what its header says."""
    data = read_file(path)
    return read_header(data, path), data
