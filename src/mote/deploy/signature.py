"""Image signatures: the block that follows a signed image, and its validation.

The signature covers every byte of the image, including the header with the version. It contains the id of its key, so
that devices with several keys need not try all."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha512

from mote.base.errors import naming
from mote.compiler.emit.image import format
from mote.compiler.emit.image.reader import NEWER, ImageError, read_header, read_signature


@dataclass(frozen=True)
class ImageSignature:
    """Signature block after an image."""

    key_id: bytes
    value: bytes

    @property
    def block(self) -> bytes:
        fields = {"magic": format.SIGNATURE_MAGIC, "algorithm": format.ED25519}
        return format.SIGNATURE.pack({**fields, "key": self.key_id, "signature": self.value})


@dataclass(frozen=True)
class SignedImage:
    """A file split into the complete image and its signature, if any (unverified)."""

    image: bytes
    version: int
    signature: ImageSignature | None

    @property
    def data(self) -> bytes:
        return self.image + (self.signature.block if self.signature else b"")


def key_id(public_key: bytes) -> bytes:
    """Id of a 32-byte public key."""
    return sha512(public_key).digest()[:8]


def split(data: bytes, where: str) -> SignedImage:
    """Splits a file into image and signature; raises an error if damaged."""
    with naming(where):
        header = read_header(data)
        return SignedImage(data[: header["bytes"]], header["version"], _signature(data[header["bytes"] :]))


def _signature(behind: bytes) -> ImageSignature | None:
    block = read_signature(behind)
    if block is None:
        return None
    if block["algorithm"] != format.ED25519:
        raise ImageError(
            f"is signed with algorithm {block['algorithm']}, which this version of Mote does not know", NEWER
        )
    return ImageSignature(bytes.fromhex(block["key"]), bytes.fromhex(block["signature"]))
