"""Fold a requantization into the layer before it, if rounding once equals rounding twice for every possible accumulator
value; checked at each threshold where the result changes."""

from __future__ import annotations

import numpy as np

from mote.compiler.passes.shrinking.report import Removal, RemovalKind
from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.numeric.staircase import thresholds
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import int8_range
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

Summing = Conv2D | DepthwiseConv2D | FullyConnected

COMPOSED = RemovalKind(
    "requantizations", "the layer before gives the same results at once, checked at every step of its sums' results"
)


def run(graph: Graph) -> tuple[Graph, list[Removal]]:
    for layer in graph.ops:
        after = graph.only_consumer(layer.outputs[0])
        if isinstance(layer, Summing) and after is not None:
            table = after.table(graph) if layer.output(graph).dtype == after.output(graph).dtype == DType.INT8 else None
            if table is not None and (composed := _composed(graph, layer, after, table.astype(np.int64))):
                return composed, [Removal(after.index, COMPOSED, 1)]
    return graph, []


def _composed(graph: Graph, layer: Summing, after: Op, table: Ints) -> Graph | None:
    """The graph in which the layer computes the output of the requantization directly, if all values stay the same;
    else None."""
    values = graph.ranges[layer.outputs[0]]
    reached = table[int(values.low.min()) + 128 : int(values.high.max()) + 129]
    if np.any(np.diff(reached) < 0):
        return None
    twice = layer.sums(graph, graph.ranges[layer.inputs[0]])
    bounds = int8_range(layer.activation, layer.output(graph))
    for activation in dict.fromkeys((Activation.NONE, layer.activation)):
        joined = layer.with_(outputs=after.outputs, activation=activation)
        candidate = graph.with_ops(joined if op is layer else op for op in graph.ops if op is not after)
        once = joined.sums(candidate, graph.ranges[layer.inputs[0]])
        own = int8_range(activation, joined.output(candidate))
        same = all(_same(twice, bounds, table, once, own, c) for c in range(len(values.low)))
        if same and not joined.unsupported(candidate):
            return candidate
    return None


def _same(
    twice: Accumulators, bounds: tuple[int, int], table: Ints, once: Accumulators, own: tuple[int, int], channel: int
) -> bool:
    """Whether rounding twice and rounding once give the same result for each possible accumulator value of a
    channel."""
    at = slice(channel, channel + 1)
    low, high = int(twice.low[channel]), int(twice.high[channel])
    if not (twice.fits[channel] and once.fits[channel]):
        return False

    def before(x: Ints) -> Ints:
        return table[np.clip(twice.outputs(x, at), *bounds) + 128]

    def now(x: Ints) -> Ints:
        return np.clip(once.outputs(x, at), *own)

    ends = np.array([low, high], np.int64)
    if not np.array_equal(before(ends), now(ends)):
        return False
    return np.array_equal(thresholds(before, low, high), thresholds(now, low, high))
