"""Atomic file writes: a failure or a kill leaves either the old contents or the new ones, and no file of the user's is
lost.

A folder of generated files has a manifest with their names and hashes. From it a later run knows which files it may
replace or delete; every other file in the folder is the user's.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import sys
import tarfile
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from glob import escape
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from mote.base.errors import MoteError
from mote.base.stopping import undisturbed
from mote.base.system import fcntl
from mote.base.text import printable

MANIFEST = "mote.sha256"
"""File name of the manifest of a generated folder; `sha256sum -c` reads it."""
ZIPPED, TAR = (".zip", ".pack"), ".tar"
"""Suffixes of archives; a CMSIS .pack is a zip file."""
NEW, MOVED, SPENT = "new", "moved", "spent"
"""Contents of the hidden folder next to a project that is being written: the new project, the old project between two
renames, and the old project after it was replaced."""
LONGEST = 50
"""Maximum characters of a file's name that its temporary name repeats: file systems allow 255 bytes."""
_HEAD = "# Files that Mote generated; `sha256sum -c` tells which were changed. Mote replaces them, and no others."
_LINE = re.compile(r"([0-9a-f]{64})  ((?!/)(?:(?!\.\.?/)[^/\0]+/)*(?!\.\.?$)[^/\0]+)")
"""A line of a manifest: the hash and the relative path of a file."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
_IMMOVABLE = {errno.EXDEV, errno.EBUSY}
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}
_EXCHANGE = {"linux": ("renameat2", 2), "darwin": ("renameatx_np", 2)}
"""Per platform: the C library's function that atomically exchanges two paths, and the flag that asks for it."""
_HERE = {"linux": -100, "darwin": -2}
"""Per platform: AT_FDCWD, the directory argument for paths relative to the current folder."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A temporary folder, deleted on exit in any case. A full disk is reported as a MoteError."""
    folder = None
    try:
        with undisturbed():
            folder = Path(mkdtemp(prefix="mote-"))
        yield folder
    except OSError as error:
        if folder is not None and error.errno not in _FULL:
            raise
        raise MoteError(
            f"cannot be written to ({_reason(error)})",
            where=f"temporary folder {folder.parent if folder else ''}".strip(),
            remedy="free some space, or name another folder with the environment variable TMPDIR",
        ) from None
    finally:
        if folder is not None:
            with undisturbed():
                shutil.rmtree(folder, ignore_errors=True)


def fill(folder: Path, texts: Mapping[str, str | bytes]) -> None:
    """Writes files into a folder that no other process uses."""
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            (folder / name).write_bytes(text)
        else:
            (folder / name).write_text(text, encoding="utf-8", newline="\n")


def read_file(path: str | Path, most: int = -1) -> bytes:
    """Reads a file that the user named: at most `most` bytes, or all of it."""
    try:
        with Path(path).open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise MoteError(f"cannot read the file ({_reason(error)})", where=printable(str(path))) from None
    except ValueError:  # a path with a zero byte in it
        raise MoteError("is no name of a file", where=printable(str(path))) from None


