"""Text of a board: what is between frames, in whatever pieces it comes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mote.deploy.boards.text import TextReader
from mote.deploy.wire.frames import Message

FRAMES = st.builds(Message, st.integers(0, 255), st.integers(0, 255), st.binary(max_size=40)).map(lambda m: m.framed)
LINES = st.text("abc äö\t123", max_size=20).map(lambda text: (text + "\n").encode())


@given(st.lists(st.one_of(FRAMES, LINES)), st.lists(st.integers(1, 30)))
def test_text_is_what_is_between_frames(pieces: list[bytes], sizes: list[int]) -> None:
    data = b"".join(pieces)
    reader, texts = TextReader(), []
    for size in [*sizes, max(1, len(data))]:
        texts.append(reader.take(data[:size]))
        data = data[size:]
    wanted = b"".join(piece for piece in pieces if not piece.startswith(b"\x7e"))
    if all(b"\xc3" not in piece for piece in pieces if not piece.startswith(b"\x7e")):
        assert "".join(texts).encode() == wanted


def test_a_frame_without_end_is_text() -> None:
    reader = TextReader()
    texts = [reader.take(data) for data in (b"\x7e", *[b"a" * 1000] * 100)]
    assert sum(map(len, texts)) == 100_000
    assert reader.take(b"b" + Message(1, 2, b"c").framed) == "b"


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_any_bytes_are_printable_text(pieces: list[bytes]) -> None:
    reader = TextReader()
    for piece in pieces:
        text = reader.take(piece)
        assert all(character.isprintable() or character in "\n\t" for character in text)


def test_a_frame_that_is_cut_off_does_not_hide_the_rest() -> None:
    reader = TextReader()
    cut = Message(0xA0, 1, b"abcdef").framed[:6]
    assert reader.take(cut) == ""
    assert reader.take(b"booting\n\x7e").endswith("booting\n")
    assert reader.take(Message(0xA0, 1, b"abcdef").framed[1:] + b"ready\n") == "ready\n"
