"""Detection of images by their first bytes."""

from __future__ import annotations

from pathlib import Path

from mote.compiler.emit.image.format import BEGINS
from mote.frontends import Source


def is_image(path: str | Path | bytes | Source) -> bool:
    """Whether a file, or its bytes, is an image."""
    if isinstance(path, bytes):
        return path.startswith(BEGINS)
    if isinstance(path, Source):
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(len(BEGINS)) == BEGINS
    except OSError:
        return False
