"""Simplify layers by value ranges: layers with one possible result become constants, layers that change no value in
their input's range are removed, and activations that never clamp are dropped. Operators that compute model outputs
stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.passes.folding import fold_constants, remove_dead_code
from mote.compiler.passes.redirect import redirect
from mote.compiler.passes.shrinking.report import Removal, RemovalKind
from mote.ir.graph import Graph, Op
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import Axis, int8_range
from mote.ir.ops.elementwise.activations import Unary
from mote.ir.ops.elementwise.arithmetic import Binary
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import Pool

CONSTANT = RemovalKind(
    "layers with one possible result",
    "the least and the largest value of each of their channels are the same, or only such layers read them",
)
IDENTITY = RemovalKind("layers that change nothing", "every value that they can be given becomes itself")
CLAMP = RemovalKind("activations that clamp nothing", "no result for any inputs is outside of what they let pass")


def run(graph: Graph) -> tuple[Graph, list[Removal]]:
    """One round of one kind of simplification, the first that applies, as each changes the ranges."""
    for kind, rewrite in ((CONSTANT, _with_constants), (IDENTITY, _without_identities), (CLAMP, _without_clamps)):
        after, indices = rewrite(graph)
        if indices:
            return after, [Removal(index, kind, 1) for index in indices]
    return graph, []


def _with_constants(graph: Graph) -> tuple[Graph, list[int]]:
    kept, known = _kept(graph), {}
    for op in graph.ops:
        y = op.output(graph)
        if y.dtype == DType.INT8 and y.id not in kept and (values := graph.ranges[y.id]).constant.all():
            known[y.id] = replace(y, data=np.broadcast_to(values.low, y.shape).astype(np.int8))
    ops = [op for op in graph.ops if op.outputs[0] not in known]
    after = remove_dead_code.run(fold_constants.run(graph.with_ops(ops, known.values()))) if known else graph
    return after, [op.index for op in graph.ops if op.outputs[0] not in after.producers]


def _kept(graph: Graph) -> set[int]:
    """The tensors that are read after the inference: outputs and states."""
    return {*graph.outputs, *(s.after for s in graph.states)}


def _without_identities(graph: Graph) -> tuple[Graph, list[int]]:
    kept = _kept(graph)
    gone = {op.outputs[0]: op for op in graph.ops if op.outputs[0] not in kept and _changes_nothing(graph, op)}
    after = redirect(graph, {out: op.computed(graph)[0][1] for out, op in gone.items()})
    return after.with_ops(op for op in after.ops if op.outputs[0] not in gone), [op.index for op in gone.values()]


def _changes_nothing(graph: Graph, op: Op) -> bool:
    """Whether an operator is an identity, tried with all values that can occur in each channel."""
    computed = op.computed(graph)
    if not isinstance(op, Unary | Binary | Pool | DepthwiseConv2D) or len(computed) != 1:
        return False
    position, i = computed[0]
    x, y = graph.tensors[i], op.output(graph)
    if (x.dtype, x.shape) != (DType.INT8, y.shape) or x.quant is None or not x.quant.same_as(y.quant):
        return False
    if isinstance(op, Pool | DepthwiseConv2D) and not op.vertical == op.horizontal == Axis(1):
        return False
    others = [graph.tensors[t] for p, t in enumerate(op.inputs) if p != position]
    if isinstance(op, Binary) and any(t.size not in (1, t.channels) for t in others):
        return False
    limits = graph.ranges[i]
    values = np.minimum(limits.low + np.arange(256, dtype=np.int64)[:, None], limits.high).astype(np.int8)[
        None, :, None
    ]
    given = [values if p == position else graph.tensors[t].data for p, t in enumerate(op.inputs)]
    return np.array_equal(op.evaluate(graph, given)[0], values)


def _without_clamps(graph: Graph) -> tuple[Graph, list[int]]:
    free = {id(op): op.with_(activation=Activation.NONE) for op in graph.ops if _never_clamps(graph, op)}
    return graph.with_ops(free.get(id(op), op) for op in graph.ops), [op.index for op in graph.ops if id(op) in free]


def _never_clamps(graph: Graph, op: Op) -> bool:
    activation, y = getattr(op, "activation", Activation.NONE), op.output(graph)
    if activation == Activation.NONE or y.dtype != DType.INT8 or int8_range(activation, y) == (-128, 127):
        return False
    low, high = int8_range(activation, y)
    limits = op.with_(activation=Activation.NONE).range(graph, [graph.ranges.get(i) for i in op.inputs])
    return limits is not None and bool(limits.low.min() >= low and limits.high.max() <= high)
