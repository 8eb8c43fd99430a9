"""A bounds-checked reader of FlatBuffers: enough to read a `.tflite` file that may be damaged.

Every access checks that it stays inside the file, so that a truncated or hostile file ends in a
MoteError and never in a wild read, an endless loop or a traceback.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mote.base.errors import MoteError

_SCALARS = {"b": 1, "B": 1, "?": 1, "h": 2, "H": 2, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8}


class MalformedError(MoteError):
    """The bytes are not a valid FlatBuffer."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the file is damaged or is not a .tflite model ({reason})", remedy="export or download the model again"
        )


@dataclass(frozen=True)
class FlatBuffer:
    """The file's bytes with checked scalar reads."""

    data: bytes

    def scalar(self, fmt: str, at: int) -> int | float:
        if at < 0 or at + _SCALARS[fmt] > len(self.data):
            raise MalformedError(f"offset {at} is outside the file")
        value: int | float = struct.unpack_from("<" + fmt, self.data, at)[0]
        return value

    def integer(self, fmt: str, at: int) -> int:
        return int(self.scalar(fmt, at))

    def root(self) -> FlatTable:
        return FlatTable(self, self.integer("I", 0))


@dataclass(frozen=True)
class Vector:
    """A vector: its position of element 0 and its length."""

    buffer: FlatBuffer
    start: int
    length: int

    def array(self, dtype: DTypeLike) -> NDArray[np.generic]:
        kind = np.dtype(dtype)
        if self.start + self.length * kind.itemsize > len(self.buffer.data):
            raise MalformedError("a vector runs past the end of the file")
        return np.frombuffer(self.buffer.data, kind.newbyteorder("<"), self.length, self.start)

    def tables(self) -> list[FlatTable]:
        if self.start + 4 * self.length > len(self.buffer.data):
            raise MalformedError("a vector runs past the end of the file")
        places = (self.start + 4 * i for i in range(self.length))
        return [FlatTable(self.buffer, at + self.buffer.integer("I", at)) for at in places]


@dataclass(frozen=True)
class FlatTable:
    """A table; fields are addressed by their id in the schema and have defaults when absent."""

    buffer: FlatBuffer
    at: int

    def _field(self, field: int) -> int | None:
        vtable = self.at - self.buffer.integer("i", self.at)
        slot = 4 + 2 * field
        if slot + 2 > self.buffer.integer("H", vtable):
            return None
        offset = self.buffer.integer("H", vtable + slot)
        return self.at + offset if offset else None

    def scalar(self, field: int, fmt: str, default: float) -> int | float:
        at = self._field(field)
        return default if at is None else self.buffer.scalar(fmt, at)

    def integer(self, field: int, fmt: str = "i", default: int = 0) -> int:
        return int(self.scalar(field, fmt, default))

    def flag(self, field: int) -> bool:
        return bool(self.integer(field, "B"))

    def _target(self, field: int) -> int | None:
        at = self._field(field)
        return None if at is None else at + self.buffer.integer("I", at)

    def table(self, field: int) -> FlatTable | None:
        at = self._target(field)
        return None if at is None else FlatTable(self.buffer, at)

    def vector(self, field: int) -> Vector | None:
        at = self._target(field)
        return None if at is None else Vector(self.buffer, at + 4, self.buffer.integer("I", at))

    def tables(self, field: int) -> list[FlatTable]:
        vector = self.vector(field)
        return [] if vector is None else vector.tables()

    def integers(self, field: int, dtype: DTypeLike = "int32") -> list[int]:
        vector = self.vector(field)
        return [] if vector is None else [int(x) for x in vector.array(dtype)]

    def string(self, field: int) -> str:
        vector = self.vector(field)
        return "" if vector is None else vector.array("uint8").tobytes().decode("utf-8", "replace")
