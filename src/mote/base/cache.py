"""The cache folder: results that cost time, by a digest of all that they depend on.

It is `~/.cache/mote`, or what `MOTE_CACHE` names. Entries appear whole or not at all, so that processes share it
without locks; those that were used longest ago are deleted when there are too many. Deleting all of it is safe.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mote.base.errors import MoteError
from mote.base.files import replace_file

VARIABLE = "MOTE_CACHE"
"""The variable of the environment that names the folder."""
OFF = "off"
"""Its value where models and plans are not kept."""
PLANS, MODELS, OBJECTS = PARTS = ("plans", "models", "objects")
"""Folders that `mote cache` counts and clears."""
MOST = 256 << 20
"""Bytes of all entries of a folder."""
LARGEST = 64 << 20
"""Bytes of an entry when it is read."""
LEFT = 0.75
"""Share of the bytes that is left after deleting."""
OTHERS = 0o022
"""Permissions by which other users write to a folder."""
DIGEST = sha256().digest_size


def root() -> Path:
    """The cache folder."""
    named = os.environ.get(VARIABLE, "")
    if named and named != OFF:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mote"


def is_off() -> bool:
    """Whether models and plans are not kept."""
    return os.environ.get(VARIABLE) == OFF


@dataclass(frozen=True)
class CacheFolder:
    """A folder of entries, of this user alone. An entry is compressed behind a digest of its key and its contents: a
    damaged one is none, nor is one of another key."""

    path: Path
    most: int = MOST

    def read(self, key: str) -> bytes | None:
        """The contents of an entry, if there is one."""
        path = self.path / key
        try:
            self._check()
            data = path.read_bytes()
            unpacking = zlib.decompressobj()
            contents = unpacking.decompress(data[DIGEST:], LARGEST)
        except (OSError, zlib.error):
            return None
        if not unpacking.eof or _digest(key, contents) != data[:DIGEST]:
            return None
        with suppress(OSError):
            path.touch()
        return contents

    def write(self, key: str, contents: bytes) -> None:
        """Keeps an entry. A disk that is full or read-only costs time, not the result."""
        data = _digest(key, contents) + zlib.compress(contents, 1)
        if len(contents) > LARGEST or len(data) > self.most:
            return
        with suppress(OSError):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check()
            replace_file(self.path / key, data, 0o600)
            self._shrink()

    def _check(self) -> None:
        """Refuses a folder that another user can write to: he would choose the results."""
        about = self.path.stat()
        if hasattr(os, "getuid") and (about.st_uid != os.getuid() or about.st_mode & OTHERS):
            raise MoteError(
                "can be written by other users, who would choose what Mote takes from it",
                where=f"cache folder {self.path}",
                remedy=f"delete it, or name another one: {VARIABLE}=FOLDER, or {VARIABLE}={OFF}",
            )

    def _shrink(self) -> None:
        """Deletes the entries that were used longest ago, where all of them take too many bytes."""
        entries = sorted(files_of(self.path))
        total = sum(entry.nbytes for entry in entries)
        for entry in entries if total > self.most else ():
            if total <= LEFT * self.most:
                break
            entry.path.unlink(missing_ok=True)
            total -= entry.nbytes


def _digest(key: str, contents: bytes) -> bytes:
    return sha256(key.encode() + b"\0" + contents).digest()


@dataclass(frozen=True, order=True)
class CachedFile:
    """A file of the cache, the one first that was used longest ago."""

    used: float
    path: Path
    nbytes: int


def files_of(folder: Path) -> Iterator[CachedFile]:
    """The files of a folder; none where there is no folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                about = entry.stat(follow_symlinks=False)
                yield CachedFile(about.st_mtime, Path(entry.path), about.st_size)


def clear(parts: Iterable[str] = PARTS) -> None:
    """Deletes what the cache folder holds."""
    for part in parts:
        for file in files_of(root() / part):
            with suppress(OSError):
                file.path.unlink()
