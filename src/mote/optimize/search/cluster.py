"""Evaluates items on a Dask cluster.

Shared data is a Dask future that workers pass on to each other and that Dask recomputes if workers die; a task holds a
reference to it and its item."""

from __future__ import annotations

import logging
import warnings
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pydoc import locate
from typing import Any

from mote.base.errors import MoteError
from mote.base.extras import require
from mote.optimize.search.work import Function, Outcome, Outcomes, died, other_version, packed, perform_packed
from mote.version import __version__

CONNECT = 10.0
"""Seconds to wait for the scheduler to answer."""
ARRIVE = 30.0
"""Seconds to wait for the first worker."""
LOGGERS = ("distributed", "distributed.client")
"""Loggers to silence, since they print tracebacks of errors that are reported anyway."""


class Cluster:
    """Executes evaluations on the workers of a Dask scheduler; `most` is the maximum number of concurrent evaluations,
    0 for one per thread."""

    def __init__(self, shared: Any, address: str, most: int) -> None:
        data = packed("what is searched", shared)
        self._dask = require("distributed", extra="cluster", what="a cluster")
        self._address = address
        self._most = most
        self._silenced = {name: logging.getLogger(name).level for name in LOGGERS}
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = self._dask.Client(address, timeout=CONNECT, set_as_default=False)
        except Exception as error:
            self._restore_loggers()
            raise MoteError(
                f"no scheduler of Dask answers ({_line(error)})",
                where=f"scheduler {address}",
                remedy="start one with `dask scheduler`, which prints its address, such as tcp://192.168.0.2:8786, and"
                " workers with `dask worker ADDRESS --nthreads 1`",
            ) from None
        try:
            self._check_workers()
            self._key = sha256(data).hexdigest()
            self._shared = self._submit(bytes, data, key=f"mote-{self._key}")
        except BaseException:
            self.close()
            raise

    @property
    def capacity(self) -> int:
        return self._most or max(1, sum(self._client.nthreads().values()))

    def outcomes(self, function: Function, items: Sequence[Any], names: Sequence[str]) -> Outcomes:
        waiting = deque((i, packed(names[i], item)) for i, item in enumerate(items))
        called = packed("the function", function)
        numbers: dict[Any, int] = {}
        done = self._dask.as_completed(loop=self._client.loop, raise_errors=False)
        while waiting or numbers:
            while waiting and (not self._most or len(numbers) < self._most):
                number, item = waiting.popleft()
                future = self._submit(perform_packed, called, self._shared, self._key, item, __version__, pure=False)
                numbers[future.key] = number
                done.add(future)
            finished = next(done)
            number = numbers.pop(finished.key)
            yield number, self._outcome(finished, names[number])

    def close(self) -> None:
        with suppress(Exception):
            self._client.close(timeout=CONNECT)
        self._restore_loggers()

    def _restore_loggers(self) -> None:
        for name, level in self._silenced.items():
            logging.getLogger(name).setLevel(level)

    def _submit(self, function: Any, *arguments: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that what evaluations share is large: it is sent once
            return self._client.submit(function, *arguments, **options)

    def _outcome(self, future: Any, name: str) -> Outcome:
        """Outcome of a finished future. If the result was lost with its worker, Dask has evaluated it again once."""
        where = f"scheduler {self._address}"
        try:
            outcome = future.result()
        except self._dask.scheduler.KilledWorker:
            return Outcome(error=died(name, where))
        except self._dask.CancelledError:
            return Outcome(error=_dropped(name, where))
        except ModuleNotFoundError:
            return Outcome(error=other_version(__version__, {"a worker": ""}))
        except Exception as error:
            return Outcome(error=MoteError(f"{name}: the cluster failed ({_line(error)})", where=where))
        assert isinstance(outcome, Outcome)
        return outcome

    def _check_workers(self) -> None:
        """Raises an error unless every worker has this version of Mote; workers that join later are checked per
        evaluation."""
        try:
            self._client.wait_for_workers(1, timeout=ARRIVE)
            versions = self._client.run(locate, "mote.version.__version__")
        except Exception as error:
            raise MoteError(
                f"has no workers that answer ({_line(error)})",
                where=f"scheduler {self._address}",
                remedy=f"start some with `dask worker {self._address} --nthreads 1`",
            ) from None
        others = {worker: version or "" for worker, version in versions.items() if version != __version__}
        if others:
            raise other_version(__version__, others)


def _dropped(name: str, where: str) -> MoteError:
    return MoteError(
        f"the cluster has dropped the evaluation of {name}: its scheduler ended, or was started anew",
        where=where,
        remedy="start it again, and the search: a journal keeps what was found",
    )


def _line(error: BaseException) -> str:
    """An error message in one line."""
    return " ".join(str(error).split()) or type(error).__name__
