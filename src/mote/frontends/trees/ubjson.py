"""Universal Binary JSON, as XGBoost writes it."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
"""NumPy types of numbers by marker."""
CONSTANTS = {"Z": None, "T": True, "F": False}
DEEPEST = 100
"""Nesting limit of containers."""


def decode(data: bytes) -> Any:
    """Decode a value. Typed arrays of numbers become lists. Raises ValueError for malformed data."""
    reader = _Reader(data)
    try:
        return reader.value(reader.marker(), 0)
    except (struct.error, IndexError, UnicodeDecodeError):
        raise ValueError("the file ends too early, or is damaged") from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.at:
            raise ValueError("the file ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def marker(self) -> str:
        """The next marker; no-ops are skipped."""
        while (character := chr(self.take(1)[0])) == "N":
            pass
        return character

    def number(self, marker: str) -> int | float:
        kind = np.dtype(NUMBERS[marker])
        scalar: int | float = np.frombuffer(self.take(kind.itemsize), kind)[0].item()
        return scalar

    def length(self) -> int:
        marker = self.marker()
        if marker not in "iUIlL":
            raise ValueError(f"a length cannot be of type '{marker}'")
        return int(self.number(marker))

    def text(self) -> str:
        return self.take(self.length()).decode()

    def value(self, marker: str, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("containers in each other are too many")
        if marker in NUMBERS:
            return self.number(marker)
        if marker in CONSTANTS:
            return CONSTANTS[marker]
        if marker == "C":
            return self.take(1).decode()
        if marker in "SH":
            return self.text()
        if marker == "[":
            return self.array(depth)
        if marker == "{":
            return self.object(depth)
        raise ValueError(f"there is no type '{marker}'")

    def header(self) -> tuple[str | None, int | None, str]:
        """The element type and the count of a container where it has them, else its next marker."""
        marker, kind = self.marker(), None
        if marker == "$":
            kind, marker = self.marker(), self.marker()
            if marker != "#":
                raise ValueError("a container with a type has no length")
        if marker == "#":
            count = self.length()
            if kind is None and count > len(self.data) - self.at:
                raise ValueError("the file ends too early")
            return kind, count, ""
        return None, None, marker

    def array(self, depth: int) -> list[Any]:
        kind, count, marker = self.header()
        if kind in NUMBERS and count is not None:
            numbers = np.dtype(NUMBERS[kind])
            elements: list[Any] = np.frombuffer(self.take(count * numbers.itemsize), numbers).tolist()
            return elements
        if count is not None:
            if kind is not None and count > len(self.data):
                raise ValueError("the file ends too early")
            return [self.value(kind or self.marker(), depth + 1) for _ in range(count)]
        elements = []
        while marker != "]":
            elements.append(self.value(marker, depth + 1))
            marker = self.marker()
        return elements

    def object(self, depth: int) -> dict[str, Any]:
        kind, count, marker = self.header()
        members: dict[str, Any] = {}
        if count is not None:
            for _ in range(count):
                key = self.text()
                members[key] = self.value(kind or self.marker(), depth + 1)
            return members
        while marker != "}":
            if marker not in "iUIlL":
                raise ValueError(f"a name cannot begin with '{marker}'")
            key = self.take(int(self.number(marker))).decode()
            members[key] = self.value(self.marker(), depth + 1)
            marker = self.marker()
        return members
