"""Depth search: finds blocks of a float graph that can be removed because their input has the shape of their output."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from mote.compiler.passes.folding import remove_dead_code
from mote.ir.graph import Graph, Op
from mote.ir.graph.types import Activation
from mote.ir.ops.elementwise.arithmetic import Add
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


@dataclass(frozen=True)
class RemovableBlock:
    """Operators from one tensor to another of the same shape; nothing else reads their intermediate results, so the
    block can be removed."""

    name: str
    """Short name of the block's last operator."""
    start: int
    """Id of the block's input tensor, which replaces its output when the block is removed."""
    end: int
    """Id of the block's output tensor."""
    inner: tuple[int, ...]
    """Output tensors of the block's operators, in execution order."""
    residual: bool
    """True for a residual branch (the block ends by adding its own input); False for plain convolutions."""


def removable_blocks(graph: Graph) -> tuple[RemovableBlock, ...]:
    """All removable blocks of a graph in execution order: residual branches, and outside of those single convolutions
    or depthwise-pointwise pairs whose output has the shape of their input."""
    residual = [block for op in graph.ops if (block := _residual(graph, op)) is not None]
    inside = {t for block in residual for t in block.inner}
    plain = [block for op in graph.ops if op.outputs[0] not in inside and (block := _plain(graph, op)) is not None]
    blocks = [*residual, *plain]
    return tuple(sorted(blocks, key=lambda block: graph.places[id(graph.producers[block.end])]))


def without_blocks(graph: Graph, gone: Collection[RemovableBlock]) -> Graph:
    """The graph with some blocks removed: readers of a block's output read its input instead."""
    starts = {block.end: block.start for block in gone}

    def source(t: int) -> int:
        while t in starts:
            t = starts[t]
        return t

    if not gone:
        return graph
    ops = (op.with_(inputs=tuple(map(source, op.inputs))) for op in graph.ops)
    return remove_dead_code.run(graph.with_ops(ops)).verify()


def _residual(graph: Graph, op: Op) -> RemovableBlock | None:
    """The residual branch that an ADD closes: one operand is the block's input, the other is computed from that input
    alone."""
    if not isinstance(op, Add) or len(op.computed(graph)) != 2:
        return None
    for start, branch in (op.inputs[:2], op.inputs[1::-1]):
        inner = _between(graph, start, branch)
        if inner and _replaces(graph, start, op) and _private(graph, inner, op):
            return RemovableBlock(graph.short_name(op), start, op.outputs[0], (*inner, op.outputs[0]), residual=True)
    return None


def _plain(graph: Graph, op: Op) -> RemovableBlock | None:
    """A removable block outside of residual branches: a convolution, or a depthwise and a pointwise one, whose output
    has the shape of its input."""
    if not isinstance(op, Conv2D):
        return None
    before = graph.producers.get(op.inputs[0])
    inner: tuple[int, ...] = ()
    if op.pointwise:
        if not isinstance(before, DepthwiseConv2D):
            return None
        inner = before.outputs
    start = before.inputs[0] if inner and before is not None else op.inputs[0]
    if start not in graph.producers or not _replaces(graph, start, op) or not _private(graph, inner, op):
        return None
    if _activation(graph.producers[start]) != op.activation:
        return None
    return RemovableBlock(graph.short_name(op), start, op.outputs[0], (*inner, op.outputs[0]), residual=False)


def _between(graph: Graph, start: int, end: int) -> tuple[int, ...]:
    """Outputs of the operators that compute tensor `end` from tensor `start` and constants alone; empty if another
    input or a state takes part."""
    reached: set[int] = set()
    open_ones = [end]
    while open_ones:
        t = open_ones.pop()
        op = graph.producers.get(t)
        if t == start or t in reached:
            continue
        if op is None or len(op.outputs) != 1 or op.updates:
            return ()
        reached.add(t)
        open_ones += [i for _, i in op.computed(graph)]
    return tuple(out for out in _outputs_in_order(graph) if out in reached)


def _outputs_in_order(graph: Graph) -> Iterator[int]:
    return (op.outputs[0] for op in graph.ops)


def _private(graph: Graph, inner: Collection[int], last: Op) -> bool:
    """Whether only operators of the block read its intermediate tensors, and none of those is a graph output or a
    state."""
    kept = {*graph.outputs, *(s.after for s in graph.states)}
    own = {*inner, last.outputs[0]}
    readers = (reader for t in inner for reader in graph.consumers.get(t, []))
    return not kept & own and all(reader.outputs[0] in own for reader in readers)


def _replaces(graph: Graph, start: int, op: Op) -> bool:
    """Whether tensor `start` can replace the operator's output: same shape and dtype, and the operator's fused
    activation is already applied to it."""
    x, y, activation = graph.tensors[start], op.output(graph), _activation(op)
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    before = graph.producers.get(start)
    return activation is Activation.NONE or (before is not None and _activation(before) is activation)


def _activation(op: Op) -> Activation:
    activation = getattr(op, "activation", Activation.NONE)
    if op.kind in Activation.__members__:
        activation = Activation[op.kind]
    assert isinstance(activation, Activation)
    return activation
