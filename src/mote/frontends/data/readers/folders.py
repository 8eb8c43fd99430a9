"""Files in a folder, or in an archive as if it were one: the class of a file is the folder that it lies in."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from zipfile import BadZipFile, ZipFile, ZipInfo

from mote.base.errors import MoteError, TooLargeError
from mote.base.text import printable

MOST_FILES = 1_000_000
LARGEST_FILE = 1 << 28
"""Bytes of one file."""
_UNPACKED = (EOFError, BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError, UnicodeError)
"""The exceptions that zipfile raises for invalid archives."""


@dataclass(frozen=True)
class File:
    """A file: its name from the folder on, and how to get what is in it."""

    name: PurePosixPath
    read: Callable[[], bytes]

    @property
    def folder(self) -> str:
        """The folder that it lies in; nothing where it lies in none."""
        return self.name.parts[-2] if len(self.name.parts) > 1 else ""


def address(where: str) -> tuple[Path, str]:
    """A file or folder, and a folder in it where it is an archive: `a.zip/test` and `a.zip:test` are the folder `test`
    of `a.zip`."""
    path = Path(where)
    if path.exists():
        return path, ""
    before, colon, inside = where.rpartition(":")
    if colon and Path(before).is_file():
        return Path(before), inside.strip("/")
    for parent in path.parents:
        if parent.is_file():
            return parent, path.relative_to(parent).as_posix()
    raise MoteError("there is no such file or folder", where=where, remedy="name data that is there")


@contextmanager
def opened(path: Path, inside: str, where: str) -> Iterator[list[File]]:
    """The files of a folder or an archive, by name in order; those whose names begin with a dot are left out."""
    if path.is_dir():
        with _reading(where):
            files = [_on_disk(path, file) for file in _walk(path, where)]
        yield _chosen(files, where)
        return
    with _reading(where):
        archive = ZipFile(path)
    with archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        yield _chosen(_within([_in_archive(archive, info, where) for info in infos], inside, where), where)


@contextmanager
def _reading(where: str) -> Iterator[None]:
    """Turn errors of the operating system or of an archive into a MoteError that names this file."""
    try:
        yield
    except OSError as error:
        raise MoteError(f"cannot be read ({error.strerror or error})", where=where, remedy="look at the file") from None
    except _UNPACKED as error:
        raise MoteError(f"is no whole archive ({error})", where=where, remedy="save or copy it again") from None


def _walk(folder: Path, where: str) -> list[Path]:
    files = []
    for file in folder.rglob("*"):
        if file.is_file():
            files.append(file)
        if len(files) > MOST_FILES:
            raise _too_many(where)
    return files


def read_whole(file: Path) -> bytes:
    """The contents of a file that is not too large."""
    with _reading(str(file)):
        _check_size(file.stat().st_size, str(file))
        return file.read_bytes()


def _on_disk(folder: Path, file: Path) -> File:
    return File(PurePosixPath(file.relative_to(folder).as_posix()), partial(read_whole, file))


def _in_archive(archive: ZipFile, info: ZipInfo, where: str) -> File:
    name = PurePosixPath(info.filename)
    if name.is_absolute() or ".." in name.parts or "\\" in info.filename or not name.parts:
        raise MoteError(
            f"has a file called '{printable(info.filename)}', which leads out of it",
            where=where,
            remedy="trust no such archive",
        )

    def read() -> bytes:
        _check_size(info.file_size, f"{where}: {printable(str(name))}")
        with _reading(f"{where}: {printable(str(name))}"):
            return archive.read(info)

    return File(name, read)


def _within(files: Sequence[File], inside: str, where: str) -> list[File]:
    """Files below a folder of an archive, named relative to it."""
    if not inside:
        return list(files)
    base = PurePosixPath(inside)
    below = [File(file.name.relative_to(base), file.read) for file in files if base in file.name.parents]
    if not below:
        tops = sorted({file.name.parts[0] for file in files if len(file.name.parts) > 1})
        raise MoteError(
            f"the archive has no folder '{inside}'; it has {', '.join(tops[:20]) or 'none'}",
            where=where,
            remedy="name a folder that is in it",
        )
    return below


def _chosen(files: Sequence[File], where: str) -> list[File]:
    if len(files) > MOST_FILES:
        raise _too_many(where)
    seen = [file for file in files if not any(part.startswith((".", "__MACOSX")) for part in file.name.parts)]
    return sorted(seen, key=lambda file: file.name.parts)


def _check_size(size: int, where: str) -> None:
    if size > LARGEST_FILE:
        raise TooLargeError(
            f"has {size:,} bytes, more than the {LARGEST_FILE:,} of a sample", where=where, remedy="cut it into pieces"
        )


def _too_many(where: str) -> MoteError:
    return TooLargeError(f"has more than {MOST_FILES:,} files", where=where, remedy="name a folder with fewer")
