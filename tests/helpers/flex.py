"""FlexBuffers for tests: the options of custom operators."""

from __future__ import annotations

from typing import Any

import pytest


def options(**values: Any) -> bytes:
    """A map; numbers are as narrow as they can be."""
    flexbuffers = pytest.importorskip("flatbuffers.flexbuffers")
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in values.items():
            builder.Key(name)
            builder.Add(value)
    return bytes(builder.Finish())
