"""Searches whose evaluations may run in other processes, and the models that can be sent there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.compiler.kernels import library
from mote.frontends import Format, Source
from mote.optimize.search import Runner, running

OBJECTS = {Format.SKLEARN, Format.XGBOOST}
"""Formats whose files do not represent the object completely."""


def sendable(source: Source) -> Source:
    """A model without its original object, where the file is equivalent: workers get the file."""
    return source if source.format in OBJECTS else replace(source, origin=None)


@contextmanager
def searching(
    task: Any, *, scheduler: str = "", workers: int = 0, journal: str | Path | None = None
) -> Iterator[Runner]:
    """A runner for models. Those with user-defined operators or kernels stay in this process, which registered them."""
    if (scheduler or workers) and library.added():
        raise MoteError(
            f"operators and kernels of your own ({', '.join(library.added())}) are known in this process only",
            where=f"option {'scheduler' if scheduler else 'workers'}",
            remedy="search without workers",
        )
    with running(task, scheduler=scheduler, workers=workers, journal=journal) as runner:
        yield runner
