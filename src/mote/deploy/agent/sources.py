"""C sources of the agent, and ids of models that it reports."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from mote.compiler.kernels import library
from mote.compiler.kernels.structs import closure
from mote.deploy.wire.sources import wire_files

FOLDER = Path(__file__).parent
ID_BYTES = 16
RUNTIME = ("mote_agent_runtime.c", "mote_agent_runtime.h")
"""Files with which the agent runs images."""
TRACE = "mote_agent_trace.h"
"""Header that implements the hook between the steps of a compiled model: `-include` it before the model's C."""
_ASIDE = ("example/", "selftest/")


def agent_files(*, runtime: bool = False) -> dict[str, str]:
    """C files of the agent and its framing, with the kernel headers that they include; `runtime` adds loading and
    running of images."""
    paths = [path for path in sorted(FOLDER.glob("mote_*.[ch]")) if runtime or path.name not in RUNTIME]
    own = {path.name: path.read_text(encoding="utf-8") for path in paths}
    headers = {name: library.header(name) for name in sorted(closure(["mote_crc.h"]))}
    return own | wire_files() | headers


def model_id(files: Mapping[str, str]) -> bytes:
    """Id of a compiled model: the first bytes of a SHA-256 over its C project without example and self-test."""
    digest = hashlib.sha256()
    for name in sorted(files):
        if name.endswith((".c", ".h")) and not name.startswith(_ASIDE):
            text = files[name].encode()
            digest.update(f"{name}\0{len(text)}\0".encode() + text)
    return digest.digest()[:ID_BYTES]


def image_id(image: bytes) -> bytes:
    """Id of an image: the header bytes with length, CRC-32 and version."""
    return image[8 : 8 + ID_BYTES]
