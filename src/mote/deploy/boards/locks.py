"""File locks for exclusive use of boards; the system releases them when a process ends."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from threading import local

from mote.base.errors import MoteError
from mote.base.system import fcntl
from mote.base.text import printable
from mote.deploy.boards.address import LineKind
from mote.deploy.boards.boards_file import BoardEntry

if sys.platform == "win32":
    import msvcrt

PAUSE_S = 0.05
_OWNER_BYTES = 200


class _Held(local):
    """Locks held by this thread, which it may acquire again."""

    def __init__(self) -> None:
        self.paths: set[Path] = set()


_HELD = _Held()


class BusyError(MoteError):
    """Raised if the board is in use."""


def folder() -> Path:
    """Folder of the locks, shared by all users of the host."""
    place = Path(gettempdir()) / "mote-boards"
    place.mkdir(mode=0o777, exist_ok=True)
    with suppress(OSError):  # another user made it
        place.chmod(0o1777)
    return place


def lock_path(board: BoardEntry, pool: str = "") -> Path:
    """Lock file of a board: all names of one serial port share it; copies of an emulated board belong to their pool."""
    address = board.address
    place = os.path.realpath(address.place) if address.kind is LineKind.SERIAL else f"{address.place}:{address.port}"
    key = f"{address.kind}:{place}" + (f"#{board.label}#{pool}" if address.is_emulated else "")
    return folder() / f"{sha256(key.encode()).hexdigest()[:24]}.lock"


@contextmanager
def owned(board: BoardEntry, wait_s: float = 0.0, *, pool: str = "") -> Iterator[None]:
    """Context manager that locks a board; waits for it and reports its owner on timeout. A thread may lock a board
    again, but not as another board of a pool. An emulated board outside of pools is started anew by each user."""
    path = lock_path(board, pool)
    if (path in _HELD.paths and not pool) or (board.address.is_emulated and not pool):
        yield
        return
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        raise MoteError(f"the lock of {board.label} cannot be opened ({error.strerror})", where=str(path)) from None
    try:
        with suppress(OSError):
            path.chmod(0o666)
        until = time.monotonic() + wait_s
        while not _locked(file):
            if time.monotonic() >= until:
                raise BusyError(
                    f"is in use by {_owner(file)}", where=f"board {board.label}", remedy="wait for it, or end it"
                )
            time.sleep(PAUSE_S)
        if sys.platform != "win32":
            os.ftruncate(file, 0)
            os.pwrite(file, f"process {os.getpid()}".encode(), 0)
        _HELD.paths.add(path)
        yield
    finally:
        _HELD.paths.discard(path)
        os.close(file)


def _locked(file: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            return False
        raise MoteError(f"files cannot be locked, and so no board be owned ({error.strerror})") from None
    return True


def _owner(file: int) -> str:
    with suppress(OSError):
        os.lseek(file, 0, os.SEEK_SET)
        return printable(os.read(file, _OWNER_BYTES).decode(errors="replace")) or "another process"
    return "another process"
