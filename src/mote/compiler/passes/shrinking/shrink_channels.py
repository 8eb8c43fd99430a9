"""Remove channels that have no effect: those that no layer has weights for, and constant ones, whose contribution to
the layers that read them is added to the bias.

Padding is the zero point: a channel with another constant value is folded only if no window of the layer is padded.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.compiler.passes.shrinking.removable_channels import (
    ChannelReader,
    Layer,
    Mask,
    Readers,
    layers,
    removable,
    remove,
    taps_of,
)
from mote.compiler.passes.shrinking.report import Removal, RemovalKind
from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, Ints
from mote.ir.graph.rows import OUTSIDE
from mote.ir.ops.common import bias_values
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

UNREAD = RemovalKind("unread channels", "the layers that read them have no weights but zeros for them")
SILENT = RemovalKind(
    "channels without weights",
    "all their own weights are zero: they are constants, which the layers that read them add to their biases",
)
SETTLED = RemovalKind(
    "channels with one possible value",
    "the least and the largest of their sums for any inputs, padded or not, give the same value: constants again",
)


def run(graph: Graph) -> tuple[Graph, list[Removal]]:
    readers = {id(layer): reader(graph, layer, columns) for layer, columns in layers(graph)}
    free = removable(graph, readers, {})
    if not any(mask.any() for mask in free.values()):
        return graph, []
    return remove(graph, free, readers), _removals(graph, free, readers)


def reader(graph: Graph, layer: Layer, columns: Ints) -> ChannelReader:
    """How a layer reads its input, if channels without weights and constant channels can be removed."""
    x, taps = layer.input(graph), taps_of(graph, layer)
    limits = graph.ranges[x.id]
    value = np.where(limits.constant, limits.low - x.zero_point, 0)[columns]
    part = taps.sum(axis=1, dtype=np.int64) * value
    bias = bias_values(layer.tensor(graph, 2), len(taps))
    fits = bool((np.abs(bias) + np.abs(part).sum(axis=1)).max() <= INT32_MAX)
    foldable = limits.constant[columns] & ((value == 0) | (fits and not _padded(graph, layer)))
    return ChannelReader(columns, (taps != 0).max(axis=1), foldable, part, np.full(len(columns), OUTSIDE, np.int64))


def _padded(graph: Graph, layer: Layer) -> bool:
    """Whether windows are padded."""
    if isinstance(layer, Conv2D):
        return not all(ways.all() for ways in layer.present(graph))
    return not isinstance(layer, FullyConnected)


def _removals(graph: Graph, free: Mapping[int, Mask], readers: Readers) -> list[Removal]:
    """The removed channels, counted for the layer that computed them."""
    folded = {t: np.zeros_like(mask) for t, mask in free.items()}
    for op in reversed(graph.ops):
        if reader := readers.get(id(op)):
            used = reader.weights[~free[op.outputs[0]]].any(axis=0) & free[op.inputs[0]][reader.columns]
            folded[op.inputs[0]][reader.columns[used]] = True
            continue
        threads = op.channel_sources(graph) or {}
        for position, i in op.computed(graph):
            if position in threads:
                source = threads[position]
                folded[i][source[folded[op.outputs[0]] & (source != OUTSIDE)]] = True
    removals = []
    silent = {t: np.zeros_like(mask) for t, mask in free.items()}
    for op in graph.ops:
        y = op.outputs[0]
        silent[y] = _without_weights(graph, op, silent)
        gone, constant = free[y], folded[y]
        counts = {UNREAD: gone & ~constant, SILENT: gone & constant & silent[y], SETTLED: gone & constant & ~silent[y]}
        removals += [Removal(op.index, kind, int(mask.sum())) for kind, mask in counts.items() if mask.any()]
    return removals


def _without_weights(graph: Graph, op: Op, silent: Mapping[int, Mask]) -> Mask:
    """The output channels with only zero weights, and those of other operators that depend only on such channels."""
    zero = np.zeros(op.output(graph).channels, np.bool_)
    if isinstance(op, Layer | DepthwiseConv2D):
        weights = op.input(graph, 1).data
        assert weights is not None
        axis = weights.ndim - 1 if isinstance(op, DepthwiseConv2D) else 0
        zero = (weights == 0).min(axis=tuple(i for i in range(weights.ndim) if i != axis))
    threads, computed = op.channel_sources(graph) or {}, op.computed(graph)
    if computed and all(p in threads for p, _ in computed):
        zero |= np.logical_and.reduce([silent[i][threads[p]] | (threads[p] == OUTSIDE) for p, i in computed])
    return zero
