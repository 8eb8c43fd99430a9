"""Recurrent operators of streams, which update their states with each row: recursive filters, running statistics, noise
estimates.

An output row is computed as soon as its input row is available, from the states that the previous row left; so a pushed
row only costs its own work, and an inference may have one row or many.
"""

from __future__ import annotations

from mote.ir.graph import Graph, Op
from mote.ir.graph.rows import row_count


class Sequential(Op):
    """Base of row-by-row operators with states: inputs (rows, states...), outputs (rows, states...); output k is the
    new state of input k. The NumPy reference computes all rows; kernels are FLAT or ROWS without a row function, get
    the states as operands, and are called for one row or several."""

    sequential = True

    @property
    def updates(self) -> dict[int, int]:
        return {k: k for k in range(1, len(self.outputs))}

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if position == 0 else tuple(range(row_count(self.input(g, position).shape)))
