"""An image as differences to another: what to copy from the installed one, what to insert. `docs/deploy/updates.md` has
every byte.

Copying is by bytes, so that arrays that have moved are found wherever they lie. A network that was trained anew has
other weights everywhere, and its delta is as long as itself; one with another last layer, or other labels, is short.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from mote.deploy.update.header import read_header
from mote.errors import MoteError

MAGIC = b"MDLT"
FORMAT = 1
HEADER = struct.Struct("<4sHHIIII")
"""Magic, format, bytes of the header; of the old image, without a signature, its bytes and CRC-32; of the new one, with
its signature, its bytes and the CRC-32 of all of them."""
WINDOW = 16
"""Bytes that must be equal for a match to be looked at."""
STRIDE = 4
"""Matches begin at a multiple of this in the old image, before they are made longer to the front."""
_CHUNK = 4096


@dataclass(frozen=True)
class Copy:
    """Bytes of the old image."""

    start: int
    length: int


@dataclass(frozen=True)
class Insert:
    """Bytes that the old image does not have."""

    data: bytes


def encode(old: bytes, new: bytes, *, old_name: str = "old image", new_name: str = "new image") -> bytes:
    """The delta from one image to another, each with its signature or without."""
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
    """The new image, which the device makes of the old one in the same way."""
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
    """What the instructions of a delta make, one after another."""
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
    """A number in bytes of seven bits, the lowest first; bit 7: there are more."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_number(data: bytes, at: int, where: str) -> tuple[int, int]:
    """A number, and where the next byte is."""
    value = 0
    for count, byte in enumerate(data[at : at + 5]):
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at + count + 1
    raise _nonsense(where)


def _folded(value: int) -> int:
    """A signed number as one that is not: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return value << 1 if value >= 0 else (-value << 1) - 1


def differences(old: bytes, new: bytes) -> Iterator[Copy | Insert]:
    """What makes `new` of `old`, from the first byte to the last. Where several places match, the one is taken that
    goes on from the copy before, which takes the fewest bytes to say."""
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
        yield Copy(start - front, length)
        done = at = begin + length
        shift = start - front - begin
    if done < len(new):
        yield Insert(new[done:])


def _common_length(one: np.ndarray, other: np.ndarray) -> int:
    """How many bytes two arrays begin with alike."""
    most = min(len(one), len(other))
    for start in range(0, most, _CHUNK):
        end = min(start + _CHUNK, most)
        unequal = np.flatnonzero(one[start:end] != other[start:end])
        if len(unequal):
            return start + int(unequal[0])
    return most


def _common_end(one: bytes, other: bytes) -> int:
    """How many bytes two strings end with alike; few, since longer matches were found before."""
    most, count = min(len(one), len(other)), 0
    while count < most and one[-1 - count] == other[-1 - count]:
        count += 1
    return count
