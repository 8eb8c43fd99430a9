"""Fuse chains of int8 functions of one value (requantization, activations, DEQUANTIZE then QUANTIZE) into one.

Such a function has 256 possible inputs, so any chain of them is one table of 256 bytes: exact by construction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph, Op
from mote.graph.types import DType
from mote.ops.unary import Table

INT8 = np.arange(-128, 128).astype(np.int8)


def run(graph: Graph) -> Graph:
    while (fused := _fuse_one(graph)) is not None:
        graph = fused
    return graph


def _fuse_one(graph: Graph) -> Graph | None:
    for first in graph.ops:
        second = graph.only_consumer(first.outputs[0])
        if second is not None and (values := _composed(graph, first, second)) is not None:
            ((_, x),) = first.computed(graph)
            table = Table(
                inputs=(x,),
                outputs=second.outputs,
                name=second.name,
                index=second.index,
                values=values,
            )
            return graph.with_ops(table if op is second else op for op in graph.ops if op is not first)
    return None


def _composed(graph: Graph, first: Op, second: Op) -> NDArray[np.int8] | None:
    """Both operators as one table, if together they are a function of one int8 value."""
    computed, y = first.activations(graph), second.output(graph)
    if len(computed) != 1 or not {computed[0].dtype, y.dtype} <= {DType.INT8, DType.UINT8}:
        return None
    if first.kind == "DEQUANTIZE" and second.kind == "QUANTIZE":
        (real,) = first.evaluate(graph, [INT8.view(computed[0].dtype.numpy)])
        (back,) = second.evaluate(graph, [real])
        return back.astype(np.int8)
    inner, outer = first.table(graph), second.table(graph)
    if inner is None or outer is None:
        return None
    return outer[inner.astype(np.int64) + 128]
