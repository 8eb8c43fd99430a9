"""Locations of the kernels' C files, which are in the same folders as the Python packers."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

TOP = Path(__file__).parent
"""The folder of all kernels."""


def _folders(top: Path) -> dict[Path, list[Path]]:
    """The files of all folders below `top`, depth-first, folders sorted by name."""
    files: dict[Path, list[Path]] = {}
    for folder, inner, names in os.walk(top):
        inner.sort()
        files[Path(folder)] = [Path(folder, name) for name in names]
    del files[top]
    return files


_FILES = _folders(TOP)
_HEADERS = {folder: headers for folder, paths in _FILES.items() if (headers := [p for p in paths if p.suffix == ".h"])}
FOLDERS = tuple(folder for folder in _HEADERS if folder.name != "fits")
"""Include folders for a C compiler: portable kernels, primitives, and the kernels and primitives of instruction
sets."""
FITS = tuple(folder for folder in _HEADERS if folder.name == "fits")
"""Include folders with the hand-written functions that check kernel parameters (see `mote_room.h`)."""
HEADERS = {path.name: path for paths in _HEADERS.values() for path in paths}
"""Path of every header by its file name, which is unique across folders."""
SETS = ("armv6m", "armv7m", "armv7em", "avre", "helium", "rv32m", "rvv", "scalar", "softfloat", "vectors", "vfp")
"""Folder names of the instruction sets."""
SET_OF = {
    path.name: folder.relative_to(TOP).parts[0]
    for folder, paths in _HEADERS.items()
    for path in paths
    if folder.relative_to(TOP).parts[0] in SETS
}
"""Instruction set (folder name) of every header that is specific to one."""
TABLES = [path for paths in _FILES.values() for path in paths if path.name == "checks.txt"]
"""All tables `checks.txt`, from which the C checks of kernel parameters are generated."""


@cache
def text(name: str) -> str:
    """Contents of a header."""
    return HEADERS[name].read_text(encoding="utf-8")
