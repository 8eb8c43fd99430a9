"""Normalizations whose scale or bias learns: kernels take these only as constants, so that a product and a sum replace
them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import count

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.reductions.layer_norm import BIAS, SCALE, Standardize


def apart(graph: Graph, learned: Collection[int]) -> Graph:
    """The graph in which a product and a sum follow each normalization whose scale or bias is in `learned`, and replace
    them."""
    tensors = dict(graph.tensors)
    fresh = count(graph.fresh_id())

    def added(like: Tensor, what: str) -> int:
        new = replace(like, id=next(fresh), name=f"{like.name}/{what}", inner=True)
        tensors[new.id] = new
        return new.id

    def parts(op: Op) -> Iterator[Op]:
        if not isinstance(op, Standardize) or set(op.inputs[SCALE:]).isdisjoint(learned):
            yield op
            return
        (output,) = op.outputs
        behind = [(kind, i) for kind, at in ((Mul, SCALE), (Add, BIAS)) for i in op.inputs[at : at + 1] if i in tensors]
        made = [added(tensors[output], what) for what in ("normalized", "scaled")[: len(behind)]]
        yield op.with_(inputs=op.inputs[:SCALE], outputs=(made[0],))
        for (kind, operand), x, y in zip(behind, made, [*made[1:], output], strict=True):
            yield kind(inputs=(x, operand), outputs=(y,), name=op.name, index=op.index)

    ops = [part for op in graph.ops for part in parts(op)]
    return graph.with_ops(ops, tensors.values()).verify()
