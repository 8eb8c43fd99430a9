"""A call of a library's function, and the constants and working memory that it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.contract import Blob, Invocation
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op


@dataclass(frozen=True, eq=False)
class LibraryCall:
    """What computes one operator."""

    invocation: Invocation
    functions: tuple[str, ...]
    """Functions of the library whose sources are compiled, with all that they call."""
    blobs: tuple[Blob, ...] = ()
    scratch: int = 0
    once: bool = False
    """Sources are compiled so that they round requantized sums once."""


Caller = Callable[[Graph, Op, Target], LibraryCall | Refusal]
"""Makes the call of an operator, or says why the library does not compute it."""
