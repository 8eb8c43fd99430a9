"""The C files of the kernels, wherever they lie: beside the Python that packs for them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable


def _folders(top: Traversable) -> Iterator[Traversable]:
    """All folders in a folder, in the order of their names, each before those inside it."""
    for folder in sorted((path for path in top.iterdir() if path.is_dir()), key=lambda path: path.name):
        yield folder
        yield from _folders(folder)


def _headers(folder: Traversable) -> list[Traversable]:
    return [path for path in folder.iterdir() if path.name.endswith(".h")]


_FOLDERS = [folder for folder in _folders(files("mote.kernels")) if _headers(folder)]
FOLDERS = tuple(folder for folder in _FOLDERS if folder.name != "fits")
"""Where a C compiler finds them: kernels for any core, the primitives that they are made of, and what instruction sets
have, kernels and primitives."""
FITS = tuple(folder for folder in _FOLDERS if folder.name == "fits")
"""Where it finds the functions that check the parameters of kernels (see `mote_room.h`)."""
_PATHS = {path.name: path for folder in _FOLDERS for path in _headers(folder)}
"""Every file by its name, which is unique in all folders."""
_added: dict[str, str] = {}
"""Files that users have brought, by name."""


def is_own(name: str) -> bool:
    """Whether the file is Mote's, and not a user's."""
    return name in _PATHS


def add(name: str, text: str) -> None:
    """Take a user's file, in place of one of the same name."""
    _added[name] = text


def added() -> list[str]:
    """The names of all files that users have brought: without them there are no operators and kernels of theirs."""
    return list(_added)


def header(name: str) -> str:
    """The text of a file of the library."""
    return _added[name] if name in _added else _header(name)


@cache
def _header(name: str) -> str:
    return _PATHS[name].read_text(encoding="utf-8")
