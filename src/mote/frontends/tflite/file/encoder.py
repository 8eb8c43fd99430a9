"""Writes FlatBuffers: tables, vectors and strings, from the end of the file to its beginning.

Whatever refers to something stands before it in the file, so that what is referred to is written first. A place is the
number of bytes from the end of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.frontends.tflite.file.record import SCALARS
from mote.frontends.tflite.file.schema import Fields

OFFSET = 4
"""Bytes of an offset."""


@dataclass
class Encoder:
    """A FlatBuffer under construction. The same calls give the same bytes."""

    _parts: list[bytes] = field(default_factory=list)
    """The last bytes of the file first."""
    _size: int = 0
    _alignment: int = 1
    """The largest alignment in the file."""
    _layouts: dict[bytes, int] = field(default_factory=dict)
    """Positions of vtables, which tables of the same layout share."""

    def table(self, fields: Fields, values: dict[str, Any]) -> int:
        """A table; the values are scalars, or the positions of objects that were written before."""
        end = self._size
        slots: dict[int, int] = {}
        for name, value in values.items():
            f = fields[name]
            if f.kind in SCALARS:
                code = SCALARS[f.kind]
                self._align(struct.calcsize(code))
                self._put(struct.pack(f"<{code}", value))
            else:
                self._reference(value)
            slots[f.slot] = self._size
        self._align(OFFSET)
        at = self._size + OFFSET
        places = [at - slots[slot] if slot in slots else 0 for slot in range(max(slots, default=-1) + 1)]
        layout = struct.pack(f"<{len(places) + 2}H", 2 * len(places) + 4, at - end, *places)
        if layout not in self._layouts:
            self._put(struct.pack("<i", len(layout)))
            self._put(layout)
            self._layouts[layout] = self._size
        else:
            self._put(struct.pack("<i", self._layouts[layout] - at))
        return at

    def references(self, places: Sequence[int]) -> int:
        """A vector of offsets."""
        self._align(OFFSET, OFFSET * len(places))
        for place in reversed(places):
            self._reference(place)
        self._put(struct.pack("<I", len(places)))
        return self._size

    def array(self, values: NDArray[Any]) -> int:
        """A vector of scalars."""
        data = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        return self._vector(data, values.size, values.itemsize)

    def integers(self, values: Sequence[int]) -> int:
        """A vector of 32-bit integers."""
        return self.array(np.array(values, np.int32))

    def raw(self, data: bytes, alignment: int) -> int:
        """A vector of bytes whose first byte is aligned in the file, so that a reader may use it in place."""
        return self._vector(data, len(data), alignment)

    def string(self, text: str) -> int:
        data = text.encode()
        return self._vector(data + b"\0", len(data), 1)

    def finish(self, root: int, identifier: bytes) -> bytes:
        """The whole file, which begins with the offset of its root."""
        self._align(self._alignment, OFFSET + len(identifier))
        self._put(identifier)
        self._reference(root)
        return b"".join(reversed(self._parts))

    def _vector(self, data: bytes, count: int, alignment: int) -> int:
        self._align(OFFSET, len(data))
        self._align(alignment, len(data))
        self._put(data)
        self._put(struct.pack("<I", count))
        return self._size

    def _reference(self, place: int) -> None:
        """The relative offset of an object."""
        self._align(OFFSET)
        self._put(struct.pack("<I", self._size + OFFSET - place))

    def _align(self, alignment: int, behind: int = 0) -> None:
        """Padding that aligns the next object, of which so many bytes follow."""
        self._alignment = max(self._alignment, alignment)
        self._put(bytes(-(self._size + behind) % alignment))

    def _put(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
