"""Evaluates items on a pool of boards, from worker processes or a cluster, one evaluation per board at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from mote.base.files import temporary_folder
from mote.deploy.boards.agent.exchange import BoardPatience
from mote.deploy.boards.boards_file import BoardEntry
from mote.deploy.boards.execution import board_execution
from mote.deploy.boards.placing import BoardModel, opened
from mote.deploy.boards.pool import BoardPool, Function
from mote.hardware.toolchain import Execution, Mode
from mote.optimize.search.runner import run

Item = TypeVar("Item")
CHUNKS_A_BOARD = 4
"""Chunks of work per board: a lost chunk costs little, and boards finish about together."""


def on_pool(
    pool: BoardPool,
    function: Function,
    items: Iterable[Item],
    shared: Any = None,
    *,
    scheduler: str = "",
    workers: int = 0,
    journal: str | Path | None = None,
    key: Callable[[Item], str] | None = None,
    name: Callable[[Item], str] = str,
) -> Iterator[tuple[Item, Any]]:
    """Yields each item with `function(shared, board, item)`, in item order.

    `workers`: number of processes; 0: one per board, or this process for a single board. With a Dask `scheduler`, its
    workers use the boards connected to their hosts."""
    count = workers or (0 if scheduler else pool.workers)
    job = pool.job(function)
    return run(job, items, shared, scheduler=scheduler, workers=count, journal=journal, key=key, name=name)


def pool_execution(
    pool: BoardPool,
    model: BoardModel,
    mode: Mode,
    inputs: Sequence[Sequence[bytes]],
    *,
    stateful: bool = True,
    patience: BoardPatience | None = None,
    scheduler: str = "",
    workers: int = 0,
) -> Execution:
    """Runs inferences split into chunks among the boards of a pool; a model with states runs as one chunk."""
    pieces = 1 if stateful else min(len(inputs), CHUNKS_A_BOARD * pool.size) or 1
    bounds = [len(inputs) * i // pieces for i in range(pieces + 1)]
    chunks = [inputs[a:b] for a, b in pairwise(bounds)]
    shared = (model, mode, stateful, patience)
    done = on_pool(
        pool,
        _run_chunk,
        range(len(chunks)),
        (shared, chunks),
        scheduler=scheduler,
        workers=workers,
        name=lambda number: f"piece {number + 1} of {pieces}",
    )
    return _joined([execution for _, execution in done])


def _run_chunk(shared: Any, board: BoardEntry, number: int) -> Execution:
    (model, mode, stateful, patience), chunks = shared
    with temporary_folder() as folder, opened(board, model, folder=folder, patience=patience) as there:
        return board_execution(there.session, mode, chunks[number], stateful=stateful)


def _joined(parts: Sequence[Execution]) -> Execution:
    """Concatenates the executions of chunks."""
    instructions = [part.instructions for part in parts]
    steps = [part.steps for part in parts]
    stacks = [part.stack for part in parts if part.stack is not None]
    return Execution(
        [outputs for part in parts for outputs in part.outputs],
        [dump for part in parts for dump in part.dumps],
        None if None in instructions else [count for each in instructions for count in each or ()],
        None if None in steps else [row for each in steps for row in each or ()],
        max(stacks, default=None),
    )
