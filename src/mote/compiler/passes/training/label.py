"""The label of a sample: a state that says whether there is something to learn, and what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.compiler.passes.training.tape import Tape
from mote.ir.graph import Op, State
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.control.state import Assign
from mote.ir.ops.elementwise.comparison import GreaterEqual
from mote.ir.ops.reductions.reduce import ReduceMax

NO_LABEL = -1


@dataclass(frozen=True)
class Labelled:
    """The use of a label in a graph: the condition of everything that learns, and how the label is taken back."""

    condition: tuple[Op, ...]
    """Operators, of which the last one gives whether there is a label."""
    back: tuple[Op, ...]
    """Operators that leave the state without a label."""
    state: State


def label(t: Tape, shape: Shape = (1,)) -> int:
    """The tensor of labels, int32."""
    return t.tensor("label", shape, DType.INT32)


def labelled(t: Tape, label: int) -> Labelled:
    """There is a label where the largest is not negative; each counts for one inference."""
    shape = t.shape(label)
    t.at = None
    largest, condition = label, list[Op]()
    if t.tensors[label].size > 1:
        condition.append(t.made(ReduceMax, [label], "largest", axes=tuple(range(len(shape)))))
        largest = condition[-1].outputs[0]
    zero = t.tensor("zero", (1,), DType.INT32, np.zeros(1, np.int32))
    condition.append(t.made(GreaterEqual, [largest, zero], "labelled", DType.BOOL))
    initial = np.full(shape, NO_LABEL, np.int32)
    none = t.tensor("none", shape, DType.INT32, initial)
    back = t.made(Assign, [label, none], "label")
    return Labelled(tuple(condition), (back,), State(label, back.outputs[0], initial, StateRole.LABEL))