def is_file(path: str | Path) -> bool:
    """Whether a path names a file; False also for names that the system rejects, such as too long ones."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_of_another_user(path: Path, here: Path) -> bool:
    """Whether a file that was discovered, not named by the user, belongs to someone other than this user, root, and the
    owner of the current folder."""
    return hasattr(os, "getuid") and path.stat().st_uid not in (0, os.getuid(), here.stat().st_uid)


def check_place(path: str, *, folder: bool = False) -> None:
    """Refuses an output file or folder that cannot be written, before the work is done whose result it would hold."""
    if not path:
        return  # writing says which option is empty
    place = Path(path).resolve()
    try:
        if folder:
            _check_place(place, path)
            place = next(parent for parent in (place, *place.parents) if parent.exists()) / "new"
        elif place.exists() and not place.is_file() and not place.is_dir():
            return  # a device or a pipe
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        place.parent.stat()
        if not place.parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(place.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unwritable(error, path) from None


def check_new(path: str) -> None:
    """Refuses the name of a file that exists."""
    if os.path.lexists(path):
        raise MoteError("is there already, and would be lost", where=path, remedy="name another file, or move this one")


def write_secret(path: str, data: bytes) -> None:
    """Writes a new file that only its owner can read."""
    if not path:
        raise MoteError("the name of a file is empty", remedy="name the file that is to be written")
    check_new(path)
    try:
        replace_file(Path(path).resolve(), data, mode=0o600)
    except OSError as error:
        raise _unwritable(error, path) from None


def write_file(path: str, data: bytes, begins: bytes, at: int = 0) -> None:
    """Atomically writes a file that the user named. An existing file is replaced only if it is of the same kind: its
    bytes from `at` on are `begins`."""
    if not path:
        raise MoteError("the name of a file is empty", remedy="name the file that is to be written")
    there = Path(path)
    try:
        if there.exists() and not there.is_file() and not there.is_dir():
            there.write_bytes(data)  # a device or a pipe
            return
        head = _beginning(there, at + len(begins))
        if head and head[at:] != begins:
            raise MoteError(
                "is a file of another kind, and would be overwritten",
                where=path,
                remedy="name another file, or delete this one",
            )
        replace_file(there.resolve(), data)
    except OSError as error:
        raise _unwritable(error, path) from None


def _beginning(path: Path, count: int) -> bytes:
    """The first bytes of a file; none where there is no file."""
    try:
        with path.open("rb") as file:
            return file.read(count)
    except FileNotFoundError:
        return b""


def replace_file(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Writes a temporary file and renames it to `path`."""
    aside = _beside(path)
    try:
        with undisturbed(), open(aside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def edited(folder: str, name: str) -> str | None:
    """The text of a generated file that the user has edited, or of one that the user has written in its place; None if
    it is unchanged or missing."""
    path = Path(folder) / name
    if is_archive(folder) or not path.is_file():
        return None
    data = path.read_bytes()
    return None if _hash(data) == _read_manifest(Path(folder), force=True).get(name) else data.decode(errors="replace")


def is_archive(path: str) -> bool:
    """Whether a path has the suffix of an archive and is not an existing folder."""
    return Path(path).suffix.lower() in (*ZIPPED, TAR) and not Path(path).is_dir()


def write_archive(path: str, files: Mapping[str, str | bytes]) -> None:
    """Writes files as a zip or tar archive, by the suffix, replacing an existing one. Equal files give equal bytes."""
    data = BytesIO()
    contents = sorted((name, _data(text)) for name, text in files.items())
    if Path(path).suffix.lower() == TAR:
        with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, content in contents:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, BytesIO(content))
        write_file(path, data.getvalue(), b"ustar", 257)
        return
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        for name, content in contents:
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    write_file(path, data.getvalue(), b"PK\x03\x04")


def write_folder(
    folder: str, texts: Mapping[str, str | bytes], *, force: bool = False, once: Set[str] = frozenset()
) -> list[str]:
    """Writes generated files into a folder, replacing those of an earlier run; the user's files stay.

    If a file to write would overwrite a file of the user's, or a generated file that the user has edited, nothing is
    written, unless `force`: then the names of the overwritten files are returned. `once`: files for users to edit,
    which are kept once edited. The new folder is built next to the old one, with hard links to the user's files, and
    then replaces it in one step. Concurrent writers wait for each other.
    """
    if not folder:
        raise MoteError(
            "the name of the folder is empty", where="option output", remedy="name a folder for the project"
        )
    created: list[Path] = []
    try:
        place = Path(folder).resolve()
        _check_place(place, folder)
        created = [parent for parent in place.parents if not parent.exists()]
        place.parent.mkdir(parents=True, exist_ok=True)
        with _alone(place.parent):
            _tidy(place)
            own, lost, kept = _compare(place, texts, folder, force, once)
            texts = {name: text for name, text in texts.items() if name not in kept}
            _swap(place, {**texts, MANIFEST: _manifest(texts)}, own)
        return lost
    except OSError as error:
        raise _unwritable(error, folder) from None
    finally:
        with suppress(OSError):
            for parent in created:
                parent.rmdir()  # where nothing was written into it


