"""Make decision forests integer-only: quantized features are compared as stored, and a class is chosen by integer sums.

Exporters put DEQUANTIZE before a forest, and CAST between its sums and ARG_MAX. Neither changes which branch is taken
or which sum is the largest, but each needs floating point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.passes.folding import remove_dead_code
from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.classical.forest import FEATURE_TYPES, Forest, Trees
from mote.ir.ops.elementwise.cast import Cast
from mote.ir.ops.elementwise.quantize import Dequantize, dequantized
from mote.ir.ops.reductions.along_axis import ArgExtreme, ArgMax

EXACT = 1 << 24
"""Limit up to which all integers are exact in float32."""
STORED = tuple(dtype for dtype in FEATURE_TYPES if dtype.integer and dtype.itemsize <= 2)
"""Types of features with so few values that all can be enumerated."""


def run(graph: Graph) -> Graph:
    for op in graph.ops:
        if isinstance(op, Forest):
            graph = _stored_features(graph, op)
        elif isinstance(op, Cast):
            graph = _narrow_index(graph, op)
    for op in graph.ops:
        if isinstance(op, ArgExtreme):
            graph = _integer_sums(graph, op)
    graph = remove_dead_code.run(graph)
    for op in graph.ops:
        if isinstance(op, ArgMax):
            graph = _votes_of_one(graph, op)
    return graph


def _stored_features(graph: Graph, forest: Forest) -> Graph:
    """The graph in which a forest reads the quantized features before DEQUANTIZE."""
    before = graph.producers.get(forest.inputs[0])
    if not isinstance(before, Dequantize):
        return graph
    x = before.input(graph)
    if x.dtype not in STORED or x.quant is None or x.quant.per_channel:
        return graph
    return _with(graph, forest, forest.with_(inputs=before.inputs, trees=_over_stored(forest.trees, x)))


def _over_stored(trees: Trees, x: Tensor) -> Trees:
    """The trees with thresholds for stored integers, which take the same branches as their dequantized values."""
    low, high = x.dtype.limits
    numbers = dequantized(np.arange(low, high + 1, dtype=np.int64), x)
    below = np.searchsorted(numbers, trees.threshold, side="right")
    never = below == 0

    def led(references: Ints) -> Ints:
        """References to nodes, with nodes skipped whose condition no stored value fulfils."""
        while np.any(skipped := (references >= 0) & never[np.maximum(references, 0)]):
            references = np.where(skipped, trees.no[np.maximum(references, 0)], references)
        return references

    if not trees.nodes:
        never = np.zeros(1, bool)
    return replace(
        trees,
        threshold=np.maximum(low + below - 1, low).astype(x.dtype.numpy),
        yes=led(trees.yes),
        no=led(trees.no),
        roots=led(trees.roots),
        missing=np.zeros(trees.nodes, bool),
        numbers=True,
    )


def _narrow_index(graph: Graph, cast: Cast) -> Graph:
    """Makes the operator compute an int32 index directly, if the index is cast to int32."""
    index = graph.producers.get(cast.inputs[0])
    if not isinstance(index, ArgExtreme) or cast.output(graph).dtype != DType.INT32:
        return graph
    if graph.only_consumer(index.outputs[0]) is None:
        return graph
    narrow = index.with_(outputs=cast.outputs)
    return graph.with_ops(narrow if op is index else op for op in graph.ops if op is not cast)


def _integer_sums(graph: Graph, index: ArgExtreme) -> Graph:
    """Makes ARG_MAX or ARG_MIN compare integer sums directly, if float32 represents all of them exactly."""
    view, cast = _given(graph, index)
    forest = graph.producers.get(cast.inputs[0]) if isinstance(cast, Cast) else None
    if not isinstance(cast, Cast) or not isinstance(forest, Forest) or forest.output(graph).dtype != DType.INT32:
        return graph
    if cast.output(graph).dtype != DType.FLOAT32 or forest.trees.magnitudes.max() > EXACT:
        return graph
    reader = view or index
    return _integers(_with(graph, reader, reader.with_(inputs=cast.inputs)), view)


def _votes_of_one(graph: Graph, index: ArgMax) -> Graph:
    """Replaces the leaf values of a single tree, of which only the class is used, by one vote for the leaf's class."""
    view, forest = _given(graph, index)
    if not isinstance(forest, Forest) or graph.only_consumer(forest.outputs[0]) is not (view or index):
        return graph
    trees = forest.trees
    shape = index.input(graph).shape
    if trees.roots.size != 1 or trees.outputs == 1 or shape[-1] != trees.outputs or index.axis != len(shape) - 1:
        return graph
    sums = np.repeat(trees.base[None, :], len(trees.values), axis=0)
    sums[
        np.arange(len(sums), dtype=np.int64)[:, None], trees.columns[:, None] + np.arange(trees.width, dtype=np.int64)
    ] += trees.values
    votes = replace(
        trees,
        columns=np.argmax(sums, axis=1).astype(np.int64),
        values=np.ones((len(sums), 1), np.int32),
        base=np.zeros(trees.outputs, np.int32),
    )
    return _integers(_integers(_with(graph, forest, forest.with_(trees=votes)), view), forest)


def _given(graph: Graph, index: ArgExtreme) -> tuple[Op | None, Op | None]:
    """The reshape that feeds an index operator, if it has no other reader, and the operator before it."""
    before = graph.producers.get(index.inputs[0])
    if before is None or not before.is_view or graph.only_consumer(before.outputs[0]) is None:
        return None, before
    return before, graph.producers.get(before.inputs[0])


def _integers(graph: Graph, op: Op | None) -> Graph:
    """The graph in which the output of an operator, if there is one, is int32."""
    return graph if op is None else graph.with_ops(graph.ops, [replace(op.output(graph), dtype=DType.INT32)])


def _with(graph: Graph, before: Op, after: Op) -> Graph:
    return graph.with_ops(after if op is before else op for op in graph.ops)
