"""C sources of the update module."""

from __future__ import annotations

from pathlib import Path

from mote.compiler.kernels import library
from mote.compiler.kernels.structs import closure
from mote.deploy.wire.sources import wire_files

FOLDER = Path(__file__).parent


def update_files() -> dict[str, str]:
    """C files of the update module: updates, protocol, framing and signature verification, with the kernel headers that
    they include."""
    return _files("mote_*.[ch]") | wire_files() | _headers("mote_records.h", "mote_mac.h")


def mac_files() -> dict[str, str]:
    """C files of HMAC-SHA-512, the MAC by which a device recognizes its own learned parameters."""
    return _files("mote_hmac.[ch]") | _files("mote_sha512.[ch]") | _headers("mote_mac.h")


def _files(pattern: str) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob(pattern))}


def _headers(*names: str) -> dict[str, str]:
    return {name: library.header(name) for name in sorted(closure(names))}
