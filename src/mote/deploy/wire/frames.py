"""Messages in a byte stream, delimited by flags and checked by CRC-32. `mote_frame.c` is the device's side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from zlib import crc32

FLAG, ESCAPE, CHANGED = 0x7E, 0x7D, 0x20
ANSWER = 0x80
"""The bit of a message type that marks responses."""
LONGEST = 4096
"""Maximum bytes of a frame; longer ones are noise."""


@dataclass(frozen=True)
class Message:
    """A request, or (with ANSWER in its type) a response."""

    type: int
    sequence: int
    data: bytes = b""

    @property
    def framed(self) -> bytes:
        """The encoded frame."""
        body = bytes([self.type, self.sequence]) + self.data
        body += crc32(body).to_bytes(4, "little")
        stuffed = body.replace(b"\x7d", b"\x7d\x5d").replace(b"\x7e", b"\x7d\x5e")
        return bytes([FLAG]) + stuffed + bytes([FLAG])


@dataclass
class FrameReader:
    """Decodes messages from received bytes; skips damaged ones."""

    _held: bytearray = field(default_factory=bytearray)
    _begun: bool = False

    def take(self, data: bytes) -> Iterator[Message]:
        """Messages completed by these bytes."""
        for byte in data:
            if byte == FLAG:
                message = _unframed(bytes(self._held)) if self._begun else None
                self._held.clear()
                self._begun = True
                if message is not None:
                    yield message
            elif len(self._held) < LONGEST:
                self._held.append(byte)


def _unframed(stuffed: bytes) -> Message | None:
    """Decodes the message between two flags; None if it is invalid."""
    body = bytearray()
    changed = 0
    for byte in stuffed:
        if byte == ESCAPE:
            changed = CHANGED
        else:
            body.append(byte ^ changed)
            changed = 0
    if len(body) < 6 or crc32(body[:-4]).to_bytes(4, "little") != body[-4:]:
        return None
    return Message(body[0], body[1], bytes(body[2:-4]))
