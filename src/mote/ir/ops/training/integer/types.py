"""Type checks of integer training operators."""

from __future__ import annotations

from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType


def type_problem(g: Graph, op: Op, *types: DType) -> str | None:
    """Why an operator's first inputs do not have these types, or None."""
    for position, dtype in enumerate(types):
        t = op.input(g, position)
        if t.dtype != dtype:
            return f"{t.dtype} tensor '{t.name}' is not supported (only {dtype})"
    return None