def holds_files(folder: str, texts: Mapping[str, str | bytes], once: Set[str] = frozenset()) -> bool:
    """Whether a folder holds exactly the files `texts`, as `write_folder` wrote them; files in `once` may have been
    edited."""
    place = Path(folder)
    if any(not (place / name).is_file() or (place / name).is_symlink() for name in texts):
        return False
    kept = {name for name, text in texts.items() if (place / name).read_bytes() != _data(text)}
    known = {name: digest for name, digest in _read_manifest(place, force=True).items() if name not in kept}
    return kept <= once and known == {name: _hash(_data(text)) for name, text in texts.items() if name not in kept}


def _check_place(place: Path, folder: str) -> None:
    """Refuses a folder that cannot be replaced as a whole: a file, a mount point, the current folder or a parent of
    it."""
    here = Path.cwd()
    if place == here or place in here.parents or place.is_mount():
        what = "a mount point" if place.is_mount() else "the current folder, or has it inside"
        raise MoteError(
            f"is {what}, and cannot be replaced by a new one as a whole",
            where=folder,
            remedy=f"name a folder in it: {Path(folder) / 'model'}",
        )
    if place.exists() and not place.is_dir():
        raise MoteError("is a file", where=folder, remedy="name a folder for the project")


def _compare(
    place: Path, texts: Mapping[str, str | bytes], folder: str, force: bool, once: Set[str]
) -> tuple[set[str], list[str], set[str]]:
    """The files of an earlier run, the user's files that would be overwritten (an error unless `force`), and the edited
    files of `once`."""
    known = _read_manifest(place, force)
    own, lost, kept = {MANIFEST}, [], set()
    for name in sorted({*known, *texts}):
        path = place / name
        for parent in Path(name).parents[:-1]:
            if (place / parent).is_symlink() or (place / parent).is_file():
                reason = "is no folder, and Mote would write files into one"
                raise MoteError(reason, where=f"{folder}: {parent}", remedy="move it")
        if not os.path.lexists(path):
            continue
        if path.is_dir() and not path.is_symlink():
            raise MoteError(
                "is a folder, and Mote would write a file there", where=f"{folder}: {name}", remedy="move it"
            )
        digest = "" if path.is_symlink() else _hash(path.read_bytes())
        wanted = _hash(_data(texts[name])) if name in texts else None
        if digest not in (known.get(name), wanted) and name in once and not force:
            kept.add(name)
            continue
        if digest not in (known.get(name), wanted):
            lost.append((name, "was changed since Mote generated it" if name in known else "is not Mote's"))
        own.add(name)
    if lost and not force:
        raise MoteError(
            "; ".join(f"{name} {why}" for name, why in lost),
            where=folder,
            remedy="move what you want to keep, write to another folder, or overwrite it with --force",
        )
    return own, [name for name, _ in lost], kept


