"""What an update must know of an image: the first words of its header, and whether a signature stands behind it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from mote.errors import MoteError
from mote.image.format import BEGINS, CHECKED_FROM, FORMAT, HEADER, SIGNATURE_MAGIC

SIGNATURE_BYTES = 80
"""Of the signature behind an image, with its head."""


@dataclass(frozen=True)
class ImageHeader:
    """An image as updates see it: `bytes` without the signature."""

    bytes: int
    crc: int
    version: int
    product: int
    signed: bool


def read_header(data: bytes, where: str) -> ImageHeader:
    """The header of an image, whose length and CRC-32 are right."""
    if len(data) < HEADER.nbytes or not data.startswith(BEGINS):
        raise MoteError("is not an image", where=where, remedy="`mote pack` makes one of a model")
    head = HEADER.unpack(data)
    if (head["format"], head["header_bytes"]) != (FORMAT, HEADER.nbytes):
        raise MoteError(f"is an image of format {head['format']}, and this Mote knows format {FORMAT}", where=where)
    length = head["bytes"]
    behind = data[length:]
    signed = len(behind) == SIGNATURE_BYTES and behind.startswith(SIGNATURE_MAGIC.to_bytes(4, "little"))
    if not HEADER.nbytes <= length <= len(data) or (behind and not signed):
        raise MoteError(
            f"has {len(data)} bytes, which is not what its header says ({length}, {SIGNATURE_BYTES} more if signed)",
            where=where,
            remedy="pack the model again: the file was cut off, or something was added to it",
        )
    if crc32(data[CHECKED_FROM:length]) != head["crc"]:
        raise MoteError("is damaged: its CRC-32 is wrong", where=where, remedy="pack the model again")
    return ImageHeader(length, head["crc"], head["version"], head["product"], signed)


def load_image(path: str) -> tuple[ImageHeader, bytes]:
    """An image of a file, with its signature, and what its header says."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise MoteError(f"cannot be read ({error.strerror})", where=path) from None
    return read_header(data, path), data
