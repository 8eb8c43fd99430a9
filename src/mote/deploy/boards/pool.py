"""Board pools: every evaluation takes a free board, in any process, and retries on another one if its board is lost.

A pool is data sent to workers. Locks tell which boards are free, and a file per board records losses and interruptions,
so that workers coordinate without a server."""

from __future__ import annotations

import json
import random
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from mote.base.documents import parse_json
from mote.base.errors import MoteError
from mote.base.files import replace_file
from mote.deploy.boards.address import LineKind
from mote.deploy.boards.agent.exchange import LostBoardError
from mote.deploy.boards.boards_file import BoardEntry, BoardsFile, boards_file
from mote.deploy.boards.interruption import Interruption
from mote.deploy.boards.locks import BusyError, folder, owned
from mote.deploy.boards.placing import reset_board

TRIES = 4
"""Maximum number of boards that one evaluation may lose."""
MOST_LOST = 3
"""Consecutive losses after which a board is excluded."""
PAUSE_S = 0.02
MOST_KEPT = 1000
"""Maximum number of recorded interruptions per board."""
Value = TypeVar("Value")
Function = Callable[[Any, BoardEntry, Any], Any]
"""Evaluated function of (shared data, board, item); a top-level function."""


@dataclass(frozen=True)
class BoardPool:
    """A pool of boards for parallel evaluations. Boards on other hosts are left to the workers there: a serial port is
    used where it exists."""

    boards: tuple[BoardEntry, ...]
    token: str
    """Name of the pool, common to all of its processes."""
    wait_s: float = 3600.0
    """Seconds to wait for a free board."""

    @property
    def size(self) -> int:
        return len(self.boards)

    @property
    def workers(self) -> int:
        """Number of worker processes to use all boards; 0 if this process suffices."""
        return 0 if self.size == 1 else self.size

    def evaluate(self, function: Callable[[BoardEntry], Value]) -> Value:
        """Evaluates a function on the first free board. If the board is lost, it is reset by its hook and the function
        is retried on another one."""
        avoided: list[str] = []
        while True:
            with self.taken(avoided) as board:
                try:
                    value = function(board)
                except LostBoardError as error:
                    avoided.append(board.label)
                    self._lost(board, error)
                    if len(avoided) >= TRIES:
                        raise
                else:
                    self._record(board, replace(self._read(board), lost=0))
                    return value

    def note(self, board: BoardEntry, interruptions: Sequence[Interruption]) -> None:
        """Records interruptions of a board that was used in `evaluate`."""
        record = self._read(board)
        self._record(board, replace(record, interruptions=(*record.interruptions, *interruptions)[-MOST_KEPT:]))

    def interruptions(self) -> tuple[Interruption, ...]:
        """Recorded resets and losses of all boards."""
        return tuple(each for board in self.boards for each in self._read(board).interruptions)

    @contextmanager
    def taken(self, avoided: Sequence[str] = ()) -> Iterator[BoardEntry]:
        """Context manager: locks a free board, preferably none to be avoided."""
        until = time.monotonic() + self.wait_s
        while True:
            usable = self._usable()
            chosen = [board for board in usable if board.label not in avoided] or usable
            for board in random.sample(chosen, len(chosen)):
                with ExitStack() as held:
                    try:
                        held.enter_context(owned(board, pool=self.token))
                    except BusyError:
                        continue
                    yield board
                    return
            if time.monotonic() >= until:
                raise BusyError(
                    f"no board of the pool was free for {self.wait_s:g} s",
                    where=", ".join(board.label for board in self.boards),
                    remedy="end what uses them, or name more boards",
                )
            time.sleep(PAUSE_S)

    def job(self, function: Function) -> PoolJob:
        """Wraps a function for `search.Runner.run`: (shared data, item) on a board of the pool."""
        return PoolJob(self, function)

    def left_out(self) -> dict[str, str]:
        """Boards excluded for repeated losses, with reasons."""
        records = {board.label: self._read(board) for board in self.boards}
        return {label: r.interruptions[-1].reason for label, r in records.items() if r.lost >= MOST_LOST}

    def close(self) -> None:
        """Deletes the records of the pool."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _usable(self) -> list[BoardEntry]:
        """Boards reachable from this host and not excluded."""
        out = self.left_out()
        here = [board for board in self.boards if _is_here(board)]
        usable = [board for board in here if board.label not in out]
        if not usable:
            reasons = [f"{label}: {reason}" for label, reason in out.items()]
            reasons += [f"{board.label}: is not connected here" for board in self.boards if board not in here]
            raise MoteError(
                "no board of the pool is left:\n  " + "\n  ".join(reasons),
                remedy="check them with `mote board info`; a `reset` in boards.toml lets Mote reset boards that hang",
            )
        return usable

    def _lost(self, board: BoardEntry, error: MoteError) -> None:
        record = self._read(board)
        loss = Interruption(error.reason, "its piece of work, on another board or on it again", board.label)
        self._record(board, _BoardRecord(record.lost + 1, (*record.interruptions, loss)[-MOST_KEPT:]))
        if board.reset:
            with suppress(MoteError):
                reset_board(board)

    @property
    def _folder(self) -> Path:
        return folder() / f"pool-{self.token}"

    def _file(self, board: BoardEntry) -> Path:
        return self._folder / f"{self.boards.index(board)}.json"

    def _read(self, board: BoardEntry) -> _BoardRecord:
        try:
            lost, *told = parse_json(self._file(board).read_bytes())
            return _BoardRecord(
                int(lost), tuple(Interruption(str(reason), str(again), board.label) for reason, again in told)
            )
        except (OSError, ValueError, TypeError):
            return _BoardRecord()

    def _record(self, board: BoardEntry, record: _BoardRecord) -> None:
        """Record file of a board, written only by its lock owner."""
        if record != self._read(board):
            self._folder.mkdir(exist_ok=True)
            told = [record.lost, *((each.reason, each.repeated) for each in record.interruptions)]
            replace_file(self._file(board), json.dumps(told).encode())


@dataclass(frozen=True)
class _BoardRecord:
    """Record about a board, shared between workers."""

    lost: int = 0
    """Consecutive losses."""
    interruptions: tuple[Interruption, ...] = ()


@dataclass(frozen=True)
class PoolJob:
    """Picklable function of (shared data, item) that takes a board of a pool for each call."""

    pool: BoardPool
    function: Function

    @property
    def __wrapped__(self) -> Function:
        return self.function

    def __call__(self, shared: Any, item: Any) -> Any:
        return self.pool.evaluate(lambda board: self.function(shared, board, item))


@contextmanager
def board_pool(boards: str | BoardPool, file: BoardsFile | str | None = None) -> Iterator[BoardPool]:
    """A pool of the boards in a text such as "rack" or "desk, 4 x qemu:cortex-m4"."""
    if isinstance(boards, BoardPool):
        yield boards
        return
    entries = (file if isinstance(file, BoardsFile) else boards_file(file)).resolve(boards)
    pool = BoardPool(entries, secrets.token_hex(8))
    try:
        yield pool
    finally:
        pool.close()


def _is_here(board: BoardEntry) -> bool:
    return board.address.kind is not LineKind.SERIAL or Path(board.address.place).exists()