def _data(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _manifest(texts: Mapping[str, str | bytes]) -> str:
    return "\n".join([_HEAD, *(f"{_hash(_data(text))}  {name}" for name, text in sorted(texts.items())), ""])


def _read_manifest(place: Path, force: bool) -> dict[str, str]:
    """The hashes of generated files by name; empty if there is no manifest."""
    try:
        lines = (place / MANIFEST).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    matches = [_LINE.fullmatch(line) for line in lines if not line.startswith("#")]
    if not all(matches) and not force:
        raise MoteError(
            "is damaged: it does not tell which files Mote generated",
            where=str(place / MANIFEST),
            remedy="write to another folder, or overwrite with --force the files that have the names of generated ones",
        )
    return {match[2]: match[1] for match in matches if match}


def _swap(place: Path, texts: Mapping[str, str | bytes], own: Set[str]) -> None:
    """Builds the new folder, with everything of the old one that is not in `own`, and replaces the old one by it."""
    own = {*own, *texts}
    with _hidden(place) as aside:
        new = aside / NEW
        fill(new, texts)
        for name in texts:
            _sync(new / name)
        if place.exists():
            shutil.copymode(place, new)
            _carry(place, new, own)
        _sync(new)
        with undisturbed():
            old = _take_place(new, place)
            _sync(place.parent)
            if old is not None:
                _rescue(old, place, own)
                _remove(old, place)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lets one process at a time write projects into a folder, if the system can lock folders."""
    lock = None
    with suppress(OSError):
        lock = _lock(folder, wait=True)
    try:
        yield
    finally:
        _unlock(lock)


@contextmanager
def _hidden(place: Path) -> Iterator[Path]:
    """A new hidden folder next to a project. It is locked while this process lives: other processes delete unlocked
    ones."""
    aside, lock = None, None
    try:
        with undisturbed():
            aside, lock = _locked_beside(place)
        yield aside
    finally:
        with undisturbed(), suppress(OSError):
            if aside is not None:
                shutil.rmtree(aside / NEW, ignore_errors=True)
                aside.rmdir()
        _unlock(lock)


def _locked_beside(place: Path) -> tuple[Path, int | None]:
    """Creates a hidden folder next to a project and locks it; the lock is None on a file system without locks."""
    while True:
        aside = _beside(place)
        aside.mkdir()
        try:
            lock = _lock(aside)
        except OSError:
            return aside, None
        if lock is not None and aside.exists():
            return aside, lock
        _unlock(lock)  # another process has found it before it was locked


def _lock(folder: Path, *, wait: bool = False) -> int | None:
    """Locks a folder and returns the file descriptor that holds the lock; None if another process has it and `wait` is
    not set. Raises OSError if the system has no locks."""
    try:
        opened = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException as error:
        os.close(opened)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return opened


def _unlock(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def _carry(old: Path, new: Path, own: Set[str]) -> None:
    """Hard-links the user's files into the new folder; until the old folder is deleted they are in both."""
    for entry in os.scandir(old):
        if entry.name in own:
            continue
        inside = _inside(entry.name, own)
        if inside and entry.is_dir(follow_symlinks=False):
            if _has_other_files(Path(entry), inside):
                (new / entry.name).mkdir(exist_ok=True)
            _carry(Path(entry), new / entry.name, inside)
        elif entry.is_dir(follow_symlinks=False):
            shutil.copytree(entry, new / entry.name, symlinks=True, copy_function=_link)
        else:
            _link(entry.path, str(new / entry.name))


def _inside(folder: str, names: Set[str]) -> set[str]:
    """The names that are inside of a folder, relative to it."""
    return {name.removeprefix(f"{folder}/") for name in names if name.startswith(f"{folder}/")}


def _has_other_files(folder: Path, own: Set[str]) -> bool:
    """Whether a folder has files that are not in `own`."""
    return any(path.relative_to(folder).as_posix() not in own for path in folder.rglob("*") if not path.is_dir())


def _link(source: str, target: str) -> None:
    """Hard-link a file into a second folder; copy it where the file system has no hard links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except (OSError, NotImplementedError):
        shutil.copy2(source, target, follow_symlinks=False)


def _take_place(new: Path, place: Path) -> Path | None:
    """Replaces the old folder by the new one, and returns the path that the old one was moved to. Atomic if the system
    can exchange folders; if not, a kill between two renames leaves the place empty, which the next run repairs."""
    if not place.exists():
        new.rename(place)
        return None
    spent = new.rename(new.with_name(SPENT))
    try:
        if _exchange(spent, place):
            return spent
        old = place.rename(new.with_name(MOVED))
        try:
            spent.rename(place)
        except BaseException:
            old.rename(place)
            raise
        return old
    except BaseException:
        shutil.rmtree(spent, ignore_errors=True)  # the new folder still
        raise


def _exchange(one: Path, other: Path) -> bool:
    """Atomically exchanges two folders; False if the system cannot."""
    name, flag = _EXCHANGE.get(sys.platform, ("", 0))
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None) if name else None
    if function is None:
        return False
    here = _HERE[sys.platform]
    if function(here, os.fsencode(one), here, os.fsencode(other), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(other))


def _rescue(old: Path, new: Path, own: Set[str] = frozenset()) -> None:
    """Moves files to the new folder that someone wrote to the old one in the meantime."""
    for entry in os.scandir(old):
        other = new / entry.name
        inside, folder = _inside(entry.name, own), entry.is_dir(follow_symlinks=False)
        if inside and folder and _has_other_files(Path(entry), inside):
            other.mkdir(exist_ok=True)
        if entry.name not in own and not (inside and folder) and not os.path.lexists(other):
            Path(entry).rename(other)
        elif folder and other.is_dir():
            _rescue(Path(entry), other, inside)


def _remove(old: Path, place: Path) -> None:
    try:
        shutil.rmtree(old)
    except OSError as error:
        raise MoteError(
            f"is written, but what was there before cannot be deleted ({_reason(error)})",
            where=str(place),
            remedy=f"delete {old.parent}: all of yours that was there is in the new folder, too",
        ) from None


def _tidy(place: Path) -> None:
    """Cleans up after killed runs: restores a project that was moved away, and deletes their hidden folders, after
    moving out files that someone wrote to the old project."""
    for aside in sorted(place.parent.glob(f"{escape(_prefix(place))}*")):
        if not _is_hidden(aside, place):
            continue
        with suppress(OSError), undisturbed():
            lock = _lock(aside)
            if lock is None:
                continue
            try:
                if not place.exists() and (aside / MOVED).exists():
                    (aside / MOVED).rename(place)
                for old in (aside / MOVED, aside / SPENT):
                    if old.exists() and place.exists():
                        _rescue(old, place, {MANIFEST, *_read_manifest(old, force=True)})
                shutil.rmtree(aside, ignore_errors=True)
            finally:
                _unlock(lock)


def _is_hidden(aside: Path, place: Path) -> bool:
    """Whether a folder is the hidden folder of a run, by its name and contents."""
    if not re.fullmatch(f"{re.escape(_prefix(place))}[0-9a-f]{{8}}", aside.name) or aside.is_symlink():
        return False
    return aside.is_dir() and {entry.name for entry in os.scandir(aside)} <= {NEW, MOVED, SPENT}


def _prefix(path: Path) -> str:
    """The prefix of temporary names next to a path, unique to this path."""
    short = path.name if len(path.name) <= LONGEST else f"{path.name[:LONGEST]}-{_hash(path.name.encode())[:8]}"
    return f".{short}.mote-"


def _beside(path: Path) -> Path:
    """A random temporary name in the same folder, and so on the same file system."""
    return path.with_name(_prefix(path) + token_hex(4))


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()


def _sync(path: Path) -> None:
    """Flushes a file, or the entries of a folder, to the disk (fsync)."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _unwritable(error: OSError, where: str) -> MoteError:
    if error.errno in _IMMOVABLE:
        return MoteError(
            f"cannot be replaced as a whole ({_reason(error)})",
            where=where,
            remedy="write to a new folder: mount points, and folders of a container's image, cannot be moved",
        )
    return MoteError(f"cannot be written ({_reason(error)})", where=where)


def _reason(error: OSError) -> str:
    """The system's message for an error; shutil's own if it collects several."""
    return error.strerror or str(error)
