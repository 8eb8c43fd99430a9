"""The label of a sample: a state that says whether the sample is to be learned, and its class."""

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
    """The use of a label in a training graph: the condition of the training step, and the reset of the label."""

    condition: tuple[Op, ...]
    """Operators, the last of which computes whether there is a label."""
    back: tuple[Op, ...]
    """Operators that reset the state to no label."""
    state: State


def label(t: Tape, shape: Shape = (1,)) -> int:
    """Adds the int32 tensor of labels to a tape."""
    return t.tensor("label", shape, DType.INT32)


def labelled(t: Tape, label: int) -> Labelled:
    """Adds the operators for a label: a sample is learned if its largest label is not negative; then the label is
    reset."""
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
