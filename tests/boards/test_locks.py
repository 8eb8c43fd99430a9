"""A board has one owner at a time, across processes, and is free when its owner dies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mote.boards.boards_file import BoardsFile
from mote.boards.locks import BusyError, lock_path, owned

HOLD = """
import sys
from mote.boards.boards_file import BoardsFile
from mote.boards.locks import owned
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


def test_copies_of_an_emulated_board_are_several() -> None:
    first, second = BoardsFile().resolve("2 x qemu:cortex-m4")
    with owned(first), owned(second), pytest.raises(BusyError), owned(first):
        pass
    alone = BoardsFile().board("qemu:cortex-m4")
    with owned(alone), owned(alone):
        pass
