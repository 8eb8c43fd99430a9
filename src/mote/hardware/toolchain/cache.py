"""Object cache of builds: the same compiler, options and texts give the same object, so it is compiled once.

The cache is a folder of files named by a hash of everything that goes into them. Files appear whole or not at all, so
that processes can share it without locks; the oldest are deleted when there are too many. Deleting all of it is safe.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from mote.base.cache import OBJECTS, root
from mote.base.files import replace_file

FOLDER = root() / OBJECTS
LIMIT = 4000
"""Files; an object of a model is a few dozen kilobytes."""
KEPT = 3000
"""Files that are left after deleting."""


_INCLUDE = re.compile(rb"""^[ \t]*#[ \t]*include[ \t]+(?:["<]([^">\n]+)[">]|\w)""", re.MULTILINE)


def included(files: Iterable[Path], folders: Sequence[Path]) -> set[Path]:
    """Files and the headers of the folders that they include, under whatever conditions; all headers where a macro
    names one."""
    reached: set[Path] = set()
    left = list(files)
    while left:
        file = left.pop()
        if file in reached:
            continue
        reached.add(file)
        for name in _INCLUDE.findall(file.read_bytes()):
            if not name:
                return {*reached, *left, *(header for folder in folders for header in folder.rglob("*.h"))}
            left += filter(Path.is_file, (folder / name.decode() for folder in (file.parent, *folders)))
    return reached


def key(said: Sequence[str], files: Iterable[Path]) -> str:
    """A hash of the compiler's arguments and of the names and contents of what it may read."""
    state = hashlib.sha256("\0".join(said).encode())
    for file in sorted(files):
        data = file.read_bytes()
        state.update(f"\0{file.name}\0{len(data)}\0".encode())
        state.update(data)
    return state.hexdigest()


def fetch(key: str, output: Path, compile: Callable[[], object]) -> None:
    """Write the object to `output`: the one in the cache, or else what `compile` writes there, which is then kept."""
    kept = FOLDER / f"{key}.o"
    try:
        shutil.copyfile(kept, output)
    except OSError:
        compile()
        _keep(output, kept)
    else:
        with suppress(OSError):
            kept.touch()


def _keep(output: Path, kept: Path) -> None:
    """A disk that is full or read-only costs time, not the build."""
    with suppress(OSError):
        FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(kept, output.read_bytes())
        _forget()


def _forget() -> None:
    """Delete the objects that were used longest ago, where there are too many."""
    if sum(1 for _ in os.scandir(FOLDER)) > LIMIT:
        files = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(FOLDER))
        for _, path in files[: len(files) - KEPT]:
            Path(path).unlink(missing_ok=True)
