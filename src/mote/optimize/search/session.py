"""Searches over models whose evaluations may run in other processes."""

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
"""Model formats whose files do not represent the object completely."""


def sendable(source: Source) -> Source:
    """A model source that can be pickled for workers: without its Python object if the file is equivalent."""
    return source if source.format in OBJECTS else replace(source, origin=None)


@contextmanager
def searching(
    task: Any, *, scheduler: str = "", workers: int = 0, journal: str | Path | None = None
) -> Iterator[Runner]:
    """Context manager of a runner for models. User-defined operators and kernels are registered in this process only,
    so they cannot run in workers."""
    if (scheduler or workers) and library.added():
        raise MoteError(
            f"operators and kernels of your own ({', '.join(library.added())}) are known in this process only",
            where=f"option {'scheduler' if scheduler else 'workers'}",
            remedy="search without workers",
        )
    with running(task, scheduler=scheduler, workers=workers, journal=journal) as runner:
        yield runner
