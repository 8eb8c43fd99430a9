"""Object cache of builds: equal compiler, options and texts give the same object.

The cache is a folder of files named by a hash of all inputs. Files are created atomically, so processes can share it
without locks; the oldest are deleted when there are too many. Deleting the folder is safe."""

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
"""Maximum number of files; an object of a model is a few dozen kilobytes."""
KEPT = 3000
"""Number of files kept after cleaning up."""


_INCLUDE = re.compile(rb"""^[ \t]*#[ \t]*include[ \t]+(?:["<]([^">\n]+)[">]|\w)""", re.MULTILINE)


def included(files: Iterable[Path], folders: Sequence[Path]) -> set[Path]:
    """Files and the headers that they include, under any condition; all headers if an include uses a macro."""
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
    """Hash of the compiler's arguments and of names and contents of all readable files."""
    state = hashlib.sha256("\0".join(said).encode())
    for file in sorted(files):
        data = file.read_bytes()
        state.update(f"\0{file.name}\0{len(data)}\0".encode())
        state.update(data)
    return state.hexdigest()


def fetch(key: str, output: Path, compile: Callable[[], object]) -> None:
    """Writes an object to `output`: the cached one, or what `compile` creates, which is then cached."""
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
    """Stores a file in the cache; failures (disk full or read-only) are ignored."""
    with suppress(OSError):
        FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(kept, output.read_bytes())
        _forget()


def _forget() -> None:
    """Deletes the least recently used objects if there are too many."""
    if sum(1 for _ in os.scandir(FOLDER)) > LIMIT:
        files = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(FOLDER))
        for _, path in files[: len(files) - KEPT]:
            Path(path).unlink(missing_ok=True)
