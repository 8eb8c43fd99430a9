"""The C files of the kernels by name: those in folders, those that are generated, and those that users bring."""

from __future__ import annotations

from mote.kernels import checks
from mote.kernels import files as _files
from mote.kernels.files import FITS as FITS
from mote.kernels.files import FOLDERS as FOLDERS

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


def header(name: str) -> str:
    """The text of a file of the library."""
    if name in _added:
        return _added[name]
    return checks.header(name) if checks.is_check(name) else _files.text(name)
