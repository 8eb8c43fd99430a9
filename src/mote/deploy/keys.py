"""Reads Ed25519 keys from PEM files, signs and verifies. Needs the package `cryptography`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mote.base.errors import MoteError
from mote.base.extras import installing
from mote.deploy.signature import ImageSignature, SignedImage, key_id

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Passphrase = Callable[[], str]
"""Callback for the passphrase of an encrypted key."""
PRIVATE, ENCRYPTED, PUBLIC = (
    f"-----BEGIN {what}-----".encode() for what in ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PUBLIC KEY")
)
NEW_KEY = "`mote sign --new-key FILE` makes one, and so does `openssl genpkey -algorithm ed25519 -out FILE`"


class Verdict(StrEnum):
    """The result of verifying an image with a public key."""

    VALID = "valid"
    UNSIGNED = "unsigned"
    OTHER_KEY = "signed with another key"
    FORGED = "forged or damaged"


def _check_installed() -> None:
    if find_spec("cryptography") is None:
        raise MoteError("keys need the package cryptography", remedy=installing("sign"))


def read_private(data: bytes, where: str, passphrase: Passphrase) -> Ed25519PrivateKey:
    """Private key of a PEM file (PKCS #8)."""
    _check_installed()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if PUBLIC in data:
        raise MoteError("is a public key, which cannot sign", where=where, remedy="name the private key")
    encrypted = ENCRYPTED in data
    if not encrypted and PRIVATE not in data:
        raise MoteError("is not a private key in a PEM file (PKCS #8)", where=where, remedy=NEW_KEY)
    secret = passphrase().encode() if encrypted else None
    try:
        key = load_pem_private_key(data, secret)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise MoteError(
            "cannot be decrypted: the passphrase is not right, or the file is damaged"
            if encrypted
            else f"is a damaged PEM file ({error})",
            where=where,
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _of_another_kind(key, where)
    return key


def read_public(data: bytes, where: str) -> bytes:
    """Public key of a PEM file (SubjectPublicKeyInfo), 32 bytes."""
    _check_installed()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if PRIVATE in data or ENCRYPTED in data:
        raise MoteError(
            "is a private key, which whoever only verifies should not have",
            where=where,
            remedy=f"name the public key: `openssl pkey -in {where} -pubout` prints it",
        )
    if PUBLIC not in data:
        raise MoteError("is not a public key in a PEM file", where=where, remedy=NEW_KEY)
    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise MoteError(f"is a damaged PEM file ({error})", where=where) from None
    if not isinstance(key, Ed25519PublicKey):
        raise _of_another_kind(key, where)
    return key.public_bytes_raw()


def _of_another_kind(key: object, where: str) -> MoteError:
    kind = type(key).__name__.removesuffix("PrivateKey").removesuffix("PublicKey").lstrip("_")
    return MoteError(f"is a key of kind {kind}, and images are signed with Ed25519", where=where, remedy=NEW_KEY)


def public_of(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def new_key(passphrase: str) -> tuple[bytes, bytes, Ed25519PrivateKey]:
    """A new key pair: PEM of the private key (encrypted if a passphrase is given), PEM of the public key, and the key
    object."""
    _check_installed()
    from cryptography.hazmat.primitives import serialization as pem
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    hidden = pem.BestAvailableEncryption(passphrase.encode()) if passphrase else pem.NoEncryption()
    private = key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, hidden)
    public = key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    return private, public, key


def sign(unsigned: SignedImage, key: Ed25519PrivateKey) -> SignedImage:
    """Signs the image, replacing any earlier signature."""
    signature = ImageSignature(key_id(public_of(key)), key.sign(unsigned.image))
    return SignedImage(unsigned.image, unsigned.version, signature)


def verify(signed: SignedImage, public_key: bytes) -> Verdict:
    """Verifies an image's signature. A different key id alone proves nothing, but a genuine signature always has the
    right one."""
    _check_installed()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if signed.signature is None:
        return Verdict.UNSIGNED
    if signed.signature.key_id != key_id(public_key):
        return Verdict.OTHER_KEY
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signed.signature.value, signed.image)
    except InvalidSignature:
        return Verdict.FORGED
    return Verdict.VALID


def c_array(public_key: bytes) -> str:
    """C header with the public key for firmware."""
    rows = [", ".join(f"0x{byte:02x}" for byte in public_key[i : i + 8]) for i in range(0, len(public_key), 8)]
    body = ",\n    ".join(rows)
    return f"""{C_ARRAY}
/* Ed25519; its id is {key_id(public_key).hex()}. */
#ifndef MOTE_PUBLIC_KEY_H
#define MOTE_PUBLIC_KEY_H

#include <stdint.h>

static const uint8_t mote_public_key[{len(public_key)}] = {{
    {body},
}};

#endif
"""


C_ARRAY = "/* The public key that updates are verified with. */"
"""First line of a C header with a public key."""
