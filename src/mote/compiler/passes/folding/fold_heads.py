"""Remove TRANSPOSE from attention: the heads of queries, keys and values are read where the layers before wrote them.

Converters split [tokens, width] into heads, transpose to [heads, tokens, part], multiply, and transpose the result
back. The products are the same if the heads stay in place: then a row of the result is one token of all heads, and the
row of the attention matrix for it can be freed before the next one is computed. Operators between the two products
(scales, masks, SOFTMAX) are per element or per line, so that they work in either order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from mote.compiler.passes.folding import remove_identities
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Shape
from mote.ir.ops.elementwise.arithmetic import Binary
from mote.ir.ops.matrix.batch_matmul import BatchMatmul, HeadMatmul
from mote.ir.ops.moves.pad_concat_transpose import Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.pointwise import Pointwise
from mote.ir.ops.reductions.softmax import Softmax

TO_HEADS, TO_TURNED_HEADS = (1, 0, 2), (1, 2, 0)
"""Permutations of [tokens, heads, part] to [heads, tokens, part], and to [heads, part, tokens]; the first one is its
own inverse."""


def run(graph: Graph) -> Graph:
    before = graph
    for op in before.ops:
        attention = _attention(graph, op) if isinstance(op, BatchMatmul) else None
        graph = graph if attention is None else _Folding(graph, attention).run()
    return graph if graph is before else remove_identities.run(graph)


@dataclass(frozen=True)
class _Attention:
    """An attention: the product of queries and keys, the operators between (each with the input position of the
    attention matrix), the product with values, and the TRANSPOSE after it; None for a single token, which needs no
    TRANSPOSE."""

    scores: BatchMatmul
    between: tuple[tuple[Op, int], ...]
    result: BatchMatmul
    back: Transpose | None

    @property
    def output(self) -> int:
        """The output tensor, token by token."""
        return (self.back or self.result).outputs[0]


def _order(graph: Graph, op: Op | None) -> Shape | None:
    """The permutation of a TRANSPOSE of three axes, or of the last three of four if the first one has size 1; else
    None."""
    if not isinstance(op, Transpose):
        return None
    if len(op.permutation) == 4 and op.permutation[0] == 0 and op.input(graph).shape[0] == 1:
        return tuple(i - 1 for i in op.permutation[1:])
    return op.permutation if len(op.permutation) == 3 else None


def _attention(graph: Graph, result: BatchMatmul) -> _Attention | None:
    """The attention whose last product is `result`, if it is one."""
    single = result.sizes(graph)[0] == 1
    reader = None if single else graph.only_consumer(result.outputs[0])
    back = reader if isinstance(reader, Transpose) and _order(graph, reader) == TO_HEADS else None
    if not (single or back) or not _splits(graph, result, 1):
        return None
    between: list[tuple[Op, int]] = []
    op = _only(graph, result.inputs[0])
    while op is not None and (position := _matrix(graph, op)) is not None:
        between.insert(0, (op, position))
        op = _only(graph, op.inputs[position])
    if not isinstance(op, BatchMatmul) or op.left_turned or result.left_turned:
        return None
    if not (single or _splits(graph, op, 0)) or not _splits(graph, op, 1):
        return None
    return _Attention(op, tuple(between), result, back)


def _only(graph: Graph, tensor: int) -> Op | None:
    """The producer of a tensor that has one consumer, or None."""
    return graph.producers.get(tensor) if graph.only_consumer(tensor) is not None else None


def _splits(graph: Graph, op: BatchMatmul, position: int) -> bool:
    """Whether an operand comes from a TRANSPOSE to heads, and has the rank of the product."""
    orders = (TO_HEADS, TO_TURNED_HEADS) if position else (TO_HEADS,)
    alike = len(op.input(graph, position).shape) == len(op.output(graph).shape)
    return alike and _order(graph, graph.producers.get(op.inputs[position])) in orders


def _matrix(graph: Graph, op: Op) -> int | None:
    """The input position of the attention matrix in an operator that works per element or per line; None if other
    operands are neither constant nor equal for all heads."""
    shape = op.output(graph).shape
    if isinstance(op, Pointwise | Softmax):
        return 0 if len(op.inputs) == len(op.outputs) == 1 else None
    if not isinstance(op, Binary):
        return None
    whole = (p for p, t in op.computed(graph) if graph.tensors[t].shape == shape)
    return next((p for p in whole if _is_mask(op.input(graph, 1 - p), len(shape))), None)


def _is_mask(t: Tensor, axes: int) -> bool:
    """Whether the other operand of a binary operator is constant, or equal for all heads."""
    padded = (1,) * (axes - len(t.shape)) + t.shape
    return padded[:-3] in ((), (1,)) and (t.data is not None or padded[-3] == 1)


@dataclass
class _Folding:
    """Rewrites one attention without TRANSPOSE."""

    graph: Graph
    attention: _Attention
    made: dict[int, Tensor] = field(default_factory=dict)
    """The tensors that are added to the graph, by id."""
    turned: dict[int, int] = field(default_factory=dict)
    """By the id of a tensor with heads in front: the id of the tensor that replaces it."""

    def run(self) -> Graph:
        attention = self.attention
        new = {id(attention.scores): self._scores, id(attention.result): self._result}
        positions = {id(op): position for op, position in attention.between}
        ops: list[Op] = []
        for op in self.graph.ops:
            if id(op) in positions:
                ops += self._between(op, positions[id(op)])
            elif op is not attention.back:
                ops += new[id(op)]() if id(op) in new else [op]
        read = {t for op in ops for t in op.inputs} | set(self.graph.outputs)
        kept = (op for op in ops if not isinstance(op, Transpose) or op.outputs[0] in read)
        return self.graph.with_ops(kept, self.made.values())

    def _tensor(self, like: Tensor, shape: Shape, **changes: object) -> Tensor:
        number = max(self.graph.fresh_id(), *(t + 1 for t in self.made), 0)
        self.made[number] = replace(like, id=number, shape=shape, **changes)  # type: ignore[arg-type]
        return self.made[number]

    def _view(self, t: Tensor, shape: Shape, by: Op) -> Reshape:
        """A RESHAPE of a tensor, which belongs to operator `by`."""
        made = self._tensor(t, shape, copy_of=t.source)
        return Reshape(inputs=(t.id,), outputs=(made.id,), name=by.name, index=by.index, shape=shape)

    def _split(self, op: BatchMatmul, position: int) -> tuple[Reshape, bool]:
        """An operand as [tokens, heads, part], and whether the transpose before it also swapped the last two axes."""
        t, maker = op.input(self.graph, position), self.graph.producers.get(op.inputs[position])
        order = _order(self.graph, maker) if _splits(self.graph, op, position) else None
        if maker is None or order is None:
            heads, _, part = t.shape[-3:]
            return self._view(t, (1, heads, part), op), False
        source = maker.input(self.graph)
        return self._view(source, source.shape[-3:], op), order == TO_TURNED_HEADS

    def _product(self, op: BatchMatmul, left: int, right: Reshape, turned: bool, output: Tensor) -> HeadMatmul:
        return HeadMatmul(
            inputs=(left, right.outputs[0]),
            outputs=(output.id,),
            name=op.name,
            index=op.index,
            right_turned=op.right_turned != turned,
            rounding=op.rounding,
        )

    def _hidden(self, t: Tensor) -> Tensor:
        """The tensor that replaces one of the model file, with axes [rows, heads, columns]."""
        heads, rows, columns = t.shape[-3:]
        made = self._tensor(t, (rows, heads, columns), inner=True)
        self.turned[t.id] = made.id
        return made

    def _scores(self) -> Iterator[Op]:
        op = self.attention.scores
        (q, _), (k, turned) = self._split(op, 0), self._split(op, 1)
        yield from (q, k)
        yield self._product(op, q.outputs[0], k, turned, self._hidden(op.output(self.graph)))

    def _result(self) -> Iterator[Op]:
        op, y = self.attention.result, self.graph.tensors[self.attention.output]
        v, turned = self._split(op, 1)
        rows, _, columns = op.sizes(self.graph)
        made = self._tensor(y, (rows, op.output(self.graph).shape[-3], columns), copy_of=y.source)
        yield v
        yield self._product(op, self.turned[op.inputs[0]], v, turned, made)
        yield Reshape(inputs=(made.id,), outputs=(y.id,), name=op.name, index=op.index, shape=y.shape)

    def _between(self, op: Op, position: int) -> Iterator[Op]:
        inputs = list(op.inputs)
        inputs[position] = self.turned[inputs[position]]
        if len(inputs) > 1:
            inputs[1 - position], views = self._mask(op, op.input(self.graph, 1 - position))
            yield from views
        yield op.with_(inputs=tuple(inputs), outputs=(self._hidden(op.output(self.graph)).id,))

    def _mask(self, op: Op, t: Tensor) -> tuple[int, list[Op]]:
        """The other operand of a binary operator, with heads after rows; and the reshape that this takes, if any."""
        if len(t.shape) <= 1:
            return t.id, []
        heads, rows, columns = (1, *t.shape)[-3:]
        if t.data is None:
            view = self._view(t, (rows, heads, columns), op)
            return view.outputs[0], [view]
        data = np.ascontiguousarray(t.data.reshape(heads, rows, columns).swapaxes(0, 1))
        return self._tensor(t, data.shape, data=data).id, []
