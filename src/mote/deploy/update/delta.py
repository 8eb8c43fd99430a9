"""Delta encoding between images: what to copy from the installed one, what to insert. `docs/deploy/updates.md` defines
every byte.

Copies are byte-wise, so that moved arrays are found at any offset. A retrained network has different weights
everywhere, so its delta is as long as the image; one with another last layer or other labels is short."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from mote.base.errors import MoteError
from mote.deploy.update.header import read_header

MAGIC = b"MDLT"
FORMAT = 1
HEADER = struct.Struct("<4sHHIIII")
"""Header: magic, format, header bytes; bytes and CRC-32 of the old image without signature; bytes and CRC-32 of the new
image with signature."""
WINDOW = 16
"""Minimum length of a match in bytes."""
STRIDE = 4
"""Alignment of candidate matches in the old image, before extension."""
_CHUNK = 4096


@dataclass(frozen=True)
class CopyRange:
    """Instruction: copy bytes of the old image."""

    start: int
    length: int


@dataclass(frozen=True)
class Insert:
    """Instruction: insert new bytes."""

    data: bytes


def encode(old: bytes, new: bytes, *, old_name: str = "old image", new_name: str = "new image") -> bytes:
    """Encodes the delta from one image to another, with or without signatures."""
    source = read_header(old, old_name)
    read_header(new, new_name)
    image = old[: source.bytes]
    head = HEADER.pack(MAGIC, FORMAT, HEADER.size, source.bytes, source.crc, len(new), crc32(new))
    parts, at = [head], 0
    for piece in differences(image, new):
        if isinstance(piece, Insert):
            parts += [_number(len(piece.data) << 1), piece.data]
        else:
            parts += [_number(piece.length << 1 | 1), _number(_folded(piece.start - at))]
            at = piece.start + piece.length
    delta = b"".join(parts)
    assert apply(old, delta) == new
    return delta


def apply(old: bytes, delta: bytes, *, where: str = "delta") -> bytes:
    """Applies a delta to the old image, as the device does."""
    source = read_header(old, "old image")
    if len(delta) < HEADER.size or delta[:4] != MAGIC:
        raise MoteError("is not a delta", where=where, remedy="`mote delta` makes one of two images")
    _, form, head, length, crc, total, sum_of_all = HEADER.unpack_from(delta)
    if (form, head) != (FORMAT, HEADER.size):
        raise MoteError(f"is a delta of format {form}, and this Mote knows format {FORMAT}", where=where)
    if (length, crc) != (source.bytes, source.crc):
        raise MoteError("is a delta to another image", where=where, remedy="name the image that it was made for")
    new = b"".join(_pieces(old[:length], delta, where))
    if len(new) != total or crc32(new) != sum_of_all:
        raise MoteError("is a damaged delta: it does not make the image that it says", where=where)
    return new


def _pieces(image: bytes, delta: bytes, where: str) -> Iterator[bytes]:
    """Yields pieces of the new image produced by a delta's instructions."""
    at, source = HEADER.size, 0
    while at < len(delta):
        number, at = _read_number(delta, at, where)
        length = number >> 1
        if number & 1:
            offset, at = _read_number(delta, at, where)
            source += offset >> 1 if offset % 2 == 0 else -(offset >> 1) - 1
            piece = image[source : source + length] if source >= 0 else b""
            source += length
        else:
            piece = delta[at : at + length]
            at += length
        if length == 0 or len(piece) != length:
            raise _nonsense(where)
        yield piece


def _nonsense(where: str) -> MoteError:
    return MoteError("is a damaged delta: an instruction makes no sense", where=where, remedy="make it anew")


def _number(value: int) -> bytes:
    """Variable-length integer (LEB128): seven bits per byte, lowest first; bit 7 means that more follow."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_number(data: bytes, at: int, where: str) -> tuple[int, int]:
    """Parses a variable-length integer; returns it with the next offset."""
    value = 0
    for count, byte in enumerate(data[at : at + 5]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at + count + 1
    raise _nonsense(where)


def _folded(value: int) -> int:
    """Zigzag encoding of a signed integer: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return value << 1 if value >= 0 else (-value << 1) - 1


def differences(old: bytes, new: bytes) -> Iterator[CopyRange | Insert]:
    """Instructions that turn `old` into `new`, in order. Among matches, one that continues the last copy is preferred
    for its short encoding."""
    places = {old[i : i + WINDOW]: i for i in range(len(old) - WINDOW, -1, -STRIDE)}
    one, other = np.frombuffer(old, np.uint8), np.frombuffer(new, np.uint8)
    done, at, shift = 0, 0, 0
    while at + WINDOW <= len(new):
        window = new[at : at + WINDOW]
        here = at + shift
        start = here if here >= 0 and old[here : here + WINDOW] == window else places.get(window)
        if start is None:
            at += 1
            continue
        front = _common_end(old[max(0, start - at + done) : start], new[done:at])
        length = front + _common_length(one[start:], other[at:])
        begin = at - front
        if begin > done:
            yield Insert(new[done:begin])
        yield CopyRange(start - front, length)
        done = at = begin + length
        shift = start - front - begin
    if done < len(new):
        yield Insert(new[done:])


def _common_length(one: np.ndarray, other: np.ndarray) -> int:
    """Length of the common prefix of two arrays."""
    most = min(len(one), len(other))
    for start in range(0, most, _CHUNK):
        end = min(start + _CHUNK, most)
        unequal = np.flatnonzero(one[start:end] != other[start:end])
        if len(unequal):
            return start + int(unequal[0])
    return most


def _common_end(one: bytes, other: bytes) -> int:
    """Length of the common suffix of two byte strings: short, as longer matches were found before."""
    most, count = min(len(one), len(other)), 0
    while count < most and one[-1 - count] == other[-1 - count]:
        count += 1
    return count
