"""Contents of the kernels' C files by name: bundled files, generated check headers, and files registered by users."""

from __future__ import annotations

import re
from collections.abc import Collection

from mote.compiler.kernels import checks
from mote.compiler.kernels import files as _files
from mote.compiler.kernels.files import FITS as FITS
from mote.compiler.kernels.files import FOLDERS as FOLDERS

_INCLUDE = re.compile(r'^#include "(mote_\w+\.h)"\n', re.MULTILINE)
_added: dict[str, str] = {}
"""Contents of the files registered by users, by name."""


def is_own(name: str) -> bool:
    """Whether a file name is one of Mote's own, not a user's."""
    return name in _files.HEADERS or checks.is_check(name)


def add(name: str, text: str) -> None:
    """Registers a user's file, replacing an earlier one of the same name."""
    _added[name] = text


def added() -> list[str]:
    """Names of all files registered by users; empty if there are no custom operators and kernels."""
    return list(_added)


def added_texts() -> tuple[tuple[str, str], ...]:
    """Names and contents of all files registered by users, as a cache key for results computed from files by name:
    files may be replaced."""
    return tuple(_added.items())


def header_for(name: str, sets: Collection[str]) -> str:
    """Contents of a file for a core with the instruction sets `sets`: portable files lose the includes of other
    instruction sets' headers; a header of an instruction set is unchanged."""
    if name in _added or name in _files.SET_OF:
        return header(name)
    lacking = _files.SET_OF.keys() - {file for file, own in _files.SET_OF.items() if own in sets}
    return _INCLUDE.sub(lambda line: "" if line[1] in lacking else line[0], header(name))


def header(name: str) -> str:
    """Contents of a file, registered by a user, generated or bundled."""
    if name in _added:
        return _added[name]
    return checks.header(name) if checks.is_check(name) else _files.text(name)
