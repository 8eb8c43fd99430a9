"""Fuse element-wise float32 functions of one tensor into one operator: SiLU, GELU and hard swish as converters write
them, and any other combination of such functions, sums and products. All roundings stay the same."""

from __future__ import annotations

from mote.compiler.passes.fusing.single_source_regions import by_elements, regions
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.fused_elementwise import FusedElementwise, is_part


def run(graph: Graph) -> Graph:
    while (fused := _fuse_one(graph)) is not None:
        graph = fused
    return graph


def _fuse_one(graph: Graph) -> Graph | None:
    for source, x in graph.tensors.items():
        if x.dtype != DType.FLOAT32 or x.data is not None:
            continue
        for region in regions(graph, source, lambda op: by_elements(graph, op) and is_part(graph, op)):
            if len(region.ops) > 1:
                last = region.last
                inner = Graph("formula", graph.tensors, (), (source,), last.outputs).with_ops(region.ops)
                formula = FusedElementwise(
                    inputs=(source,), outputs=last.outputs, name=last.name, index=last.index, inner=inner
                )
                return region.replaced(graph, formula)
    return None
