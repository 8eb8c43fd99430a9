"""Evaluates items in worker processes on this host."""

from __future__ import annotations

import pickle
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from mote.base.errors import MoteError
from mote.base.stopping import StoppedError, stopping
from mote.base.system import multiprocessing
from mote.optimize.search.work import TRIES, Function, Outcome, Outcomes, died, packed, perform

PATIENCE = 10.0
"""Seconds for a worker to clean up after it was asked to stop."""


@dataclass
class _Worker:
    process: multiprocessing.context.SpawnProcess
    pipe: multiprocessing.connection.Connection
    item: int | None = None
    """Index of its current item; None if idle."""
    ready: bool = False
    """Whether it has received the shared data."""


class Processes:
    """Executes evaluations in worker processes, spawned rather than forked, so that they share no threads or locks."""

    def __init__(self, shared: Any, count: int) -> None:
        self.capacity = count
        self._shared = packed("what is searched", shared)
        self._workers: list[_Worker] = []

    def outcomes(self, function: Function, items: Sequence[Any], names: Sequence[str]) -> Outcomes:
        waiting = deque((i, packed(names[i], (function, item))) for i, item in enumerate(items))
        sent = dict(waiting)
        deaths = Counter[int]()
        try:
            while waiting or self._busy:
                self._hand_out(waiting)
                for worker in self._responding():
                    number, outcome = worker.item, _received(worker.pipe)
                    assert number is not None
                    if not worker.ready:
                        worker.ready = _is_ready(outcome)
                    elif outcome is not None:
                        worker.item = None
                        yield number, outcome
                    else:
                        self._stop(worker)
                        deaths[number] += 1
                        if deaths[number] == TRIES:
                            yield number, Outcome(error=died(names[number]))
                        else:
                            waiting.appendleft((number, sent[number]))
        finally:
            for worker in self._busy:  # at what nobody waits for any more
                self._stop(worker)

    def close(self) -> None:
        for worker in self._workers:
            worker.process.terminate()
        for worker in list(self._workers):
            self._stop(worker)

    @property
    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.item is not None]

    def _hand_out(self, waiting: deque[tuple[int, bytes]]) -> None:
        """Sends an item to every idle worker, and starts workers while there are items left."""
        free = [worker for worker in self._workers if worker.item is None]
        more = min(self.capacity - len(self._workers), len(waiting) - len(free))
        free += [self._start() for _ in range(more)]
        for worker in free[: len(waiting)]:
            worker.item, message = waiting.popleft()
            with suppress(OSError):  # it died meanwhile, which is seen when it is listened to
                if not worker.ready:
                    worker.pipe.send_bytes(self._shared)
                worker.pipe.send_bytes(message)

    def _responding(self) -> list[_Worker]:
        """Workers that have sent a result or died; blocks until there is one."""
        by_pipe = {worker.pipe: worker for worker in self._busy}
        return [
            by_pipe[pipe]
            for pipe in multiprocessing.connection.wait(list(by_pipe))
            if isinstance(pipe, multiprocessing.connection.Connection)
        ]

    def _start(self) -> _Worker:
        context = multiprocessing.context.SpawnContext()
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there,), daemon=True)
        process.start()
        there.close()
        worker = _Worker(process, here)
        self._workers.append(worker)
        return worker

    def _stop(self, worker: _Worker) -> None:
        worker.process.terminate()
        worker.process.join(PATIENCE)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.pipe.close()
        self._workers.remove(worker)


def _is_ready(outcome: Outcome | None) -> bool:
    """Whether a new worker has started; raises its error otherwise."""
    if outcome is None:
        raise MoteError(
            "a worker process ended while it was started",
            remedy="workers import the script that starts them: let it search below `if __name__ == '__main__':`",
        )
    outcome.get()
    return True


def _received(pipe: multiprocessing.connection.Connection) -> Outcome | None:
    """Outcome sent by a worker; None if it died."""
    try:
        outcome = pickle.loads(pipe.recv_bytes())
    except (EOFError, OSError):
        return None
    assert isinstance(outcome, Outcome)
    return outcome


def _work(pipe: multiprocessing.connection.Connection) -> None:
    """Main loop of a worker process: ends when the pipe is closed or on request."""
    with suppress(StoppedError, EOFError, OSError), stopping():
        shared = perform(_unpacked, None, pipe.recv_bytes())
        pipe.send_bytes(pickle.dumps(replace(shared, value=None)))
        while True:
            function, item = pickle.loads(pipe.recv_bytes())
            pipe.send_bytes(pickle.dumps(perform(function, shared.value, item)))


def _unpacked(_: None, data: bytes) -> Any:
    return pickle.loads(data)
