"""Merge channels that always have equal values: one of them stays, and the weights that layers have for the others are
added to its weights, as far as int8 holds the sums."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.compiler.passes.shrinking.removable_channels import ChannelReader, Layer, layers, removable, remove, taps_of
from mote.compiler.passes.shrinking.report import Removal, RemovalKind
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

COPIES = RemovalKind(
    "channels that are copies",
    "they are made with the same numbers from the same channels; weights for them are added to those for the first one",
)
MOST = 127
"""Maximum magnitude of an int8 weight."""


def run(graph: Graph) -> tuple[Graph, list[Removal]]:
    first = _first_alike(graph)
    readers, needed = {}, {t: np.zeros(len(f), np.bool_) for t, f in first.items()}
    for layer, columns in layers(graph):
        reader = readers[id(layer)] = _reader(graph, layer, columns, first[layer.inputs[0]])
        needed[layer.inputs[0]][columns[reader.into[reader.into != OUTSIDE]]] = True
    if not any(reader.dispensable.any() for reader in readers.values()):
        return graph, []
    free = removable(graph, readers, needed)
    removals = [Removal(op.index, COPIES, n) for op in graph.ops if (n := int(free[op.outputs[0]].sum()))]
    return (remove(graph, free, readers), removals) if removals else (graph, [])


def _reader(graph: Graph, layer: Layer, columns: Ints, first: Ints) -> ChannelReader:
    taps = taps_of(graph, layer)
    sums, into = taps.astype(np.int64), np.full(len(columns), OUTSIDE, np.int64)
    least, most = (-MOST, MOST) if graph.tensors[layer.inputs[1]].dtype == DType.INT8 else (taps.min(), taps.max())
    for channel in np.flatnonzero(first != np.arange(len(first), dtype=np.int64)):
        own = np.flatnonzero(columns == channel)
        other = own - channel + first[channel]
        both = sums[:, :, other] + taps[:, :, own]
        if least <= both.min() and both.max() <= most:
            sums[:, :, other], into[own] = both, other
    nothing = np.zeros((len(taps), len(columns)), np.int64)
    return ChannelReader(columns, (taps != 0).max(axis=1), into != OUTSIDE, nothing, into)


def _first_alike(graph: Graph) -> dict[int, Ints]:
    """For each channel of each tensor: the first channel that always has the same values."""
    firsts = {i: np.arange(t.channels, dtype=np.int64) for i, t in graph.tensors.items() if t.data is None}
    for op in graph.ops:
        threads, computed = op.channel_sources(graph), op.computed(graph)
        if not computed or not (isinstance(op, Layer) or all(p in (threads or {}) for p, _ in computed)):
            continue
        rows = _made_of(graph, op, threads or {}, firsts)
        if (values := graph.ranges.get(op.outputs[0])) is not None:
            rows = np.where(values.constant[:, None], 0, rows)
            rows = np.column_stack([rows, values.constant, np.where(values.constant, values.low, 0)])
        seen: dict[bytes, int] = {}
        firsts[op.outputs[0]] = np.array([seen.setdefault(row.tobytes(), c) for c, row in enumerate(rows)], np.int64)
    return firsts


def _made_of(graph: Graph, op: Op, threads: Mapping[int, Ints], first: Mapping[int, Ints]) -> Ints:
    """A row of numbers per output channel that describes how it is computed: channels with equal rows have equal
    values. Views put several pixels into the channels of one."""
    channels = np.arange(op.output(graph).channels, dtype=np.int64)
    parts = [channels // op.input(graph).channels] if op.is_view else []
    for position in range(len(op.inputs)):
        t = op.tensor(graph, position)
        if t is not None and t.data is not None:
            parts += _own_parts(t, 0 if isinstance(op, Layer) else -1, channels)
        elif t is not None and position in threads:
            source = threads[position]
            parts.append(np.where(source == OUTSIDE, OUTSIDE, first[t.id][source]))
    return np.column_stack([channels * 0, *parts])


def _own_parts(t: Tensor, axis: int, channels: Ints) -> list[Ints]:
    """The values and scales of a constant, per channel; none if they are equal for all channels."""
    assert t.data is not None
    data = t.data.reshape(-1) if t.size == len(channels) else t.data
    if t.size == 1 or (axis == -1 and t.channels == 1):
        return []
    assert data.shape[axis] == len(channels)
    scales = np.zeros(1) if t.quant is None else t.quant.scale.astype(np.float64)
    own = np.moveaxis(data, axis, 0).reshape(len(channels), -1)
    return [_bits(own), _bits(np.broadcast_to(scales, len(channels)))]


def _bits(values: Array) -> Ints:
    """Values as int64 for comparison of rows: floats by their bits."""
    return values.astype(np.float64).view(np.int64) if values.dtype.kind == "f" else values.astype(np.int64)
