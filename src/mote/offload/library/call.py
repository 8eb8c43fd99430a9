"""A call of a library's function, and the constants and working memory that it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mote.graph import Graph, Op
from mote.kernels.contract import Refusal
from mote.offload.contract import Blob, Invocation
from mote.targets import Target


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


def caller(op: Op, callers: Mapping[type[Op], Caller]) -> Caller | None:
    """What makes the calls of operators of that class: subclasses may compute something else."""
    return callers.get(type(op))


def claimed(graph: Graph, callers: Mapping[type[Op], Caller]) -> Iterable[Op]:
    """The operators of a graph of classes that a library has functions for."""
    return (op for op in graph.ops if caller(op, callers))
