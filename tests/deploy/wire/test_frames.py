"""Frames of messages on a line with other bytes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mote.deploy.wire.frames import FrameReader, Message
from tests.helpers.support import examples

messages = st.builds(Message, st.integers(0, 255), st.integers(0, 255), st.binary(max_size=60))


@given(sent=st.lists(messages, max_size=5), noise=st.lists(st.binary(max_size=8), min_size=6, max_size=6))
@settings(max_examples=examples(120), deadline=None)
def test_messages_are_found_among_other_bytes(sent: list[Message], noise: list[bytes]) -> None:
    """Text between frames may end with a flag: then a frame begins where none does, and nothing is lost."""
    between = [part.replace(b"\x7e", b"") for part in noise]
    data = b"".join(part + message.framed for part, message in zip(between, sent, strict=False))
    reader = FrameReader()
    assert [m for i in range(0, len(data), 7) for m in reader.take(data[i : i + 7])] == sent
    damaged = bytearray(data)
    for position in range(0, len(data), 11):
        damaged[position] ^= 0x10
    assert all(m in sent for m in FrameReader().take(bytes(damaged)))
