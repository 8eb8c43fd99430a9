"""The update module as C files for firmware."""

from __future__ import annotations

from pathlib import Path

from mote.deploy.wire.sources import wire_files

FOLDER = Path(__file__).parent


def update_files() -> dict[str, str]:
    """C files of the update module: updates, protocol, its framing and signature verification; they include mote_crc.h
    of the kernels."""
    own = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("mote_*.[ch]"))}
    return own | wire_files()
