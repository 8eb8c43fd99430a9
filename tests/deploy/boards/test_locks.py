"""A board has one owner at a time, across processes, and is free when its owner dies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from mote.deploy.boards.boards_file import BoardsFile
from mote.deploy.boards.locks import BusyError, lock_path, owned

HOLD = """
import sys
from mote.deploy.boards.boards_file import BoardsFile
from mote.deploy.boards.locks import owned
with owned(BoardsFile().board(sys.argv[1])):
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_another_process_owns_the_board(tmp_path: Path) -> None:
    port, link = tmp_path / "tty", tmp_path / "link"
    port.touch()
    link.symlink_to(port)
    board, other_name = (BoardsFile().board(f"serial:{path}") for path in (port, link))
    assert lock_path(board) == lock_path(other_name)
    command = [sys.executable, "-c", HOLD, str(board.address)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "mine\n"
        with pytest.raises(BusyError, match=f"is in use by process {process.pid}"), owned(other_name):
            pass
        process.kill()
    with owned(board, wait_s=5.0):
        pass


def test_copies_of_an_emulated_board_belong_to_their_pool() -> None:
    first, second = BoardsFile().resolve("2 x qemu:cortex-m4")
    assert len({lock_path(board, pool) for board in (first, second) for pool in ("a", "b")}) == 4
    with owned(first), owned(first), owned(first, pool="a"), owned(second, pool="a"):
        pass


def test_an_owner_may_own_its_board_again(tmp_path: Path) -> None:
    board = BoardsFile().board(f"serial:{tmp_path}/tty")
    with owned(board), owned(board):
        pass

    def tried() -> None:
        with pytest.raises(BusyError), owned(board):
            pass

    with owned(board):
        thread = Thread(target=tried)
        thread.start()
        thread.join()
