"""The tape of a backward pass: operators that are appended to those of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mote.base.errors import MoteError, working_on
from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array, Quantization, Shape
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.control.control_flow import If
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.reductions.reduce import Sum

LOSS = "loss"
"""Name of backward-pass operators that belong to no layer of the model."""
REMEDY = "leave the layer as it is: train others, or all behind it"


class Tape:
    """Operators and tensors that are appended to a graph, and run only under a condition. They belong to the layer `at`
    whose gradient is computed; if that is None, they have the name `name`."""

    def __init__(self, graph: Graph, name: str = LOSS, remedy: str = REMEDY) -> None:
        self.name = name
        self.remedy = remedy
        self.tensors = dict(graph.tensors)
        self.ops: list[Op] = []
        self.states: list[State] = []
        self.at: Op | None = None
        self._given = graph
        self._known = replace(graph, tensors=self.tensors)
        self._next = graph.fresh_id()
        self._beside: dict[int, list[Op]] = {}

    def tensor(
        self,
        name: str,
        shape: Shape,
        dtype: DType = DType.FLOAT32,
        data: Array | None = None,
        quant: Quantization | None = None,
    ) -> int:
        """Adds a tensor and returns its id."""
        added = Tensor(self._next, name, shape, dtype, quant, data, inner=True)
        self.tensors[added.id] = added
        self._next += 1
        return added.id

    def shape(self, tensor: int) -> Shape:
        return self.tensors[tensor].shape

    def add(self, kind: type[Op], inputs: Sequence[int], what: str, **attributes: Any) -> tuple[int, ...]:
        """Adds an operator and returns its outputs. `what`: suffix of its name, says what it computes."""
        op = self.made(kind, inputs, what, **attributes)
        self.ops.append(op)
        return op.outputs

    def made(
        self,
        kind: type[Op],
        inputs: Sequence[int],
        what: str,
        dtype: DType | None = None,
        quant: Quantization | None = None,
        **attributes: Any,
    ) -> Op:
        """Creates an operator without adding it to the conditional part. Outputs that update states have the states'
        types; others have the type and quantization of the first input, unless `dtype` or `quant` is given."""
        index, name = (-1, self.name) if self.at is None else (self.at.index, self.at.name)
        op = kind(inputs=tuple(inputs), outputs=(), name=f"{name}/{what}", index=index, **attributes)
        shapes = op.shapes(self._known)
        op = op.with_(outputs=tuple(range(self._next, self._next + len(shapes))))
        for position, shape in enumerate(shapes):
            like, own = op.input(self._known, op.updates.get(position, 0)), position not in op.updates
            kept = like.quant if quant is None and (dtype is None or not own) else quant if own else like.quant
            self.tensor(op.name, shape, (own and dtype) or like.dtype, quant=kept)
        with working_on(op):
            problem = op.unsupported(self._known)
        if problem:
            raise MoteError(problem, where=op.where, remedy=self.remedy)
        return op

    def beside(self, kind: type[Op], inputs: Sequence[int], what: str, **attributes: Any) -> int:
        """Adds an operator that runs in every inference, right after its layer, to store less for the backward pass
        than its input; returns its output."""
        assert self.at is not None
        op = self.made(kind, inputs, what, **attributes)
        self._beside.setdefault(id(self.at), []).append(op)
        return op.outputs[0]

    def one(self, kind: type[Op], inputs: Sequence[int], what: str, **attributes: Any) -> int:
        """Adds an operator with one output and returns that."""
        (output,) = self.add(kind, inputs, what, **attributes)
        return output

    def state(self, before: int, after: int, initial: Array, role: StateRole) -> None:
        self.states.append(State(before, after, initial, role))

    def learns(self, constant: int, quant: Quantization | None = None) -> Array:
        """Turns a constant into a state, optionally with another quantization, and returns its value."""
        t = self.tensors[constant]
        assert t.data is not None
        self.tensors[constant] = replace(t, data=None, quant=t.quant if quant is None else quant)
        return t.data

    def scalar(self, value: float) -> int:
        return self.tensor("scalar", (1,), data=np.array([value], np.float32))

    def reshaped(self, tensor: int, shape: Shape) -> int:
        """The tensor reshaped; itself if it has the shape."""
        return tensor if self.shape(tensor) == shape else self.one(Reshape, [tensor], "reshape", shape=shape)

    def summed(self, tensor: int, axes: Sequence[int], what: str) -> int:
        """The sums along axes, which are dropped; a reshape if they have size 1."""
        shape = self.shape(tensor)
        kept = tuple(n for axis, n in enumerate(shape) if axis not in axes)
        if all(shape[axis] == 1 for axis in axes):
            return self.reshaped(tensor, kept)
        return self.one(Sum, [tensor], what, axes=tuple(axes))

    def sum_to(self, tensor: int, shape: Shape, what: str = "sum") -> int:
        """The gradient of broadcasting to the tensor's shape: sums over the axes along which a tensor of shape `shape`
        was repeated."""
        own = self.shape(tensor)
        new = len(own) - len(shape)
        axes = [a for a, n in enumerate(own) if a < new or (shape[a - new] == 1 and n > 1)]
        return self.reshaped(self.summed(tensor, axes, what) if axes else tensor, shape)

    def sum(self, first: int, second: int, quant: Quantization | None = None) -> int:
        return self.one(Add, [first, second], "gradient_sum", quant=quant)

    def product(self, first: int, second: int, what: str) -> int:
        return self.one(Mul, [first, second], what)

    def taken(self) -> list[Op]:
        """Removes and returns everything that was added so far, so that it is not under the condition."""
        ops, self.ops = self.ops, []
        return ops

    def finish(self, condition: Sequence[Op], after: Sequence[Op], more: Sequence[State]) -> Graph:
        """The whole graph, verified: `condition` computes whether the added operators run, `after` runs after them;
        both use the states `more`."""
        branch = self._conditional(condition[-1].outputs[0])
        afters = dict(zip(branch.outputs, self.states, strict=True))
        for output, state in afters.items():
            self.tensors[output] = replace(self.tensors[state.before], id=output)
        states = (*self._given.states, *(replace(s, after=i) for i, s in afters.items()), *more)
        forward = [own for op in self._given.ops for own in (op, *self._beside.get(id(op), ()))]
        ops = [*forward, *condition, branch, *after]
        return replace(self._given, states=states).with_ops(ops, self.tensors.values()).verify()

    def _conditional(self, condition: int) -> If:
        """The added operators as the first branch of an IF, whose second branch does nothing."""
        kept = [state.before for state in self.states]
        made = {i for op in self.ops for i in op.outputs}
        read = dict.fromkeys(i for op in self.ops for i in op.inputs if i != ABSENT)
        given = tuple(i for i in read if i not in made and i not in kept and self.tensors[i].data is None)
        idle = Graph(f"{self._given.name} without training", {i: self.tensors[i] for i in given}, (), given, ())
        step = replace(idle, name=f"{self._given.name} training", states=tuple(self.states))
        step = step.with_ops(self.ops, self.tensors.values())
        outputs = tuple(range(self._next, self._next + len(kept)))
        self._next += len(kept)
        return If(
            inputs=(condition, *given, *kept),
            outputs=outputs,
            name="training",
            index=-1,
            branches=(step, idle),
            kept=(tuple(range(len(kept))), ()),
        )
