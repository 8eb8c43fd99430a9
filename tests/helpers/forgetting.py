"""Compilations without the results of others, for tests that change the compiler."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mote.compiler.kernels.memo import SHARED
from mote.compiler.plan.selection.candidates import candidates_of
from mote.compiler.plan.selection.code_size_model import cheapest_kernels
from mote.compiler.stages import CompilerSession, using


@contextmanager
def forgetting() -> Iterator[CompilerSession]:
    """A session of its own: no model that was read, nor kernels that were packed, come from outside of the block, and
    none of those in it are left behind."""
    _clear()
    with using(CompilerSession()) as own:
        yield own
    _clear()


def _clear() -> None:
    SHARED.clear()
    candidates_of.cache_clear()
    cheapest_kernels.cache_clear()
