"""Constants encrypted in flash: AES-CTR with nonces derived from the data, so that the same model and key give the same
files, and no part of a key stream is used for two different plaintexts.

The nonce is the beginning of an HMAC-SHA256 of the plaintext and its name, with a key derived from the AES key. Equal
nonces mean equal plaintexts, except with a probability of 2^-96. Without the key one can only see whether two builds
have equal layers.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

import numpy as np

from mote.base.errors import MoteError
from mote.base.extras import require
from mote.base.files import read_file
from mote.compiler.kernels.contract import Sealed, Structs
from mote.ir.graph.tensor import Array

KEY_BYTES = (16, 32)
COUNTER = 16
"""Bytes of an AES-CTR counter block: a nonce, and the number of the block, from 0 on."""
NONCE = 12
NEW_KEY = "`openssl rand -out FILE 32` makes a key"
_LABEL = b"mote encrypted constants 1"


@dataclass(frozen=True)
class WeightCipher:
    """Encrypts constants with a key that no generated file and no message contains."""

    key: bytes = field(repr=False)

    def encrypt(self, name: str, data: bytes) -> bytes:
        """The initial counter block, followed by the data encrypted with it."""
        derived = hmac.digest(self.key, _LABEL, "sha256")
        said = b"\0".join([name.encode(), hashlib.sha256(data).digest()])
        counter = hmac.digest(derived, said, "sha256")[:NONCE] + bytes(COUNTER - NONCE)
        return counter + self._stream(counter, data)

    def _stream(self, counter: bytes, data: bytes) -> bytes:
        ciphers = require("cryptography.hazmat.primitives.ciphers", extra="sign", what="encrypting constants")
        encryptor = ciphers.Cipher(ciphers.algorithms.AES(self.key), ciphers.modes.CTR(counter)).encryptor()
        text: bytes = encryptor.update(data) + encryptor.finalize()
        return text


def read_key(path: str) -> WeightCipher:
    """Reads a key of 16 or 32 bytes from a file, raw or as hexadecimal digits."""
    data = read_file(path)
    if len(data) not in KEY_BYTES:
        try:
            data = bytes.fromhex(data.decode("ascii").strip())
        except ValueError:
            data = b""
    if len(data) not in KEY_BYTES:
        raise MoteError(
            "is no AES key: a key has 16 or 32 bytes, or twice as many hexadecimal digits", where=path, remedy=NEW_KEY
        )
    if len(set(data)) == 1:
        raise MoteError("is no key: all of its bytes are equal", where=path, remedy=NEW_KEY)
    return WeightCipher(data)


def plaintext(sealed: Sealed) -> bytes:
    """Constants as they are in RAM after decryption, little-endian."""
    text = bytearray(sealed.nbytes)
    for name, value in sealed.arrays.items():
        data = _little_endian(value)
        text[sealed.offsets[name] : sealed.offsets[name] + len(data)] = data
    return bytes(text)


def _little_endian(value: Array | Structs) -> bytes:
    array = (value.rows & 0xFFFFFFFF).astype(np.uint32) if isinstance(value, Structs) else value
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
