"""Signatures of images: the block that follows a signed image, and the checks before anything is said of one.

The signature covers every byte of the image, its header with the version among them. It names the key that made it by
an id, so that a device with several keys, or a person with the wrong one, need not guess.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import sha512
from zlib import crc32

from mote.errors import MoteError

IMAGE = b"MOTE"
"""How an image begins."""
HEADER_BYTES = 192
CHECKED_FROM = 16
"""The CRC-32 in the header covers the bytes from here on."""
BLOCK = struct.Struct("<4sI8s64s")
"""Magic, algorithm, id of the key, signature."""
MAGIC = b"SIGN"
ED25519 = 1
SIGNATURE_BYTES = 64
_HEADER = struct.Struct("<4sHHIII")


@dataclass(frozen=True)
class Signature:
    """What follows a signed image."""

    key_id: bytes
    value: bytes

    @property
    def block(self) -> bytes:
        return BLOCK.pack(MAGIC, ED25519, self.key_id, self.value)


@dataclass(frozen=True)
class SignedImage:
    """The bytes of a file: an image, which is whole, and its signature if it has one, which may be anybody's."""

    image: bytes
    version: int
    signature: Signature | None

    @property
    def data(self) -> bytes:
        return self.image + (self.signature.block if self.signature else b"")


def key_id(public_key: bytes) -> bytes:
    """The name of a public key of 32 bytes."""
    return sha512(public_key).digest()[:8]


def split(data: bytes, where: str) -> SignedImage:
    """An image and its signature, from the bytes of a file; a damaged one is refused."""
    if len(data) < HEADER_BYTES or not data.startswith(IMAGE):
        raise MoteError("is not an image of Mote", where=where, remedy="`mote pack` makes images of models")
    _, _, _, nbytes, checksum, version = _HEADER.unpack_from(data)
    if not HEADER_BYTES <= nbytes <= len(data):
        raise _damaged(f"it should have {nbytes:,} bytes, and has {len(data):,}", where)
    image, rest = data[:nbytes], data[nbytes:]
    found = crc32(image[CHECKED_FROM:])
    if found != checksum:
        raise _damaged(f"its CRC-32 is {found:08x}, and should be {checksum:08x}", where)
    return SignedImage(image, version, _signature(rest, where) if rest else None)


def _signature(rest: bytes, where: str) -> Signature:
    if len(rest) != BLOCK.size or not rest.startswith(MAGIC):
        raise _damaged(f"the {len(rest):,} bytes behind the image are no signature", where)
    _, algorithm, key, value = BLOCK.unpack(rest)
    if algorithm != ED25519:
        raise MoteError(
            f"is signed with algorithm {algorithm}, which this version of Mote does not know",
            where=where,
            remedy="use a newer version of Mote",
        )
    return Signature(key, value)


def _damaged(reason: str, where: str) -> MoteError:
    return MoteError(f"is damaged: {reason}", where=where, remedy="copy it again, or pack the model anew")
