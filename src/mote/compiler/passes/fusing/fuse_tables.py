"""Fuse element-wise int8 functions of one tensor into one lookup table: chains of them (requantization, activations,
DEQUANTIZE then QUANTIZE), and sums and products of several functions of the same tensor, as converters write SiLU, GELU
or hard swish, or of a tensor with itself.

Such a function has 256 possible inputs, so that a table of 256 bytes has all results: exact by construction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.compiler.passes.fusing.single_source_regions import SourceRegion, by_elements, regions
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.activations import LookupTable
from mote.ir.ops.elementwise.fused_elementwise import elementwise

BYTES = (DType.INT8, DType.UINT8)
INT8 = np.arange(-128, 128, dtype=np.int64).astype(np.int8)


def run(graph: Graph) -> Graph:
    while (fused := _fuse_one(graph)) is not None:
        graph = fused
    return graph


def _fuse_one(graph: Graph) -> Graph | None:
    for source, x in graph.tensors.items():
        if x.dtype not in BYTES or x.data is not None:
            continue
        for region in regions(graph, source, lambda op: by_elements(graph, op)):
            if _worth_a_table(region) and region.last.output(graph).dtype in BYTES:
                return region.replaced(graph, _table(graph, region))
    return None


def _worth_a_table(region: SourceRegion) -> bool:
    """Whether a region is worth a table: several functions, or one of a tensor and itself, such as a square."""
    return len(region.ops) > 1 or region.last.inputs.count(region.source) > 1


def _table(graph: Graph, region: SourceRegion) -> LookupTable:
    last = region.last
    return LookupTable(
        inputs=(region.source,),
        outputs=last.outputs,
        name=last.name,
        index=last.index,
        values=_results(graph, region),
    )


def _results(graph: Graph, region: SourceRegion) -> NDArray[np.int8]:
    """The outputs of a region for all 256 int8 values."""
    codes = INT8.view(graph.tensors[region.source].dtype.numpy)
    return elementwise(graph, region.ops, {region.source: codes})[region.last.outputs[0]].view(np.int8)
