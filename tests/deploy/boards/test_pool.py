"""Pools: results do not depend on who ran them, on boards that are lost, nor on workers that die."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.deploy.boards.boards_file import BoardsFile, read_boards
from mote.deploy.boards.interruption import Interruption
from mote.deploy.boards.locks import BusyError
from mote.deploy.boards.pool import MOST_LOST, BoardPool, board_pool
from mote.hardware.toolchain import Mode
from mote.optimize.search.pooled import on_pool, pool_execution
from tests.deploy.boards.emulated_board import board_model, inputs, needs
from tests.deploy.boards.pool_work import refused, squared, squared_but_on_first, squared_with_faults

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals")
WANTED = [(n, n * n) for n in range(12)]


def boards_of(folder: Path, text: str) -> BoardsFile:
    path = folder / "boards.toml"
    path.write_text(text, encoding="utf-8")
    return read_boards(path)


@pytest.mark.slow
def test_items_in_their_order_on_all_boards(tmp_path: Path) -> None:
    with board_pool("3 x qemu:cortex-m4") as pool:
        assert list(on_pool(pool, squared, range(12), tmp_path)) == WANTED


def test_one_board_needs_no_workers(tmp_path: Path) -> None:
    with board_pool("qemu:virt") as pool:
        assert list(on_pool(pool, squared, range(12), tmp_path)) == WANTED
    assert (tmp_path / "on-qemu:virt").exists()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_lost_boards_and_killed_workers_change_no_result(tmp_path: Path, workers: int) -> None:
    with board_pool("2 x qemu:cortex-m4") as pool:
        assert list(on_pool(pool, squared_with_faults, range(12), tmp_path, workers=workers)) == WANTED
    assert {path.name for path in tmp_path.iterdir()} == {"lost-1", "lost-5", "lost-9", "killed"}


def test_a_board_that_is_lost_too_often_is_left_out(tmp_path: Path) -> None:
    file = boards_of(
        tmp_path,
        f"[boards.bad]\naddress = 'tcp:bad.invalid:1'\nreset = ['touch', '{tmp_path}/reset']\n"
        "[boards.good]\naddress = 'tcp:good.invalid:1'\n",
    )
    with board_pool("bad, good", file) as pool:
        job = pool.job(squared_but_on_first)
        assert [job(tmp_path, n) for n in range(60)] == [n * n for n in range(60)]
        assert pool.left_out() == {"bad": "the board does not answer"}
        again = "its piece of work, on another board or on it again"
        assert list(pool.interruptions()) == [Interruption("the board does not answer", again, "bad")] * MOST_LOST
        assert (tmp_path / "reset").exists()
    with board_pool("bad", file) as alone, pytest.raises(MoteError, match="no board of the pool is left"):
        list(on_pool(alone, squared_but_on_first, range(1), tmp_path))


def test_interruptions_of_all_boards_are_told() -> None:
    """Also of those that were survived, which workers note for the process that waits for them."""
    with board_pool("2 x qemu:cortex-m4") as pool:
        told = Interruption("the board was reset", "3 inferences", "qemu:cortex-m4#2")
        pool.note(pool.boards[1], [told, told])
        assert pool.evaluate(lambda board: board.label)
        assert pool.interruptions() == (told, told)
        assert not pool.left_out()


def test_a_pool_without_boards_says_why(tmp_path: Path) -> None:
    file = boards_of(tmp_path, f"[boards.gone]\naddress = 'serial:{tmp_path}/tty'\n[boards.bad]\naddress = 'tcp:b:1'\n")
    with board_pool("gone, bad", file) as pool:
        for _ in range(MOST_LOST):
            with pool.taken() as board:
                assert board.label == "bad"
                pool._lost(board, MoteError("it is dead"))
        with pytest.raises(MoteError, match="no board of the pool is left:\n  bad: it is dead\n  gone: is not conn"):
            pool.job(squared)(tmp_path, 1)


def test_errors_of_the_work_are_no_faults_of_boards(tmp_path: Path) -> None:
    with board_pool("2 x qemu:cortex-m4") as pool:
        with pytest.raises(MoteError, match="the model failed"):
            pool.job(refused)(tmp_path, 1)
        assert not pool.left_out()


def test_boards_that_others_own_are_waited_for() -> None:
    with board_pool("2 x qemu:cortex-m4") as pool, pool.taken() as first:
        impatient = BoardPool(pool.boards, pool.token, wait_s=0.1)
        with impatient.taken() as second:
            assert {first.label, second.label} == {board.label for board in pool.boards}
        others = [board for board in pool.boards if board.label != first.label]
        assert len(others) == 1
    with board_pool("2 x qemu:cortex-m4") as one, board_pool("2 x qemu:cortex-m4") as another:
        assert one.token != another.token


def test_a_busy_pool_is_an_error(tmp_path: Path) -> None:
    """Another process has the only board."""
    import subprocess

    tty = tmp_path / "tty"
    tty.touch()
    file = boards_of(tmp_path, f"[boards.a]\naddress = 'serial:{tty}'\n")
    code = "import sys\nfrom mote.deploy.boards.boards_file import BoardsFile\n"
    code += "from mote.deploy.boards.locks import owned\n"
    code += "with owned(BoardsFile().board(sys.argv[1])):\n    print('mine', flush=True)\n    sys.stdin.read()\n"
    command = [sys.executable, "-c", code, f"serial:{tty}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        with board_pool("a", file) as pool:
            impatient = BoardPool(pool.boards, pool.token, wait_s=0.1)
            with pytest.raises(BusyError, match="no board of the pool was free"), impatient.taken():
                pass
        process.kill()


def test_inferences_are_split_among_emulated_boards() -> None:
    needs("cortex-m4")
    model = board_model("cortex-m4")
    with board_pool("qemu:cortex-m4") as alone:
        wanted = pool_execution(alone, model, Mode.PROFILE, inputs(5), stateful=False)
        together = pool_execution(alone, model, Mode.PROFILE, inputs(5), stateful=True)
    assert wanted.outputs == together.outputs
    assert wanted.instructions is not None
    assert together.instructions == pytest.approx(wanted.instructions, abs=2)  # a timer's ticks are read
    assert wanted.steps is not None and len(wanted.steps) == 5


@pytest.mark.slow
def test_inferences_are_split_among_processes() -> None:
    needs("cortex-m4")
    model = board_model("cortex-m4")
    with board_pool("qemu:cortex-m4") as alone, board_pool("2 x qemu:cortex-m4") as pool:
        wanted = pool_execution(alone, model, Mode.DUMP, inputs(9), stateful=False)
        assert pool_execution(pool, model, Mode.DUMP, inputs(9), stateful=False) == wanted
