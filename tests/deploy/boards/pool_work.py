"""Functions of boards for workers, which import little."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from mote.base.errors import MoteError
from mote.deploy.boards.agent.exchange import LostBoardError
from mote.deploy.boards.boards_file import BoardEntry


def once(folder: Path, what: str) -> bool:
    """Whether this happens for the first time, in any process."""
    try:
        (folder / what).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def squared(folder: Path, board: BoardEntry, item: int) -> int:
    (folder / f"on-{board.label}").touch()
    return item * item


def squared_with_faults(folder: Path, board: BoardEntry, item: int) -> int:
    """The square of an item; some boards are lost on the way, and one worker is killed."""
    if item % 4 == 1 and once(folder, f"lost-{item}"):
        raise LostBoardError("the board does not answer", where=board.label)
    if item == 7 and once(folder, "killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def squared_but_on_first(folder: Path, board: BoardEntry, item: int) -> int:
    if board.label == "bad":
        raise LostBoardError("the board does not answer", where=board.label)
    return item * item


def refused(folder: Path, board: BoardEntry, item: int) -> int:
    raise MoteError("the model failed", where=board.label)
