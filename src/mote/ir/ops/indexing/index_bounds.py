"""Valid ranges of model inputs that are used as indices."""

from __future__ import annotations

from mote.ir.graph import Graph, Op
from mote.ir.ops.elementwise.select import Select
from mote.ir.ops.moves.gather_constant import Pick
from mote.ir.ops.moves.pad_concat_transpose import Join, Transpose
from mote.ir.ops.moves.strided import StridedOp

Bounds = tuple[int, int]
"""Smallest and largest valid value of an index."""


def input_bounds(graph: Graph) -> dict[int, Bounds]:
    """Valid index ranges of graph inputs that are used as indices, by tensor id. LiteRT reports an error outside of
    them."""
    by_tensor: dict[int, Bounds] = {}
    for op in reversed(graph.ops):
        for position, i in op.computed(graph):
            through = by_tensor.get(op.outputs[0]) if _copies_elements(op, position) else None
            for bounds in (op.bounds(graph, position), through):
                if bounds is not None:
                    low, high = by_tensor.get(i, bounds)
                    by_tensor[i] = max(low, bounds[0]), min(high, bounds[1])
    return {t: (low, max(low, high)) for t, (low, high) in by_tensor.items() if t in graph.inputs}


def _copies_elements(op: Op, position: int) -> bool:
    """Whether an operator passes elements of this input to its output unchanged (except the condition of a select)."""
    chooses = isinstance(op, Select) and position > 0
    return op.is_view or chooses or isinstance(op, Join | Transpose | StridedOp | Pick) or op.kind == "CAST"
