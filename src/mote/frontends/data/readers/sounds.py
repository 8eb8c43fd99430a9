"""WAV files: PCM of 8, 16, 24 and 32 bits and float32, of any number of channels. Headers are validated against the
file's size before anything is decoded."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.features.sample import Sample
from mote.ir.graph.tensor import Array

RIFF, WAVE = b"RIFF", b"WAVE"
_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_FORMAT = struct.Struct("<HHIIHH")
_EXTENDED = 24
"""Where an extensible format says which one it really is."""
MOST_CHANNELS = 64


@dataclass(frozen=True)
class _Format:
    """The sample format in a file's header."""

    code: int
    channels: int
    rate: int
    bits: int


def sound(data: bytes, name: str) -> Sample:
    """The samples of a WAV file from -1 to 1: [samples], or [samples, channels] where there are several."""
    chunks = dict(_chunks(data, name))
    if b"fmt " not in chunks or b"data" not in chunks:
        raise _broken(name, "it has no format or no samples")
    form = _format(chunks[b"fmt "], name)
    values = _values(chunks[b"data"], form, name)
    if not len(values):
        raise MoteError("has no samples", where=name, remedy="leave the file out")
    shaped = values if form.channels == 1 else values.reshape(-1, form.channels)
    return Sample(shaped.astype(np.float32), name, form.rate, 1 / form.rate, 1 / form.rate)


def _chunks(data: bytes, name: str) -> Iterator[tuple[bytes, bytes]]:
    """The parts of the file; of two of a kind the first counts."""
    if data[:4] != RIFF or data[8:12] != WAVE:
        raise _broken(name, "it does not begin as one does")
    at, seen = 12, set()
    while at + 8 <= len(data):
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        if at + 8 + size > len(data):
            raise _broken(name, f"it is cut off: {size:,} bytes are announced, {len(data) - at - 8:,} are there")
        if kind not in seen:
            yield kind, data[at + 8 : at + 8 + size]
        seen.add(kind)
        at += 8 + size + size % 2


def _format(chunk: bytes, name: str) -> _Format:
    if len(chunk) < _FORMAT.size:
        raise _broken(name, "its format is cut off")
    code, channels, rate, _, block, bits = _FORMAT.unpack_from(chunk)
    if code == _EXTENSIBLE and len(chunk) >= _EXTENDED + 2:
        code = int.from_bytes(chunk[_EXTENDED : _EXTENDED + 2], "little")
    known = (code == _PCM and bits in (8, 16, 24, 32)) or (code == _FLOAT and bits == 32)
    if not known:
        raise MoteError(
            f"holds {bits}-bit samples of the format {code}",
            where=name,
            remedy="save it as PCM of 8, 16, 24 or 32 bits",
        )
    if not 1 <= channels <= MOST_CHANNELS or rate < 1 or block != channels * bits // 8:
        raise _broken(name, f"{channels} channels, {rate} samples a second, {block} bytes each")
    return _Format(code, channels, rate, bits)


def _values(data: bytes, form: _Format, name: str) -> Array:
    """All samples of all channels as float; 8-bit PCM is unsigned, wider PCM signed."""
    width = form.bits // 8
    if len(data) % (width * form.channels):
        raise _broken(name, "its last sample is cut off")
    if form.code == _FLOAT:
        return np.frombuffer(data, "<f4")
    if form.bits == 8:
        return (np.frombuffer(data, np.uint8).astype(np.float64) - 128) / 128
    if form.bits == 24:
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        return wide.view("<i4")[:, 0] / 2.0**31
    return np.frombuffer(data, f"<i{width}") / 2.0 ** (form.bits - 1)


def _broken(name: str, why: str) -> MoteError:
    return MoteError(f"is no whole WAV file: {why}", where=name, remedy="save or copy it again")
