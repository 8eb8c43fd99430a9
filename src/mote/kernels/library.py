"""The C files of the kernels, wherever they lie: beside the Python that packs for them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

FOLDERS: tuple[Traversable, ...] = tuple(files("mote.kernels") / name for name in ("portable", "armv7em"))
"""Where a C compiler finds them."""


@cache
def header(name: str) -> str:
    """The text of a file of the library; its name is unique in all folders."""
    return next(path for folder in FOLDERS if (path := folder / name).is_file()).read_text(encoding="utf-8")
