"""The bytes of a constant as a file holds them: inside of the FlatBuffer or behind it, several elements a byte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.frontends.tflite.flatbuffer import MalformedError
from mote.frontends.tflite.record import Record
from mote.graph.tensor import Array
from mote.graph.types import DType

OUTSIDE = 1
"""Offsets up to this one mean that a buffer's data is not behind the FlatBuffer: writers put 1 where the place of the
data is still to be filled in."""
PACKED = {DType.INT4: 4, DType.INT2: 2}
"""Types of which several elements share a byte, the first one in its lowest bits, and how many bits each has. Constants
of them become int8."""


@dataclass(frozen=True)
class Storage:
    """One of the file's buffers. Nothing is looked at before somebody asks for it."""

    file: bytes
    record: Record

    def content(self) -> bytes:
        """All of its bytes; none where it stands for a tensor that is computed."""
        vector = self.record.vector("data")
        if vector is not None and vector.length:
            return vector.array("uint8").tobytes()
        offset, size = self.record.integer("offset"), self.record.integer("size")
        if offset <= OUTSIDE or size == 0:
            return b""
        if offset + size > len(self.file):
            raise MalformedError(f"a buffer of {size} bytes at {offset} runs past the end of the file")
        return self.file[offset : offset + size]


def held(dtype: DType) -> DType:
    """The type of a constant in the graph that has this one in the file."""
    return DType.INT8 if dtype in PACKED else dtype


def readable(dtype: DType) -> bool:
    return dtype in PACKED or dtype.stored


def nbytes(dtype: DType, count: int) -> int:
    """What so many elements take in a file."""
    return -(-count * PACKED[dtype] // 8) if dtype in PACKED else count * dtype.itemsize


def elements(raw: bytes, dtype: DType, count: int) -> Array:
    """The first `count` elements of some bytes, of which there are enough, one after another."""
    if dtype not in PACKED:
        return np.frombuffer(raw, dtype.numpy.newbyteorder("<"), count).astype(dtype.numpy, copy=False)
    bits = PACKED[dtype]
    parts = np.frombuffer(raw, np.uint8)[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)
    codes = (parts & ((1 << bits) - 1)).reshape(-1)[:count].astype(np.int16)
    return (codes - ((codes >> (bits - 1)) << bits)).astype(np.int8)
