"""Fuse operators over the last axis, each vector of which is independent, into one operator: layer normalization, RMS
normalization and L2 normalization, as converters write them.

The kernel of the fused operator runs the kernels of the operators line by line: all roundings stay the same, and of
intermediate tensors there is only one line at a time.
"""

from __future__ import annotations

from functools import partial

from mote.compiler.passes.fusing.single_source_regions import SourceRegion, regions
from mote.ir.graph import Graph
from mote.ir.ops.reductions.fused_last_axis import TYPES, Lines, of_lines
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import Sum

LEAST_SIZE = 16
"""Minimum length of lines: for shorter ones the calls for each line would cost more than fusing saves."""


def run(graph: Graph) -> Graph:
    while (fused := _fuse_one(graph)) is not None:
        graph = fused
    return graph


def _fuse_one(graph: Graph) -> Graph | None:
    for source, x in graph.tensors.items():
        if x.data is not None or x.dtype not in TYPES or len(x.shape) < 2 or x.shape[-1] < LEAST_SIZE:
            continue
        for region in regions(graph, source, partial(of_lines, graph, x.shape)):
            if _normalizes(graph, region):
                last = region.last
                inner = Graph("lines", graph.tensors, (), (source,), last.outputs).with_ops(region.ops)
                lines = Lines(inputs=(source,), outputs=last.outputs, name=last.name, index=last.index, inner=inner)
                return region.replaced(graph, lines)
    return None


def _normalizes(graph: Graph, region: SourceRegion) -> bool:
    """Whether a region computes a number for each line and then a line from it again, like a normalization."""
    same = region.last.output(graph).shape == graph.tensors[region.source].shape
    return same and any(isinstance(op, Mean | Sum) for op in region.ops)
