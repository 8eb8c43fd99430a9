"""Termination signals: cleanup runs before the program ends, and critical sections are not interrupted."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that ask a program to end; SIGKILL cannot be handled."""


class StoppedError(BaseException):
    """Raised when a termination signal arrives. Like KeyboardInterrupt it is not an Exception, so that no handler takes
    it for a failure."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class _Deferred:
    """State of critical sections: their nesting depth, the signal that arrived in one, and the callback that ends the
    work early."""

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
    """Context in which termination signals raise StoppedError, so that cleanup runs. Only the main thread receives
    signals."""
    mine = SIGNALS if current_thread() is main_thread() else []
    before = {signum: signal.signal(signum, _stop) for signum in mine}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@contextmanager
def undisturbed(end: Callable[[], object] | None = None) -> Iterator[None]:
    """Critical section: termination signals are deferred to its end. `end`: called when one arrives, to end the work
    early."""
    _Deferred.depth, _Deferred.end = _Deferred.depth + 1, end
    try:
        yield
    finally:
        _Deferred.depth, _Deferred.end = _Deferred.depth - 1, None
        if not _Deferred.depth and _Deferred.signum is not None:
            signum, _Deferred.signum = _Deferred.signum, None
            raise StoppedError(signum)
