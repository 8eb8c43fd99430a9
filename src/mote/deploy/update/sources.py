"""The update module as C files for firmware."""

from __future__ import annotations

from pathlib import Path

from mote.deploy.wire.sources import wire_files
from mote.kernels import library
from mote.kernels.structs import closure

FOLDER = Path(__file__).parent


def update_files() -> dict[str, str]:
    """C files of the update module: updates, protocol, its framing and signature verification, with the headers of the
    kernels that they include."""
    own = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("mote_*.[ch]"))}
    headers = {name: library.header(name) for name in sorted(closure(["mote_records.h"]))}
    return own | wire_files() | headers
