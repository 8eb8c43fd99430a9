"""The values that a state can have: by these a model knows its own records of what it has learned from others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from mote.ir.graph import Graph, State
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.control.control_flow import If


class Values(IntEnum):
    """How the values of a state are compared: `MOTE_WEIGHTS_...` of `mote_weights.h`."""

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
    """The values of a state of a graph: of a learned one, those that mean something to all operators that read it; of
    labels, the classes."""
    if state.role is StateRole.LABEL:
        return ValueRange(high=class_count(graph, state.before) - 1)
    if state.role is not StateRole.LEARNED:
        return ValueRange()
    dtype, bounds = graph.tensors[state.before].dtype, _bounds(graph, state)
    if dtype is DType.FLOAT32:
        return ValueRange(Values.FLOAT)
    if bounds is None or dtype not in (DType.INT8, DType.INT32):
        return ValueRange(Values.ANY)
    return ValueRange(Values[dtype.name], *bounds)


def class_count(graph: Graph, label: int) -> int:
    """The classes that a label names: those that its readers know, or as many as the first output has channels."""
    return _known_classes(graph, label) or graph.tensors[graph.outputs[0]].channels


def _known_classes(graph: Graph, label: int) -> int:
    """The classes by the bounds of what reads a label, in branches too; 0: nothing has any."""
    for op in graph.ops:
        for position in (i for i, t in enumerate(op.inputs) if t == label):
            if isinstance(op, If) and position > 0:
                known = max(_known_classes(branch, branch.inputs[position - 1]) for branch in op.branches)
            else:
                known = 0 if (bounds := op.bounds(graph, position)) is None else bounds[1] + 1
            if known:
                return known
    return 0


def _bounds(graph: Graph, state: State) -> tuple[int, int] | None:
    """The least and the largest value; None: any."""
    read = (op.bounds(graph, i) for op in graph.ops for i, t in enumerate(op.inputs) if t == state.before)
    known = [bounds for bounds in read if bounds is not None]
    return (max(low for low, _ in known), min(high for _, high in known)) if known else None
