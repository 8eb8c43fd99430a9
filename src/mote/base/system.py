"""What some Pythons lack, such as those in browsers: modules of the standard library, and threads.

A module that is not there is one whose use raises OSError: what can do without it goes on, all else says what is
missing. Nobody else imports these modules, whose absence would keep models from being compiled.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from threading import Thread
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    import fcntl as fcntl
    import multiprocessing as multiprocessing
    import pty as pty
    import subprocess as subprocess
    import tty as tty

T = TypeVar("T")
P = ParamSpec("P")
MODULES = {
    "fcntl": ("fcntl",),
    "multiprocessing": ("multiprocessing.connection", "multiprocessing.context"),
    "pty": ("pty",),
    "subprocess": ("subprocess",),
    "tty": ("tty",),
}
"""With the parts of each that are used."""
BROWSERS = ("emscripten", "wasi")
"""Platforms on which `subprocess` is there and starts nothing."""


class _AbsentError(Exception):
    """Any exception of a module that is not there."""


class AbsentModule(ModuleType):
    """A module that this Python does not have."""

    def __getattr__(self, name: str) -> Any:
        if name.endswith(("Error", "Expired")):
            return _AbsentError
        raise OSError(errno.ENOTSUP, f"this Python has no {self.__name__}.{name}")


def __getattr__(name: str) -> ModuleType:
    """Import a module when it is asked for."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        for part in MODULES[name]:
            import_module(part)
    except ImportError:
        return AbsentModule(name)
    return import_module(name)


class _AtOnce(Executor):
    """Does what it is given in the thread that gives it."""

    def submit(self, work: Callable[P, T], /, *given: P.args, **options: P.kwargs) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(work(*given, **options))
        except BaseException as error:
            done.set_exception(error)
        return done


def has_processes() -> bool:
    return sys.platform not in BROWSERS and not isinstance(__getattr__("subprocess"), AbsentModule)


@cache
def has_threads() -> bool:
    try:
        Thread(target=bool).start()
    except RuntimeError:
        return False
    return True


def thread_pool(count: int | None) -> Executor:
    """So many threads to work in; the one that asks where there are no others."""
    return ThreadPoolExecutor(count) if has_threads() else _AtOnce()
