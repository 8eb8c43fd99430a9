"""Half precision: weights of float32 convolutions and fully connected layers become float16, in which Helium computes
eight products at once. Other layers are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.common import float_bias
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D

KINDS = (Conv2D, FullyConnected)


def run(graph: Graph, wanted: Callable[[Op], bool] = lambda op: True) -> tuple[Graph, str]:
    chosen = [op for op in graph.ops if type(op) in KINDS and wanted(op) and _fits(graph, op)]
    rounded: dict[int, Tensor] = {}
    fresh, ops = graph.fresh_id(), []
    for op in graph.ops:
        if op in chosen:
            weights = op.input(graph, 1)
            if weights.id not in rounded:
                assert weights.data is not None
                data = weights.data.astype(np.float16)
                rounded[weights.id] = replace(weights, id=fresh, dtype=DType.FLOAT16, data=data, stored=None)
                fresh += 1
            op = op.with_(inputs=(op.inputs[0], rounded[weights.id].id, *op.inputs[2:]))
        ops.append(op)
    layers = sum(op.macs(graph) > 0 for op in graph.ops)
    detail = f"{len(chosen)} of {layers} layers with products are computed in half precision"
    return graph.with_ops(ops, rounded.values()), detail


def _fits(graph: Graph, op: Op) -> bool:
    """Whether a layer is float32 and its constants are finite in half precision."""
    x, w = op.input(graph), op.input(graph, 1)
    if x.dtype != DType.FLOAT32 or w.dtype != DType.FLOAT32 or w.data is None:
        return False
    with np.errstate(over="ignore"):
        constants = w.data, float_bias(op.tensor(graph, 2), op.output(graph).shape[-1])
        return all(bool(np.isfinite(each.astype(np.float16)).all()) for each in constants)
