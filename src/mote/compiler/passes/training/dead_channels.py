"""Output channels with only zero weights, which training and pruning leave: converters give their weights tiny scales,
with which int32 has no room for a learned bias."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import BIAS, MOST_LEARNED_BITS, WEIGHTS, real_scales
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D, finish
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


def with_room(graph: Graph, learned: Collection[int]) -> Graph:
    """The graph in which dead channels of layers that learn have the median weight scale of the layer's other channels,
    and biases requantized for it, if int32 had no room for the bias plus half of the output range. A channel is
    unchanged if its output would change."""
    tensors = dict(graph.tensors)
    for op in graph.ops:
        if any(i in learned for i in op.inputs) and _own_scales(graph, op):
            tensors |= {t.id: t for t in _roomy(graph, op)}
    return replace(graph, tensors=tensors)


def _own_scales(graph: Graph, op: Op) -> bool:
    """Whether a layer has a bias, and int8 weights with per-channel scales that no other layer shares."""
    if not isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected) or op.tensor(graph, BIAS) is None:
        return False
    w, operands = op.input(graph, WEIGHTS), op.inputs[WEIGHTS:]
    per_channel = w.dtype == DType.INT8 and w.quant is not None and w.quant.per_channel
    constant = all(graph.tensors[i].data is not None and len(graph.consumers[i]) == 1 for i in operands)
    return per_channel and constant


def _roomy(graph: Graph, op: Op) -> tuple[Tensor, Tensor]:
    """The weights and bias of a layer with larger scales for dead channels, so that biases can learn."""
    x, w, b, y = op.input(graph), op.input(graph, WEIGHTS), op.input(graph, BIAS), op.output(graph)
    assert w.quant is not None and w.data is not None and b.data is not None
    half_range = -y.dtype.limits[0] / real_scales(x, w, y, y.channels)
    limit = 1 << MOST_LEARNED_BITS
    full = np.abs(b.data.astype(np.float64)) + half_range > limit
    dead = ~np.moveaxis(w.data, w.quant.axis, 0).reshape(y.channels, -1).any(axis=1)
    if full.all() or not (full & dead).any():
        return w, b
    before = w.quant.scale
    scale = np.where(full & dead, np.median(before[~full]), before).astype(np.float32)
    bias = np.clip(np.rint(b.data * (before.astype(np.float64) / scale)), -limit, limit).astype(b.data.dtype)
    changed = graph.with_ops(graph.ops, _requantized(w, b, scale, bias))
    same = _outputs_of_biases(changed, op, bias) == _outputs_of_biases(graph, op, b.data)
    return _requantized(w, b, np.where(same, scale, before), np.where(same, bias, b.data))


def _requantized(w: Tensor, b: Tensor, scale: NDArray[np.float32], bias: Array) -> tuple[Tensor, Tensor]:
    assert w.quant is not None
    return replace(w, quant=replace(w.quant, scale=scale)), replace(b, data=bias)


def _outputs_of_biases(graph: Graph, op: Op, bias: Array) -> Array:
    """The output of each channel if all products are zero, so that only the bias counts."""
    assert isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected)
    sums = np.zeros((1, bias.size))
    return finish(graph, op, (None, None, bias), sums, op.activation, op.rounding).reshape(-1)
