"""Type checks of float training operators."""

from __future__ import annotations

from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType


def real_problem(g: Graph, op: Op, *positions: int) -> str | None:
    """Why an operator's inputs at these positions (default: all) are not all float32, or None."""
    for position in positions or range(len(op.inputs)):
        t = op.tensor(g, position)
        if t is not None and t.dtype != DType.FLOAT32:
            return f"{t.dtype} tensor '{t.name}' is not supported (only float32)"
    return None
