"""Pointwise operators: base class, value ranges of monotonic functions, streaming."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.ir.graph.graph import ABSENT, Graph, Increment, Op
from mote.ir.graph.ranges import RANGED, Range, between
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape


def rising(g: Graph, op: Op, inputs: Sequence[Range | None], falling: int = ABSENT) -> Range:
    """Output range of a monotonic operator: non-decreasing in all inputs, but non-increasing in input `falling`."""
    ends = []
    for up in (False, True):
        values = [end(g, op, p, inputs[p], up=up != (p == falling)) for p in range(len(op.inputs))]
        ends.append(op.evaluate(g, values)[0])
    return between(ends)


def end(g: Graph, op: Op, position: int, limits: Range | None, *, up: bool) -> Array | None:
    """An input filled with its largest (`up`) or smallest possible values; constants unchanged."""
    t = op.tensor(g, position)
    if t is None or t.data is not None:
        return None if t is None else t.data
    assert limits is not None
    return np.broadcast_to(limits.high if up else limits.low, t.shape or (1,)).reshape(t.shape).astype(RANGED.numpy)


def pointwise(op: Op, flows: Mapping[int, StreamAxis]) -> Increment | None:
    """Streaming form of an operator whose output elements only depend on input elements at the same position of the
    stream; None if inputs stream differently."""
    flow = next(iter(flows.values()))
    if any(other != flow for other in flows.values()):
        return None
    return Increment(op, flow, dict.fromkeys(flows, flow.fresh))


class Pointwise(Op):
    """Base of operators whose output elements depend on the input element at the same position only."""

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        return pointwise(self, flows)
