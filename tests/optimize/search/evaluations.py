"""Functions that searches of the tests evaluate: workers find them by their names."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from mote.base.errors import BudgetError, Unsupported, UnsupportedError


def squared(shared: int, item: int) -> list[int]:
    """A result that JSON has no word for is none: lists, not tuples."""
    return [item, shared * item * item]


def killed_once(shared: str, item: int) -> int:
    """The worker that gets item 3 first dies of it."""
    mark = Path(shared) / f"killed-{item}"
    if item == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def killed_always(shared: str, item: int) -> int:
    if item == 1:
        with (Path(shared) / "killed").open("a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def counted(shared: str, item: int) -> int:
    """Says in a file that it was called; the process dies of item 3 the first time."""
    with (Path(shared) / "called").open("a") as file:
        file.write(f"{item}\n")
    return killed_once(shared, item)


def refused(shared: None, item: int) -> int:
    if item == 2:
        raise BudgetError("is too large", where="layer 2", remedy="use less")
    if item == 4:
        raise UnsupportedError([Unsupported(1, "a", "ODD", "nobody knows it")], where="model.tflite")
    return item


def broken(shared: None, item: int) -> int:
    return item // 0


def unsendable(shared: None, item: int) -> object:
    return lambda: item


def process(shared: None, item: int) -> int:
    return os.getpid()


class Unloadable:
    """What cannot be made again in another process."""

    def __reduce__(self) -> tuple[object, ...]:
        return int, ("no number",)
