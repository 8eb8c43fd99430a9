"""Sign analysis: which quantized tensors are non-negative or positive, judging from the operators before them. It
decides whether LiteRT, which stops at roots of negative numbers and division by zero, can be the reference."""

from __future__ import annotations

from mote.ir.graph import Graph, Tensor
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.elementwise.binary_unscaled import Maximum
from mote.ir.ops.reductions.mean import Mean


def nonnegative(g: Graph, t: Tensor) -> bool:
    """Whether a tensor has no negative real values: squares, and means, sums and maxima of them."""
    if t.data is not None:
        return bool((t.data >= t.zero_point).all())
    op = g.producers.get(t.id)
    if isinstance(op, Mul):
        return op.inputs[0] == op.inputs[1]
    if isinstance(op, Mean):
        return nonnegative(g, op.input(g))
    if isinstance(op, Maximum):
        return any(nonnegative(g, op.input(g, p)) for p in (0, 1))
    return isinstance(op, Add) and all(nonnegative(g, op.input(g, p)) for p in (0, 1))


def positive(g: Graph, t: Tensor) -> bool:
    """Whether a tensor has positive real values only: the maximum of anything and a positive constant."""
    op = g.producers.get(t.id)
    constants = [op.input(g, p) for p in (0, 1)] if isinstance(op, Maximum) else []
    return any(c.data is not None and bool((c.data > c.zero_point).all()) for c in constants)
