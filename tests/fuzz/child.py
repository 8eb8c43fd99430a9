"""Work that may crash, hang or eat memory is done in a process of its own."""

from __future__ import annotations

import os
import pickle
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
GIGABYTE = 1 << 30


class DiedError(Exception):
    """The process ended without a result."""


class TooSlowError(BaseException):
    """More CPU time than was allowed; no `except Exception` holds it up."""


def apart(function: Callable[[], T], seconds: int) -> T:
    """The result of a function, or its exception, from a copy of this process that may use so much CPU time. It has no
    limit of memory, which sanitizers would not work with."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        try:
            told: tuple[bool, object] = True, function()
        except Exception as error:
            told = False, error
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(told, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        raw = pipe.read()
    _, status = os.waitpid(pid, 0)
    if not raw:
        raise DiedError(f"ended with signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended")
    well, result = pickle.loads(raw)
    if not well:
        raise result
    return result  # type: ignore[no-any-return]


def limit_memory(more: int = GIGABYTE) -> None:
    """Let this process have so many bytes more than it has."""
    pages = int(open("/proc/self/statm").read().split()[0])  # noqa: PTH123, SIM115
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, most))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TooSlowError after so much CPU time."""

    def late(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
