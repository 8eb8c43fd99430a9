"""The C files of the kernels, wherever they lie: beside the Python that packs for them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

FOLDERS: tuple[Traversable, ...] = tuple(
    files("mote.kernels") / name for name in ("portable", "primitives", "armv6m", "armv7em", "vfp", "helium")
)
"""Where a C compiler finds them: kernels for any core, the primitives that they are made of, and what instruction sets
have, kernels and primitives."""
FITS: tuple[Traversable, ...] = tuple(folder / "fits" for folder in FOLDERS if (folder / "fits").is_dir())
"""Where it finds the functions that check the parameters of kernels (see `mote_room.h`)."""
_added: dict[str, str] = {}
"""Files that users have brought, by name."""


def is_own(name: str) -> bool:
    """Whether the file is Mote's, and not a user's."""
    return any((folder / name).is_file() for folder in FOLDERS)


def add(name: str, text: str) -> None:
    """A user's file, in place of one of the same name."""
    _added[name] = text


def added() -> list[str]:
    """The names of all files that users have brought: without them there are no operators and kernels of theirs."""
    return list(_added)


def header(name: str) -> str:
    """The text of a file of the library; its name is unique in all folders."""
    return _added[name] if name in _added else _header(name)


@cache
def _header(name: str) -> str:
    return next(path for folder in (*FOLDERS, *FITS) if (path := folder / name).is_file()).read_text(encoding="utf-8")
