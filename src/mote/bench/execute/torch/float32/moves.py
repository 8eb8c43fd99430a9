"""Data movement operators, for floats and integers alike."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch
from torch.nn import functional

from mote.bench.execute.torch.float32.common import Operands, Twin, Value, aligned, given
from mote.ir.graph import Graph, Op
from mote.ir.ops.control.state import Assign, SlidingWindow
from mote.ir.ops.elementwise.select import Select
from mote.ir.ops.indexing.gather import Gather
from mote.ir.ops.moves.gather_constant import Pick
from mote.ir.ops.moves.multi_output import Part
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pack, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.moves.strided import StridedOp

_SOURCES: WeakKeyDictionary[Graph, dict[Op, Value]] = WeakKeyDictionary()
"""Source index of each output element, by operator; lives as long as its graph."""


def reshape(g: Graph, op: Reshape, values: Operands) -> Value:
    x = given(values, 0)
    return x.reshape(x.shape[0], *op.shape)


def transpose(g: Graph, op: Transpose, values: Operands) -> Value:
    return given(values, 0).permute(0, *(axis + 1 for axis in op.permutation))


def cut(g: Graph, op: Slice, values: Operands) -> Value:
    x = given(values, 0)
    for axis, (begin, size, step) in enumerate(zip(op.begin, op.size, op.strides, strict=True), 1):
        if (begin, size, step) != (0, x.shape[axis], 1):
            places = begin + step * torch.arange(size, device=x.device)
            x = x.narrow(axis, begin, size) if step == 1 else x.index_select(axis, places)
    return x.reshape(x.shape[0], *op.shape)


def pick(g: Graph, op: Pick, values: Operands) -> Value:
    x = given(values, 0)
    for axis, places in enumerate(op.places, 1):
        if places is not None:
            x = x.index_select(axis, torch.tensor(places, device=x.device, dtype=torch.int64))
    return x.reshape(x.shape[0], *op.shape)


def pad(g: Graph, op: Pad, values: Operands) -> Value:
    """Pads dequantized values with the dequantized fill value."""
    x, t = given(values, 0), op.input(g)
    around = [n for pair in reversed(op.paddings) for n in pair]
    real = x.is_floating_point() and t.quant is not None
    return functional.pad(x, around, value=t.scale * (op.value - t.zero_point) if real else op.value)


def join(g: Graph, op: Concatenation, values: Operands) -> Value:
    parts = [given(values, position) for position in range(len(values))]
    samples = max(x.shape[0] for x in parts)
    parts = [x.expand(samples, *x.shape[1:]) for x in parts]
    return torch.stack(parts, op.axis + 1) if isinstance(op, Pack) else torch.cat(parts, op.axis + 1)


def walk(g: Graph, op: StridedOp, values: Operands) -> Value:
    x, known = given(values, 0), _SOURCES.setdefault(g, {})
    if op not in known or known[op].device != x.device:
        known[op] = torch.from_numpy(op.sources(g)).to(x.device)
    return x.flatten(1)[:, known[op]]


def part(g: Graph, op: Part, values: Operands) -> Value:
    x = given(values, 0).flatten(1)
    return x.narrow(1, op.begin, op.output(g).size).reshape(x.shape[0], *op.shape)


def gather(g: Graph, op: Gather, values: Operands) -> Value:
    """Gather; out-of-range indices give zeros."""
    x, indices = given(values, 0), given(values, 1).to(torch.int64)
    batches, before, size, count, behind = op.sizes(g)
    samples = max(x.shape[0], indices.shape[0])
    at = indices.reshape(-1, batches, 1, count, 1)
    inside = (at >= 0) & (at < size)
    shape = samples, batches, before, count, behind
    table = x.reshape(-1, batches, before, size, behind).expand(samples, batches, before, size, behind)
    taken = table.gather(3, torch.where(inside, at, 0).expand(shape))
    return torch.where(inside, taken, torch.zeros((), dtype=x.dtype, device=x.device)).reshape(
        samples, *op.shapes(g)[0]
    )


def select(g: Graph, op: Select, values: Operands) -> Value:
    condition, x, y = (given(values, position) for position in range(3))
    if op.leading:
        condition = condition.reshape(condition.shape[0], *op.operand(g, 0))
    condition, x, y = aligned(condition, x, y)
    return torch.where(condition, x, y)


def assign(g: Graph, op: Assign, values: Operands) -> Value:
    """Updates a state, per sample."""
    return given(values, 1)


def slide(g: Graph, op: SlidingWindow, values: Operands) -> Value:
    before, new = given(values, 0), given(values, 1)
    before = before.expand(new.shape[0], *before.shape[1:])
    axis = op.axis + 1
    return torch.cat([before, new], axis).narrow(axis, new.shape[axis], before.shape[axis])


TWINS: dict[type, Twin] = {
    Reshape: reshape,
    Transpose: transpose,
    Slice: cut,
    Pick: pick,
    Pad: pad,
    Concatenation: join,
    StridedOp: walk,
    Part: part,
    Gather: gather,
    Select: select,
    Assign: assign,
    SlidingWindow: slide,
}
