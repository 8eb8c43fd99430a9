"""Where the C files of the kernels lie: beside the Python that packs for them."""

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


_FILES = {folder: list(folder.iterdir()) for folder in _folders(files("mote.compiler.kernels"))}
_WITH_HEADERS = [folder for folder, paths in _FILES.items() if any(path.name.endswith(".h") for path in paths)]
FOLDERS = tuple(folder for folder in _WITH_HEADERS if folder.name != "fits")
"""Where a C compiler finds them: kernels for any core, the primitives that they are made of, and what instruction sets
have, kernels and primitives."""
FITS = tuple(folder for folder in _WITH_HEADERS if folder.name == "fits")
"""Where it finds what is written by hand of the functions that check the parameters of kernels (see `mote_room.h`)."""
HEADERS = {path.name: path for paths in _FILES.values() for path in paths if path.name.endswith(".h")}
"""Every header by its name, which is unique in all folders."""
SETS = ("armv6m", "armv7m", "armv7em", "avre", "helium", "rv32m", "rvv", "scalar", "vectors", "vfp")
"""The folders of instruction sets."""
SET_OF = {
    path.name: name
    for name in SETS
    for folder in _folders(files("mote.compiler.kernels"))
    if folder.name == name
    for inner in (folder, *_folders(folder))
    for path in _FILES[inner]
    if path.name.endswith(".h")
}
"""The instruction set of every header that belongs to one."""
TABLES = [path for paths in _FILES.values() for path in paths if path.name == "checks.txt"]
"""The tables of parameter checks."""


@cache
def text(name: str) -> str:
    """The text of a header."""
    return HEADERS[name].read_text(encoding="utf-8")
