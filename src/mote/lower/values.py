"""What values a state can have that mean something: by these a model knows what it has learned from anything else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from mote.graph import Graph, State
from mote.graph.types import DType, StateRole


class Values(IntEnum):
    """What the values of a state are compared with: `MOTE_WEIGHTS_...` of `mote_weights.h`."""

    NONE = 0
    """The state is not learned: it is neither saved nor compared."""
    ANY = 1
    FLOAT = 2
    """float32, finite."""
    INT8 = 3
    """int8, from the least to the largest."""
    INT32 = 4
    """int32, from the least to the largest."""


@dataclass(frozen=True)
class ValueRange:
    """The values that a state can have."""

    kind: Values = Values.NONE
    low: int = 0
    high: int = 0


def value_range(graph: Graph, state: State) -> ValueRange:
    """The values of a state of a graph: of a learned one, those that mean something to all operators that read it."""
    if state.role is not StateRole.LEARNED:
        return ValueRange()
    dtype, bounds = graph.tensors[state.before].dtype, _bounds(graph, state)
    if dtype is DType.FLOAT32:
        return ValueRange(Values.FLOAT)
    if bounds is None or dtype not in (DType.INT8, DType.INT32):
        return ValueRange(Values.ANY)
    return ValueRange(Values[dtype.name], *bounds)


def _bounds(graph: Graph, state: State) -> tuple[int, int] | None:
    """The least and the largest value; None: any."""
    read = (op.bounds(graph, i) for op in graph.ops for i, t in enumerate(op.inputs) if t == state.before)
    known = [bounds for bounds in read if bounds is not None]
    return (max(low for low, _ in known), min(high for _, high in known)) if known else None
