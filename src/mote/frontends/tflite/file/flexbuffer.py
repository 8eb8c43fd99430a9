"""A bounds-checked reader of FlexBuffers, the form that options of custom operators have in a `.tflite` file.

A FlexBuffer is read from its end: the last byte is the width of the root, the one before it its type. Every value is a
number or an offset back to what it means. A hostile one can make a vector contain itself, or the same vector a thousand
times, so values are counted and depth is limited.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum

from mote.frontends.tflite.file.flatbuffer import MalformedError

Value = None | bool | int | float | str | bytes | list["Value"] | dict[str, "Value"]

MOST_VALUES = 65_536
MOST_DEPTH = 32


class FlexType(IntEnum):
    """FlexBuffer types; 16 to 24 are vectors of two, three and four scalars."""

    NULL = 0
    INT = 1
    UINT = 2
    FLOAT = 3
    KEY = 4
    STRING = 5
    INDIRECT_INT = 6
    INDIRECT_UINT = 7
    INDIRECT_FLOAT = 8
    MAP = 9
    VECTOR = 10
    VECTOR_INT = 11
    VECTOR_UINT = 12
    VECTOR_FLOAT = 13
    VECTOR_KEY = 14
    VECTOR_STRING = 15
    VECTOR_INT2 = 16
    VECTOR_FLOAT4 = 24
    BLOB = 25
    BOOL = 26
    VECTOR_BOOL = 36


_SIGNED = {1: "b", 2: "h", 4: "i", 8: "q"}
_FLOATS = {2: "e", 4: "f", 8: "d"}
_INDIRECT = {
    FlexType.INDIRECT_INT: FlexType.INT,
    FlexType.INDIRECT_UINT: FlexType.UINT,
    FlexType.INDIRECT_FLOAT: FlexType.FLOAT,
}
_ELEMENTS = {
    FlexType.VECTOR_INT: FlexType.INT,
    FlexType.VECTOR_UINT: FlexType.UINT,
    FlexType.VECTOR_FLOAT: FlexType.FLOAT,
    FlexType.VECTOR_KEY: FlexType.KEY,
    FlexType.VECTOR_STRING: FlexType.STRING,
    FlexType.VECTOR_BOOL: FlexType.BOOL,
}


def read(data: bytes) -> Value:
    """The value of a FlexBuffer."""
    return _Reader(data).root()


def read_map(data: bytes) -> dict[str, Value]:
    """Read a FlexBuffer whose root must be a map; no data counts as an empty one."""
    mapping = read(data) if data else {}
    if not isinstance(mapping, dict):
        raise MalformedError("the options of a custom operator are not a map")
    return mapping


@dataclass
class _Reader:
    data: bytes
    left: int = field(default=MOST_VALUES)

    def root(self) -> Value:
        if len(self.data) < 3:
            raise MalformedError("a FlexBuffer has three bytes at least")
        width, packed = self.data[-1], self.data[-2]
        if width not in _SIGNED:
            raise MalformedError(f"a FlexBuffer has a root of {width} bytes")
        return self._value(len(self.data) - 2 - width, width, packed, 0)

    def _value(self, at: int, width: int, packed: int, depth: int) -> Value:
        """The value at `at`, with `width` bytes per element, of the packed type."""
        self.left -= 1
        if self.left < 0 or depth > MOST_DEPTH:
            raise MalformedError("a FlexBuffer contains itself, or too many values")
        kind, child = packed >> 2, 1 << (packed & 3)
        if kind == FlexType.NULL:
            return None
        if kind in (FlexType.INT, FlexType.UINT, FlexType.FLOAT, FlexType.BOOL):
            return self._scalar(at, width, kind)
        target = self._target(at, width)
        if kind in _INDIRECT:
            return self._scalar(target, child, _INDIRECT[FlexType(kind)])
        if kind == FlexType.KEY:
            return self._key(target)
        if kind == FlexType.STRING:
            return self._sized(target, child).decode("utf-8", "replace")
        if kind == FlexType.BLOB:
            return self._sized(target, child)
        if kind == FlexType.MAP:
            return self._map(target, child, depth)
        if kind == FlexType.VECTOR:
            return self._vector(target, child, depth)
        return self._typed(target, child, kind, depth)

    def _bytes(self, at: int, count: int) -> bytes:
        if at < 0 or at + count > len(self.data):
            raise MalformedError("a FlexBuffer reaches outside of its bytes")
        return self.data[at : at + count]

    def _unsigned(self, at: int, width: int) -> int:
        return int.from_bytes(self._bytes(at, width), "little")

    def _scalar(self, at: int, width: int, kind: int) -> Value:
        if kind == FlexType.INT:
            return int.from_bytes(self._bytes(at, width), "little", signed=True)
        if kind == FlexType.FLOAT:
            if width not in _FLOATS:
                raise MalformedError("a FlexBuffer has a float of one byte")
            return float(struct.unpack("<" + _FLOATS[width], self._bytes(at, width))[0])
        number = self._unsigned(at, width)
        return bool(number) if kind == FlexType.BOOL else number

    def _target(self, at: int, width: int) -> int:
        return at - self._unsigned(at, width)

    def _key(self, at: int) -> str:
        end = self.data.find(b"\0", max(at, 0))
        if at < 0 or end < 0:
            raise MalformedError("a FlexBuffer has a key without an end")
        return self.data[at:end].decode("utf-8", "replace")

    def _length(self, at: int, width: int, each: int) -> int:
        """The number of elements of `each` bytes that follow, which must be inside of the buffer."""
        length = self._unsigned(at - width, width)
        self._bytes(at, length * each)
        return length

    def _sized(self, at: int, width: int) -> bytes:
        return self._bytes(at, self._length(at, width, 1))

    def _vector(self, at: int, width: int, depth: int) -> list[Value]:
        length = self._length(at, width, width + 1)
        types = self._bytes(at + length * width, length)
        return [self._value(at + i * width, width, types[i], depth + 1) for i in range(length)]

    def _typed(self, at: int, width: int, kind: int, depth: int) -> list[Value]:
        if FlexType.VECTOR_INT2 <= kind <= FlexType.VECTOR_FLOAT4:
            length, element = 2 + (kind - FlexType.VECTOR_INT2) // 3, FlexType.INT + (kind - FlexType.VECTOR_INT2) % 3
        elif kind in _ELEMENTS:
            length, element = self._length(at, width, width), _ELEMENTS[FlexType(kind)]
        else:
            raise MalformedError(f"a FlexBuffer has a value of the kind {kind}")
        return [self._value(at + i * width, width, element << 2, depth + 1) for i in range(length)]

    def _map(self, at: int, width: int, depth: int) -> dict[str, Value]:
        """A map: a vector, preceded by the offset and the byte width of its keys."""
        keys_at, keys_width = self._target(at - 3 * width, width), self._unsigned(at - 2 * width, width)
        if keys_width not in _SIGNED:
            raise MalformedError(f"a FlexBuffer has keys of {keys_width} bytes")
        values = self._vector(at, width, depth)
        if self._length(keys_at, keys_width, keys_width) != len(values):
            raise MalformedError("a FlexBuffer has a map with different numbers of keys and values")
        places = (keys_at + i * keys_width for i in range(len(values)))
        return dict(zip((self._key(self._target(p, keys_width)) for p in places), values, strict=True))
