"""The bytes of a constant in a file: inside of the FlatBuffer or after it, with sub-byte elements packed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.frontends.tflite.file.flatbuffer import MalformedError, Vector
from mote.frontends.tflite.file.record import TableRecord
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

OUTSIDE = 1
"""The largest offset that does not refer to data after the FlatBuffer: writers put 1 as a placeholder."""
PACKED = {DType.INT4: 4, DType.INT2: 2}
"""Sub-byte types, the first element in the lowest bits, and the bits of each. Constants of them become int8."""


@dataclass(frozen=True)
class Storage:
    """A buffer of the file: a vector in the FlatBuffer, or bytes at an offset. It is read on demand."""

    file: bytes
    vector: Vector | None
    offset: int
    size: int

    def content(self) -> bytes:
        """All of its bytes; empty for a computed tensor."""
        if self.vector is not None and self.vector.length:
            return self.vector.array("uint8").tobytes()
        if self.offset <= OUTSIDE or self.size == 0:
            return b""
        if self.offset + self.size > len(self.file):
            raise MalformedError(f"a buffer of {self.size} bytes at {self.offset} runs past the end of the file")
        return self.file[self.offset : self.offset + self.size]


def stored(file: bytes, buffer: TableRecord) -> Storage:
    return Storage(file, buffer.vector("data"), buffer.integer("offset"), buffer.integer("size"))


def held(dtype: DType) -> DType:
    """The graph's type of a constant with this type in the file."""
    return DType.INT8 if dtype in PACKED else dtype


def readable(dtype: DType) -> bool:
    return dtype in PACKED or dtype.stored


def nbytes(dtype: DType, count: int) -> int:
    """The storage size of a number of elements."""
    return -(-count * PACKED[dtype] // 8) if dtype in PACKED else count * dtype.itemsize


def elements(raw: bytes, dtype: DType, count: int) -> Array:
    """The first `count` elements of some bytes, unpacked."""
    if dtype not in PACKED:
        return np.frombuffer(raw, dtype.numpy.newbyteorder("<"), count).astype(dtype.numpy, copy=False)
    bits = PACKED[dtype]
    parts = np.frombuffer(raw, np.uint8)[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)
    codes = (parts & ((1 << bits) - 1)).reshape(-1)[:count].astype(np.int16)
    return (codes - ((codes >> (bits - 1)) << bits)).astype(np.int8)
