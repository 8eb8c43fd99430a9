"""A call of a library's function, with its constants and working memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.contract import Blob, Invocation
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op


@dataclass(frozen=True, eq=False)
class LibraryCall:
    """The call that computes one operator."""

    invocation: Invocation
    functions: tuple[str, ...]
    """Functions of the library whose sources are compiled, with all their callees."""
    blobs: tuple[Blob, ...] = ()
    scratch: int = 0
    once: bool = False
    """Whether the sources are compiled to round requantized sums only once."""


Caller = Callable[[Graph, Op, Target], LibraryCall | Refusal]
"""Creates the call for an operator, or gives the reason for a refusal."""
