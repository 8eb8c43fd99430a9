"""Join depthwise convolutions that each process some channels of a tensor (mixed kernel sizes) into one.

Slices of channels and rows, a convolution of each and the concatenation become one convolution whose kernel is as high
as the largest; smaller ones are padded with zero weights. This saves copies, and all channels take one call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mote.compiler.passes.folding import remove_dead_code
from mote.ir.graph import Graph, Op, Quantization
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis, bias_values, float_bias, learned
from mote.ir.ops.moves.pad_concat_transpose import Concatenation
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

MOST_WORK = 2.0
"""Maximum MACs of the joined convolution, zeros included, relative to those of its parts."""


BIASES = {DType.INT8: DType.INT32, DType.INT16: DType.INT64, DType.FLOAT32: DType.FLOAT32}
"""The type of biases for each type of outputs."""


@dataclass(frozen=True)
class _Part:
    """A depthwise convolution of a slice of `source`: channels from `channel` on, rows from `row` on."""

    op: DepthwiseConv2D
    source: int
    row: int
    channel: int


def run(graph: Graph) -> Graph:
    while (joined := _join_one(graph)) is not None:
        graph = joined
    return graph


def _join_one(graph: Graph) -> Graph | None:
    for op in graph.ops:
        if isinstance(op, Concatenation) and op.axis == 3 and len(op.output(graph).shape) == 4:
            parts = [_part(graph, t) for t in op.inputs]
            convolutions = [p for p in parts if p is not None]
            if len(convolutions) == len(parts) and _fit(graph, op, convolutions):
                return _joined(graph, op, convolutions)
    return None


def _part(graph: Graph, tensor: int) -> _Part | None:
    op = graph.producers.get(tensor)
    if not isinstance(op, DepthwiseConv2D) or op.multiplier != 1 or graph.only_consumer(tensor) is None:
        return None
    if learned(graph, op):
        return None
    w = op.input(graph, 1)
    if w.dtype != op.input(graph).dtype or (w.quant is not None and w.quant.unsigned):
        return None
    source, row, channel = op.inputs[0], 0, 0
    while isinstance(cut := graph.producers.get(source), Slice):
        plain = cut.shape == cut.size and len(cut.shape) == 4 and set(cut.strides) == {1}
        shape = cut.input(graph).shape
        if not plain or cut.begin[2] or (cut.size[0], cut.size[2]) != (shape[0], shape[2]):
            break
        row, channel, source = row + cut.begin[1], channel + cut.begin[3], cut.inputs[0]
    return _Part(op, source, row, channel)


def _fit(graph: Graph, join: Op, parts: list[_Part]) -> bool:
    """Whether the parts together are all channels of one tensor in order, and have compatible parameters."""
    first = parts[0]
    channels = [p.op.output(graph).shape[3] for p in parts]
    if [p.channel for p in parts] != [sum(channels[:i]) for i in range(len(parts))]:
        return False
    shape = graph.tensors[first.source].shape
    if any(p.source != first.source for p in parts) or sum(channels) != shape[3]:
        return False
    for p in parts:
        v, f = p.op.vertical, first.op.vertical
        if (v.dilation, v.before, v.after, v.stride) != (1, 0, 0, f.stride):
            return False
        if (p.op.horizontal, p.op.activation) != (first.op.horizontal, first.op.activation):
            return False
    work = sum(p.op.macs(graph) for p in parts)
    axis, y = _axis(parts), join.output(graph)
    return axis.size(shape[1]) == y.shape[1] and y.size * axis.kernel * first.op.horizontal.kernel <= MOST_WORK * work


def _axis(parts: list[_Part]) -> Axis:
    return Axis(max(p.row + p.op.vertical.kernel for p in parts), parts[0].op.vertical.stride)


def _joined(graph: Graph, join: Op, parts: list[_Part]) -> Graph:
    axis, y = _axis(parts), join.output(graph)
    weights, scales = [], []
    biases: list[Array] = []
    for p in parts:
        w, channels = p.op.input(graph, 1), p.op.output(graph).shape[3]
        assert w.data is not None
        after = axis.kernel - p.row - w.shape[1]
        weights.append(np.pad(w.data, ((0, 0), (p.row, after), (0, 0), (0, 0))))
        if w.quant is not None:
            scales.append(np.broadcast_to(w.quant.scale, (channels,)))
        given = p.op.tensor(graph, 2)
        biases.append(bias_values(given, channels) if w.dtype == DType.INT8 else float_bias(given, channels))
    w = parts[0].op.input(graph, 1)
    kernel = np.concatenate(weights, 3)
    scale = np.concatenate(scales) if scales else None
    quant = None if scale is None else Quantization(scale, np.zeros(scale.size, np.int64), 3)
    bias = np.concatenate(biases).astype(BIASES[y.dtype].numpy)
    at = graph.fresh_id()
    tensors = [
        replace(w, id=at, shape=kernel.shape, quant=quant, data=kernel, copy_of=None),
        replace(w, id=at + 1, shape=bias.shape, dtype=DType(bias.dtype.name), quant=None, data=bias, copy_of=None),
    ]
    op = parts[0].op.with_(
        inputs=(parts[0].source, at, at + 1), outputs=(y.id,), name=join.name, index=join.index, vertical=axis
    )
    gone = {id(p.op) for p in parts}
    ops = [op if old is join else old for old in graph.ops if id(old) not in gone]
    return remove_dead_code.run(graph.with_ops(ops, tensors))
