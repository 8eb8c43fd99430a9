"""Valid values of states, by which firmware checks saved weights before it loads them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from mote.ir.graph import Graph, State
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.control.control_flow import If


class Values(IntEnum):
    """How saved values of a state are checked: `MOTE_WEIGHTS_...` in `mote_weights.h`."""

    NONE = 0
    """Not learned: neither saved nor checked."""
    ANY = 1
    """Not checked."""
    FLOAT = 2
    """float32: must be finite."""
    INT8 = 3
    """int8: must be in a range."""
    INT32 = 4
    """int32: must be in a range."""


@dataclass(frozen=True)
class ValueRange:
    """The valid values of a state: `low` to `high`, both inclusive, for INT8 and INT32."""

    kind: Values = Values.NONE
    low: int = 0
    high: int = 0


def value_range(graph: Graph, state: State) -> ValueRange:
    """The valid values of a state: for a learned one, those that all operators which read it accept; for a label, the
    classes."""
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
    """The number of classes of a label: as its readers have it, or else the channels of the first output."""
    return _known_classes(graph, label) or graph.tensors[graph.outputs[0]].channels


def _known_classes(graph: Graph, label: int) -> int:
    """The number of classes by the bounds of a label's readers, branches included; 0 if none has bounds."""
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
    """The least and the largest value of a state that all of its readers accept; None: any."""
    read = (op.bounds(graph, i) for op in graph.ops for i, t in enumerate(op.inputs) if t == state.before)
    known = [bounds for bounds in read if bounds is not None]
    return (max(low for low, _ in known), min(high for _, high in known)) if known else None
