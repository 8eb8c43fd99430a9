"""Image header fields that updates need, and whether it is signed."""

from __future__ import annotations

from dataclasses import dataclass

from mote.base.errors import naming
from mote.base.files import read_file
from mote.compiler.emit.image import reader


@dataclass(frozen=True)
class ImageHeader:
    """An image's header; `bytes` excludes the signature."""

    bytes: int
    crc: int
    version: int
    product: int
    signed: bool


def read_header(data: bytes, where: str) -> ImageHeader:
    """Parses the header of a complete image."""
    with naming(where):
        head = reader.read_header(data)
        signed = reader.read_signature(data[head["bytes"] :]) is not None
    return ImageHeader(head["bytes"], head["crc"], head["version"], head["product"], signed)


def load_image(path: str) -> tuple[ImageHeader, bytes]:
    """Reads an image file with its signature, and its header."""
    data = read_file(path)
    return read_header(data, path), data
