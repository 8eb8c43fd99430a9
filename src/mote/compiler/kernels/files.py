"""Where the C files of the kernels lie: beside the Python that packs for them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

TOP = Path(__file__).parent
"""The folder of all kernels."""


def _folders(top: Path) -> dict[Path, list[Path]]:
    """The files of every folder in a folder, in the order of their names, each folder before those inside it."""
    found: dict[Path, list[Path]] = {}
    for name, folders, names in os.walk(top):
        folders.sort()
        found[Path(name)] = [Path(name, one) for one in names]
    del found[top]
    return found


_FILES = _folders(TOP)
_HEADERS = {folder: headers for folder, paths in _FILES.items() if (headers := [p for p in paths if p.suffix == ".h"])}
FOLDERS = tuple(folder for folder in _HEADERS if folder.name != "fits")
"""Where a C compiler finds them: kernels for any core, the primitives that they are made of, and what instruction sets
have, kernels and primitives."""
FITS = tuple(folder for folder in _HEADERS if folder.name == "fits")
"""Where it finds what is written by hand of the functions that check the parameters of kernels (see `mote_room.h`)."""
HEADERS = {path.name: path for paths in _HEADERS.values() for path in paths}
"""Every header by its name, which is unique in all folders."""
SETS = ("armv6m", "armv7m", "armv7em", "avre", "helium", "rv32m", "rvv", "scalar", "vectors", "vfp")
"""The folders of instruction sets."""
SET_OF = {
    path.name: folder.relative_to(TOP).parts[0]
    for folder, paths in _HEADERS.items()
    for path in paths
    if folder.relative_to(TOP).parts[0] in SETS
}
"""The instruction set of every header that belongs to one."""
TABLES = [path for paths in _FILES.values() for path in paths if path.name == "checks.txt"]
"""The tables of parameter checks."""


@cache
def text(name: str) -> str:
    """The text of a header."""
    return HEADERS[name].read_text(encoding="utf-8")
