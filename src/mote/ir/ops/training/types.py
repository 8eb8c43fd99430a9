"""The types that operators of training compute with."""

from __future__ import annotations

from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType


def real_problem(g: Graph, op: Op, *positions: int) -> str | None:
    """Why an operator whose inputs at these positions (all, where none is named) are float32 cannot be computed, or
    None."""
    for position in positions or range(len(op.inputs)):
        t = op.tensor(g, position)
        if t is not None and t.dtype != DType.FLOAT32:
            return f"{t.dtype} tensor '{t.name}' is not supported (only float32)"
    return None
