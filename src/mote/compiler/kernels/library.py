"""The C files of the kernels by name: those in folders, those that are generated, and those that users bring."""

from __future__ import annotations

import re
from collections.abc import Collection

from mote.compiler.kernels import checks
from mote.compiler.kernels import files as _files
from mote.compiler.kernels.files import FITS as FITS
from mote.compiler.kernels.files import FOLDERS as FOLDERS

_INCLUDE = re.compile(r'^#include "(mote_\w+\.h)"\n', re.MULTILINE)
_added: dict[str, str] = {}
"""Files that users have brought, by name."""


def is_own(name: str) -> bool:
    """Whether the file is Mote's, and not a user's."""
    return name in _files.HEADERS or checks.is_check(name)


def add(name: str, text: str) -> None:
    """Take a user's file, in place of one of the same name."""
    _added[name] = text


def added() -> list[str]:
    """The names of all files that users have brought: without them there are no operators and kernels of theirs."""
    return list(_added)


def added_texts() -> tuple[tuple[str, str], ...]:
    """The files that users have brought, as a key of what is made of files by name: one may take another's place."""
    return tuple(_added.items())


def header_for(name: str, sets: Collection[str]) -> str:
    """The text of a file for a core with these instruction sets: headers of primitives do not include what others have.
    A file of an instruction set includes what it needs."""
    if name in _added or name in _files.SET_OF:
        return header(name)
    lacking = _files.SET_OF.keys() - {file for file, own in _files.SET_OF.items() if own in sets}
    return _INCLUDE.sub(lambda line: "" if line[1] in lacking else line[0], header(name))


def header(name: str) -> str:
    """The text of a file of the library."""
    if name in _added:
        return _added[name]
    return checks.header(name) if checks.is_check(name) else _files.text(name)
