"""A pool of boards on a cluster gives what one board gives. `tests/deploy/boards/test_pool.py` has the rest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mote.deploy.boards.pool import board_pool
from mote.hardware.toolchain import Mode
from mote.optimize.search.pooled import on_pool, pool_execution
from tests.deploy.boards.emulated_board import board_model, inputs, needs
from tests.deploy.boards.pool_work import squared, squared_with_faults

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="emulated boards need pseudo-terminals")


@pytest.mark.slow
def test_a_cluster_takes_the_boards(tmp_path: Path, scheduler: str) -> None:
    with board_pool("2 x qemu:cortex-m4") as pool:
        done = list(on_pool(pool, squared, range(6), tmp_path, scheduler=scheduler))
    assert done == [(n, n * n) for n in range(6)]
    assert {path.name for path in tmp_path.iterdir()} <= {"on-qemu:cortex-m4#1", "on-qemu:cortex-m4#2"}


@pytest.mark.slow
def test_lost_boards_and_killed_workers_of_a_cluster_change_no_result(tmp_path: Path, scheduler: str) -> None:
    with board_pool("2 x qemu:cortex-m4") as pool:
        done = list(on_pool(pool, squared_with_faults, range(12), tmp_path, scheduler=scheduler))
    assert done == [(n, n * n) for n in range(12)]


@pytest.mark.slow
def test_a_cluster_runs_inferences(scheduler: str) -> None:
    needs("rv32imc")
    model = board_model("rv32imc")
    with board_pool("qemu:rv32imc") as alone, board_pool("2 x qemu:rv32imc") as pool:
        wanted = pool_execution(alone, model, Mode.DUMP, inputs(6), stateful=False)
        assert pool_execution(pool, model, Mode.DUMP, inputs(6), stateful=False, scheduler=scheduler) == wanted
