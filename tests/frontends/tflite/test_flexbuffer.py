"""The reader of FlexBuffers: what the official writer writes is read back, and damaged bytes end in a MoteError."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("flatbuffers")

from flatbuffers import flexbuffers  # type: ignore[import-untyped]

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.file.flatbuffer import MalformedError
from mote.frontends.tflite.file.flexbuffer import read, read_map
from mote.frontends.tflite.node import CustomOptions
from tests.helpers.flex import options

KEYS = st.text("abcdefgh_", min_size=1, max_size=6)
NUMBERS = st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False, width=32), st.booleans())
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(NUMBERS, st.text(max_size=8), st.binary(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=20,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_what_is_written_is_read(value: Any) -> None:
    assert read(bytes(flexbuffers.Dumps(value))) == value


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda b: b.TypedVectorFromElements([1, -2, 300]), [1, -2, 300]),
        (lambda b: b.TypedVectorFromElements([0.5, 1.25]), [0.5, 1.25]),
        (lambda b: b.TypedVectorFromElements([True, False, True]), [True, False, True]),
        (lambda b: b.FixedTypedVectorFromElements([1, 2]), [1, 2]),
        (lambda b: b.FixedTypedVectorFromElements([1.5, 2.0, 3.0]), [1.5, 2.0, 3.0]),
        (lambda b: b.FixedTypedVectorFromElements([1, 2, 3, -400000]), [1, 2, 3, -400000]),
        (lambda b: b.IndirectInt(-7), -7),
        (lambda b: b.IndirectUInt(1 << 40), 1 << 40),
        (lambda b: b.IndirectFloat(0.1, 8), 0.1),
        (lambda b: b.UInt(1 << 63), 1 << 63),
        (lambda b: b.Int(5, 8), 5),
        (lambda b: b.Float(1.5, 8), 1.5),
        (lambda b: b.Key("name"), "name"),
        (lambda b: b.Null(), None),
        (lambda b: b.Blob(b"\0\1\2"), b"\0\1\2"),
    ],
)
def test_every_kind(make: Any, wanted: Any) -> None:
    builder = flexbuffers.Builder()
    make(builder)
    assert read(bytes(builder.Finish())) == wanted


def _tried(data: bytes) -> None:
    with suppress(MalformedError):
        read(data)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(VALUES, st.integers(0, 1 << 30))
def test_damaged_bytes(value: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    good = bytearray(flexbuffers.Dumps(value))
    _tried(bytes(good[: rng.integers(0, len(good) + 1)]))
    for _ in range(20):
        bad = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            bad[rng.integers(0, len(bad))] = rng.integers(0, 256)
        _tried(bytes(bad))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=64))
def test_any_bytes(data: bytes) -> None:
    _tried(data)


def test_a_vector_that_contains_itself() -> None:
    """Its one element points back to it."""
    with pytest.raises(MalformedError, match="contains itself"):
        read(bytes([1, 0, 10 << 2, 2, 10 << 2, 1]))


def test_vectors_that_double() -> None:
    """Each has the one before it as both of its elements, twenty times over: more values than are read."""
    data = bytearray([1, 5, 1 << 2])
    at = 1
    for _ in range(20):
        begin = len(data) + 1
        data += bytes([2, begin - at, begin + 1 - at, 10 << 2, 10 << 2])
        at = begin
    data += bytes([len(data) - at, 10 << 2, 1])
    with pytest.raises(MalformedError, match="too many values"):
        read(bytes(data))


def test_options() -> None:
    given = CustomOptions(read_map(options(count=3, share=0.1, yes=True, name="x", large=1 << 40)))
    assert (given.integer("count"), given.flag("yes"), given.integer("none", 7)) == (3, True, 7)
    assert given.real("share") == float(np.float32(0.1)) and given.real("count") == 3.0
    assert given.has("name") and not given.has("none") and read_map(b"") == {}
    with pytest.raises(UnsupportedNodeError, match="none is missing"):
        given.integer("none")
    for name in ("name", "large", "share"):
        with pytest.raises(MalformedError):
            given.integer(name)
    with pytest.raises(MalformedError, match="not a map"):
        read_map(bytes(flexbuffers.Dumps([1, 2])))
