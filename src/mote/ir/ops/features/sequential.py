"""Operators of streams that update their states with each row: recursive filters, running statistics, noise estimates.

A row of the output is computed as soon as its input row is there, from the states as the row before left them; so a
pushed row costs its own work only, and an inference may be of one row or of many.
"""

from __future__ import annotations

from mote.ir.graph import Graph, Op
from mote.ir.graph.rows import row_count


class Sequential(Op):
    """An operator from rows to rows with states: inputs (rows, states...), outputs (rows, states...), where output k is
    the state at input k after the rows. The NumPy reference computes all rows; kernels are FLAT or ROWS without a row
    function, take the states as operands, and are called for one row or for several."""

    sequential = True

    @property
    def updates(self) -> dict[int, int]:
        return {k: k for k in range(1, len(self.outputs))}

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if position == 0 else tuple(range(row_count(self.input(g, position).shape)))
