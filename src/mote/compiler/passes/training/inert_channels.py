"""Inert channels: always zero, whatever is learned, as they have no weights and their activation cuts off their bias,
or as they depend only on such channels. No gradient passes them, so that training removes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from mote.base.integers import repeat
from mote.compiler.passes.shrinking.removable_channels import Mask, layers, removable, remove, taps_of
from mote.compiler.passes.shrinking.shrink_channels import reader
from mote.compiler.passes.training.choice import LEARNING
from mote.compiler.passes.training.integer_gradients import activation_of
from mote.ir.graph import Graph, Op
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.types import DType
from mote.ir.ops.common import WEIGHTS, int8_range
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


def without_inert_channels(graph: Graph, learned: Collection[int]) -> tuple[Graph, frozenset[int]]:
    """The graph without inert channels, and the ids of its learned constants."""
    inert, columns = _inert(graph), dict(layers(graph))
    readers = {id(layer): reader(graph, layer, own) for layer, own in columns.items()}
    free = removable(graph, readers, {i: ~mask for i, mask in inert.items()})
    if not any(mask.any() for mask in free.values()):
        return graph, frozenset(learned)
    narrow = remove(graph, free, readers)
    operands = (zip(a.inputs, b.inputs, strict=False) for a, b in zip(graph.ops, narrow.ops, strict=True))
    return narrow, frozenset(new for pairs in operands for old, new in pairs if old in learned)


def _inert(graph: Graph) -> Mapping[int, Mask]:
    """A mask of the inert channels of each activation tensor."""
    columns = {id(layer): own for layer, own in layers(graph)}
    inert = {i: np.zeros(t.channels, bool) for i, t in graph.tensors.items() if t.data is None}
    for op in graph.ops:
        out = op.output(graph)
        if out.dtype == DType.INT8 and out.quant is not None:
            limits = graph.ranges[out.id]
            zero = np.broadcast_to(limits.constant & (limits.low == out.zero_point), (out.channels,))
            inert[out.id] = zero & _fed_by_inert(graph, op, inert, columns.get(id(op)))
    return inert


def _fed_by_inert(graph: Graph, op: Op, inert: Mapping[int, Mask], columns: np.ndarray | None) -> Mask:
    """A mask of an operator's output channels that only inert channels contribute to."""
    none = np.zeros(op.output(graph).channels, bool)
    if columns is not None:
        weights = (taps_of(graph, op) != 0).any(axis=1)  # type: ignore[arg-type]
        return ~weights[:, ~inert[op.inputs[0]][columns]].any(axis=1) if _cuts_off_zero(graph, op) else none
    if isinstance(op, DepthwiseConv2D):
        w = op.input(graph, WEIGHTS).data
        if w is None or not _cuts_off_zero(graph, op):
            return none
        return repeat(inert[op.inputs[0]], op.multiplier) | ~w.reshape(-1, w.shape[-1]).any(axis=0)
    threads = None if isinstance(op, LEARNING) else op.channel_sources(graph)
    if not threads or len(threads) < len(list(op.computed(graph))):
        return none
    fed = ~none
    for position, source in threads.items():
        fed &= inert[op.inputs[position]][source] | (source == OUTSIDE)
    return fed


def _cuts_off_zero(graph: Graph, op: Op) -> bool:
    """Whether the activation of a layer passes no gradient if its output is zero."""
    out, activation = op.output(graph), activation_of(op, op.output(graph))
    return activation.bounds[0] == 0 and int8_range(activation, out)[0] == out.zero_point
