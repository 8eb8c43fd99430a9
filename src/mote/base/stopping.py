"""Signals that end the program: what was begun is cleaned up first, and a few lines are never torn apart."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Those that ask a program to end; SIGKILL gives it no time to do anything."""


class StoppedError(BaseException):
    """A signal came. Like KeyboardInterrupt it is no Exception, so that nobody takes it for a failure."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class _Deferred:
    """How many blocks want to be left alone, the signal that came meanwhile, and how to have the work end soon."""

    depth = 0
    signum: int | None = None
    end: Callable[[], object] | None = None


def _stop(signum: int, _: FrameType | None) -> None:
    if not _Deferred.depth:
        raise StoppedError(signum)
    _Deferred.signum = signum
    if _Deferred.end is not None:
        _Deferred.end()


@contextmanager
def stopping() -> Iterator[None]:
    """Inside, signals raise StoppedError, so that what has to be cleaned up is. Only the main thread gets them."""
    mine = SIGNALS if current_thread() is main_thread() else []
    before = {signum: signal.signal(signum, _stop) for signum in mine}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@contextmanager
def undisturbed(end: Callable[[], object] | None = None) -> Iterator[None]:
    """Inside, signals wait; `end` is called when one comes, to have the work end before it is done."""
    _Deferred.depth, _Deferred.end = _Deferred.depth + 1, end
    try:
        yield
    finally:
        _Deferred.depth, _Deferred.end = _Deferred.depth - 1, None
        if not _Deferred.depth and _Deferred.signum is not None:
            signum, _Deferred.signum = _Deferred.signum, None
            raise StoppedError(signum)
