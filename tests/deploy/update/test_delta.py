"""Deltas: what the host makes of two images, the host and the device make the second of again, and nothing else."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.deploy.update import delta
from mote.deploy.update.delta import CopyRange, Insert
from tests.deploy.update.update_bench import image, pair, stand_in_signed
from tests.helpers.support import examples


@st.composite
def successors(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Bytes, and others that are made of pieces of them and of new ones."""
    alphabet = draw(st.sampled_from([2, 256]))
    rng = random.Random(draw(st.integers(0, 1 << 32)))
    old = bytes(rng.randrange(alphabet) for _ in range(draw(st.integers(0, 3000))))
    parts = []
    for _ in range(draw(st.integers(0, 8))):
        start, length = rng.randrange(len(old) + 1), rng.randrange(600)
        parts.append(old[start : start + length] if rng.random() < 0.7 else rng.randbytes(length // 4))
    return old, b"".join(parts)


@given(case=successors())
@settings(max_examples=examples(150), deadline=None)
def test_differences_make_the_new_bytes(case: tuple[bytes, bytes]) -> None:
    old, new = case
    made = b""
    for piece in delta.differences(old, new):
        made += piece.data if isinstance(piece, Insert) else old[piece.start : piece.start + piece.length]
        assert not isinstance(piece, CopyRange) or piece.start >= 0
    assert made == new


@given(case=successors(), signs=st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_a_delta_makes_the_new_image(case: tuple[bytes, bytes], signs: bool) -> None:
    old, new = image(1, case[0]), image(2, case[1])
    if signs:
        old, new = stand_in_signed(old), stand_in_signed(new)
    made = delta.encode(old, new)
    assert delta.apply(old, made) == new
    assert delta.apply(old[: len(old) - 80 * signs], made) == new, "the old signature takes no part"


def test_moved_parts_are_copied() -> None:
    old, new = pair(90_000)
    made = delta.encode(image(1, old), image(2, new))
    assert len(made) < 300 < len(new)


def test_all_that_is_wrong_with_a_delta_is_said() -> None:
    old, new = pair()
    one, two = image(1, old), image(2, new)
    made = delta.encode(one, two)
    cases = {
        "is not a delta": b"MOTE" + made[4:],
        "is a delta of format 9": made[:4] + b"\x09" + made[5:],
        "is a damaged delta: it does not make": made[:20] + bytes([made[20] ^ 1]) + made[21:],
        "is a damaged delta: an instruction": made[:24] + b"\x00",
        "makes no sense": made[:24] + b"\xff" * 6,
    }
    for message, data in cases.items():
        with pytest.raises(MoteError, match=re.escape(message)):
            delta.apply(one, data)
    with pytest.raises(MoteError, match="is a delta to another image"):
        delta.apply(two, made)
    with pytest.raises(MoteError, match=r"old\.mote: is no image"):
        delta.encode(b"nothing", two, old_name="old.mote")
    with pytest.raises(MoteError, match="is damaged: the CRC-32"):
        delta.encode(one, two[:-1] + b"\x55")
    with pytest.raises(MoteError, match="is cut off"):
        delta.encode(one, two[:-1])
