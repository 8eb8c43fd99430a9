"""Signatures of images: the block that follows a signed image, and the checks before anything is said of one.

The signature covers every byte of the image, its header with the version among them. It names the key that made it by
an id, so that a device with several keys, or a person with the wrong one, need not guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha512

from mote.emit.image import format
from mote.emit.image.reader import NEWER, ImageError, read_header, read_signature
from mote.errors import naming


@dataclass(frozen=True)
class Signature:
    """What follows a signed image."""

    key_id: bytes
    value: bytes

    @property
    def block(self) -> bytes:
        fields = {"magic": format.SIGNATURE_MAGIC, "algorithm": format.ED25519}
        return format.SIGNATURE.pack({**fields, "key": self.key_id, "signature": self.value})


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
    with naming(where):
        header = read_header(data)
        return SignedImage(data[: header["bytes"]], header["version"], _signature(data[header["bytes"] :]))


def _signature(behind: bytes) -> Signature | None:
    found = read_signature(behind)
    if found is None:
        return None
    if found["algorithm"] != format.ED25519:
        raise ImageError(
            f"is signed with algorithm {found['algorithm']}, which this version of Mote does not know", NEWER
        )
    return Signature(bytes.fromhex(found["key"]), bytes.fromhex(found["signature"]))
