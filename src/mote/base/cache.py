"""On-disk cache of expensive results, keyed by a digest of everything that they depend on.

The folder is `~/.cache/mote`, or the one that `MOTE_CACHE` names. Entries are written atomically, so that processes
share it without locks; above a size limit the least recently used ones are deleted. Deleting the whole folder is safe.
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
"""Environment variable that names the cache folder."""
OFF = "off"
"""Value of `MOTE_CACHE` that turns the cache of models and plans off."""
PLANS, MODELS, OBJECTS = PARTS = ("plans", "models", "objects")
"""Subfolders of the cache that `mote cache` counts and clears."""
MOST = 256 << 20
"""Maximum bytes of all entries of a subfolder together."""
LARGEST = 64 << 20
"""Maximum bytes of an uncompressed entry."""
LEFT = 0.75
"""Fraction of the size limit that old entries are evicted down to."""
OTHERS = 0o022
"""Permission bits that let users other than the owner write to a folder."""
DIGEST = sha256().digest_size


def root() -> Path:
    """The path of the cache folder."""
    named = os.environ.get(VARIABLE, "")
    if named and named != OFF:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mote"


def is_off() -> bool:
    """Whether `MOTE_CACHE=off` turns the cache of models and plans off."""
    return os.environ.get(VARIABLE) == OFF


@dataclass(frozen=True)
class CacheFolder:
    """A folder of cache entries that only this user can write to. An entry is a digest of its key and contents
    followed by the compressed contents; one that is damaged or has another key counts as missing."""

    path: Path
    most: int = MOST

    def read(self, key: str) -> bytes | None:
        """The contents of an entry; None if it is missing or damaged."""
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
        """Writes an entry, unless it is too large; a full or read-only disk is ignored."""
        data = _digest(key, contents) + zlib.compress(contents, 1)
        if len(contents) > LARGEST or len(data) > self.most:
            return
        with suppress(OSError):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check()
            replace_file(self.path / key, data, 0o600)
            self._shrink()

    def _check(self) -> None:
        """Refuses a folder that other users can write to, as they could inject results."""
        about = self.path.stat()
        if hasattr(os, "getuid") and (about.st_uid != os.getuid() or about.st_mode & OTHERS):
            raise MoteError(
                "can be written by other users, who would choose what Mote takes from it",
                where=f"cache folder {self.path}",
                remedy=f"delete it, or name another one: {VARIABLE}=FOLDER, or {VARIABLE}={OFF}",
            )

    def _shrink(self) -> None:
        """Evicts the least recently used entries if the total size exceeds the limit."""
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
    """A file of the cache; sorts by the time of its last use, oldest first."""

    used: float
    path: Path
    nbytes: int


def files_of(folder: Path) -> Iterator[CachedFile]:
    """The files of a folder; none if the folder does not exist."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                about = entry.stat(follow_symlinks=False)
                yield CachedFile(about.st_mtime, Path(entry.path), about.st_size)


def clear(parts: Iterable[str] = PARTS) -> None:
    """Deletes all entries of the given subfolders of the cache."""
    for part in parts:
        for file in files_of(root() / part):
            with suppress(OSError):
                file.path.unlink()
