"""Locations of the kernels' C files, which are in the same folders as the Python packers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable


def _folders(top: Traversable) -> Iterator[Traversable]:
    """All folders below `top`, depth-first, sorted by name."""
    for folder in sorted((path for path in top.iterdir() if path.is_dir()), key=lambda path: path.name):
        yield folder
        yield from _folders(folder)


_FILES = {folder: list(folder.iterdir()) for folder in _folders(files("mote.compiler.kernels"))}
_WITH_HEADERS = [folder for folder, paths in _FILES.items() if any(path.name.endswith(".h") for path in paths)]
FOLDERS = tuple(folder for folder in _WITH_HEADERS if folder.name != "fits")
"""Include folders for a C compiler: portable kernels, primitives, and the kernels and primitives of instruction
sets."""
FITS = tuple(folder for folder in _WITH_HEADERS if folder.name == "fits")
"""Include folders with the hand-written functions that check kernel parameters (see `mote_room.h`)."""
HEADERS = {path.name: path for paths in _FILES.values() for path in paths if path.name.endswith(".h")}
"""Path of every header by its file name, which is unique across folders."""
SETS = ("armv6m", "armv7m", "armv7em", "avre", "helium", "rv32m", "rvv", "scalar", "softfloat", "vectors", "vfp")
"""Folder names of the instruction sets."""
SET_OF = {
    path.name: name
    for name in SETS
    for folder in _folders(files("mote.compiler.kernels"))
    if folder.name == name
    for inner in (folder, *_folders(folder))
    for path in _FILES[inner]
    if path.name.endswith(".h")
}
"""Instruction set (folder name) of every header that is specific to one."""
TABLES = [path for paths in _FILES.values() for path in paths if path.name == "checks.txt"]
"""All tables `checks.txt`, from which the C checks of kernel parameters are generated."""


@cache
def text(name: str) -> str:
    """Contents of a header."""
    return HEADERS[name].read_text(encoding="utf-8")
