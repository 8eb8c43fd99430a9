"""Finds jobs for the Ethos-U driver in a file of any kind: an image, firmware, or a single job."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from mote.compiler.offload.ethos_u.artifact import HEAD
from mote.compiler.offload.ethos_u.job import BASES

MARKS = (b"COP1", b"COP2")


@dataclass(frozen=True)
class EmbeddedJob:
    """A job in a file: its payload, and the offset of its header."""

    offset: int
    payload: bytes
    sizes: tuple[int, ...]
    """Bytes of memory at each base pointer."""
    writable: tuple[bool, ...] | None
    """Which base pointers are writable; None if the header does not say."""


def embedded(data: bytes) -> Iterator[EmbeddedJob]:
    """The jobs in a file: payloads that follow a matching header."""
    at = 0
    while (at := min((place for mark in MARKS if (place := data.find(mark, at)) >= 0), default=-1)) >= 0:
        start = at - 4 * HEAD
        if start >= 0:
            length, count, *sizes = struct.unpack_from(f"<{HEAD}I", data, start)
            bits = sizes[BASES]
            if 8 <= length <= len(data) - at and count <= BASES and not any(sizes[count:BASES]):
                writable = tuple(bool(bits >> base & 1) for base in range(count)) if bits else None
                yield EmbeddedJob(start, data[at : at + length], tuple(sizes[:count]), writable)
                at += length
                continue
        at += 4
