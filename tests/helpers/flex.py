"""FlexBuffers for tests: the options of custom operators."""

from __future__ import annotations

from typing import Any

from flatbuffers import flexbuffers  # type: ignore[import-untyped]


def options(**values: Any) -> bytes:
    """A map; numbers are as narrow as they can be."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in values.items():
            builder.Key(name)
            builder.Add(value)
    return bytes(builder.Finish())
