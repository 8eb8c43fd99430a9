"""Text that a board sends between protocol frames."""

from __future__ import annotations

from dataclasses import dataclass, field

from mote.base.text import printable
from mote.deploy.wire.frames import FLAG, LONGEST, FrameReader

KEPT = "\n\t"
"""Control characters allowed in text."""


@dataclass
class TextReader:
    """Separates frames from text: data between flags that is no valid frame is text."""

    _held: bytearray = field(default_factory=bytearray)
    _in_frame: bool = False

    def take(self, data: bytes) -> str:
        """Text contained in these bytes, including bytes of a preceding incomplete frame that turned out to be none."""
        text = bytearray()
        for byte in data:
            if byte == FLAG:
                if self._in_frame and self._held:
                    self._in_frame = not self._is_frame()
                    text += b"" if not self._in_frame else self._held
                else:
                    self._in_frame = True
                self._held.clear()
            elif self._in_frame and len(self._held) < LONGEST:
                self._held.append(byte)
            elif self._in_frame:  # no frame is that long
                text += self._held
                text.append(byte)
                self._held.clear()
                self._in_frame = False
            else:
                text.append(byte)
        return printable(text.decode("utf-8", errors="replace").replace("\r", ""), KEPT)

    def _is_frame(self) -> bool:
        reader = FrameReader()
        flag = bytes([FLAG])
        return any(reader.take(flag + bytes(self._held) + flag))
