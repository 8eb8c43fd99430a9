"""Drop the leading axis of size 1 of sequences: [1, tokens, width] becomes [tokens, width], whose rows are tokens.

A row has all elements of the last two axes, so that a sequence with three axes is a single row and must be in RAM as a
whole. The pass is applied to models with attention, in which keys and values must be complete but everything else can
be computed token by token.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mote.compiler.passes.folding import remove_identities
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Shape
from mote.ir.ops.elementwise.arithmetic import Binary
from mote.ir.ops.indexing.gather import Gather
from mote.ir.ops.matrix.batch_matmul import BatchMatmul, HeadMatmul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.pointwise import Pointwise
from mote.ir.ops.reductions.reduce import Reduction
from mote.ir.ops.reductions.softmax import Softmax

AXES = 3
"""Rank of the tensors whose first axis is dropped."""


def run(graph: Graph) -> Graph:
    if not any(_attends(graph, op) for op in graph.ops):
        return graph
    return remove_identities.run(_Flattening(graph).run())


def _attends(graph: Graph, op: Op) -> bool:
    """Whether an operator is a product of two computed sequences, as in attention."""
    if isinstance(op, HeadMatmul):
        return True
    return isinstance(op, BatchMatmul) and op.output(graph).shape[:-2] == (1,) and op.input(graph, 1).data is None


def _flattened(graph: Graph, op: Op) -> Op | None:
    """The operator for tensors without the first axis; None if it cannot do without that axis."""
    y = op.output(graph)
    if len(op.outputs) > 1 or op.updates:
        return None
    if isinstance(op, Reduction):
        return _reduction(graph, op)
    if len(y.shape) != AXES or y.shape[0] != 1:
        return None
    if isinstance(op, Gather):
        indices = op.input(graph, 1).shape
        return op if (op.axis, op.batch_axes) == (0, 0) and len(indices) == AXES - 1 else None
    if isinstance(op, FullyConnected):
        return op if op.keep_dims else None
    if isinstance(op, Binary):
        return op
    if isinstance(op, Pointwise | Softmax | BatchMatmul):
        return op if all(len(graph.tensors[t].shape) == AXES for t in op.inputs) else None
    return None


def _reduction(graph: Graph, op: Reduction) -> Op | None:
    """A reduction of each vector, or over all tokens, for a tensor without the first axis."""
    shape = op.input(graph).shape
    if len(shape) != AXES or shape[0] != 1 or 0 in op.axes:
        return None
    if op.keep_dims:
        return op.with_(axes=tuple(a - 1 for a in op.axes))
    return op.with_(axes=(0,), keep_dims=True) if op.axes == (1,) else None


@dataclass
class _Flattening:
    graph: Graph
    flat: dict[int, int] = field(default_factory=dict)
    """By the id of a tensor: the id of the same tensor without its first axis."""
    added: dict[int, Tensor] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)

    def run(self) -> Graph:
        for op in self.graph.ops:
            flattened = _flattened(self.graph, op)
            if flattened is None:
                self.ops.append(op)
            else:
                self._add(op, flattened)
        return self.graph.with_ops(self.ops, self.added.values())

    def _add(self, op: Op, flattened: Op) -> None:
        """Adds the flattened operator, and a reshape of its output to the original shape for other readers."""
        inputs = tuple(self._input(op, position) for position in range(len(op.inputs)))
        y = op.output(self.graph)
        if len(y.shape) != AXES:
            self.ops.append(flattened.with_(inputs=inputs))
            return
        made = self._tensor(y)
        self.ops.append(flattened.with_(inputs=inputs, outputs=(made.id,)))
        self.ops.append(_view(op, made.id, y.id, y.shape))

    def _input(self, op: Op, position: int) -> int:
        t = op.inputs[position]
        if t == ABSENT or not self._loses(op, position):
            return t
        if t not in self.flat:
            made = self._tensor(self.graph.tensors[t])
            if made.data is None:
                self.ops.append(_view(op, t, made.id, made.shape))
        return self.flat[t]

    def _loses(self, op: Op, position: int) -> bool:
        """Whether an input must lose its first axis: sequences, and the indices of a GATHER of their vectors."""
        if isinstance(op, Gather):
            return position == 1
        return len(op.input(self.graph, position).shape) == AXES

    def _tensor(self, t: Tensor) -> Tensor:
        """The tensor without its first axis."""
        number = max(self.graph.fresh_id(), *(i + 1 for i in self.added), 0)
        shape = t.shape[1:]
        data = None if t.data is None else t.data.reshape(shape)
        made = replace(t, id=number, shape=shape, data=data, copy_of=t.source)
        self.added[number], self.flat[t.id] = made, number
        return made


def _view(op: Op, source: int, target: int, shape: Shape) -> Reshape:
    return Reshape(inputs=(source,), outputs=(target,), name=op.name, index=op.index, shape=shape)
