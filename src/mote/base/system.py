"""Modules of the standard library that some Pythons lack, such as those in browsers, and threads.

A missing module is replaced by one that raises OSError when it is used: optional features do without it, others report
what is missing. No other file imports these modules, as models could then not be compiled where they are missing.
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
"""Modules that may be missing, and the submodules of each that are used."""
BROWSERS = ("emscripten", "wasi")
"""Platforms whose `subprocess` can be imported but starts nothing."""


class _AbsentError(Exception):
    """Stands for every exception class of a missing module."""


class AbsentModule(ModuleType):
    """A module that this Python lacks: any use raises OSError."""

    def __getattr__(self, name: str) -> Any:
        if name.endswith(("Error", "Expired")):
            return _AbsentError
        raise OSError(errno.ENOTSUP, f"this Python has no {self.__name__}.{name}")


def __getattr__(name: str) -> ModuleType:
    """Imports a module of `MODULES` at its first use."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        for part in MODULES[name]:
            import_module(part)
    except ImportError:
        return AbsentModule(name)
    return import_module(name)


class _AtOnce(Executor):
    """An executor that runs work at once, in the calling thread."""

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
    """An executor with `count` threads; if there are no threads, one that runs work in the calling thread."""
    return ThreadPoolExecutor(count) if has_threads() else _AtOnce()
