"""The framing of messages as C files for firmware."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def wire_files() -> dict[str, str]:
    """C files of the framing; they include mote_crc.h of the kernels."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("mote_*.[ch]"))}
