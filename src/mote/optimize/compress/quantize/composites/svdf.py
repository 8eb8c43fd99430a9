"""Quantizes SVDF for LiteRT's integer kernel: int8 filters, int16 state and time weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.recurrent.svdf import BIAS, STATE, Svdf
from mote.optimize.compress.quantize.composites.scope import CompositeBuilder, ObserveCallback
from mote.optimize.compress.quantize.encode import steps

MOST_SUM = 32767
"""Maximum sum of absolute time weights of a unit, so that accumulated int16 products fit 31 bits."""


def trace(graph: Graph, op: Svdf, values: Sequence[Array | None], samples: int, see: ObserveCallback) -> None:
    x, w, kept = values[0], values[1], values[STATE]
    assert x is not None and w is not None and kept is not None
    see("state", kept)
    see("state", x.reshape(-1, w.shape[1]).astype(np.float64) @ w.T)


def problem(graph: Graph, op: Svdf) -> str | None:
    real = all(op.input(graph, p).dtype == DType.FLOAT32 for p in (1, 2))
    return None if real else "its weights are integers already"


def write(scope: CompositeBuilder, op: Svdf) -> None:
    quant = steps(*scope.inside["state"], DType.INT16)
    kept = scope.retyped(op.inputs[STATE], DType.INT16, quant)
    scope.retyped(op.outputs[1], DType.INT16, quant)
    time = scope.data(2)
    largest = float(np.abs(time).sum(axis=1).reshape(-1, op.rank).sum(axis=1).max()) / MOST_SUM
    over_time = scope.weights("weights over time", time, DType.INT16, least=largest)
    inputs = [scope.x.id, scope.weights("weights", scope.data(1)).id, over_time.id]
    if op.tensor(scope.graph, BIAS) is None:
        inputs.append(-1)
    else:
        scale = float(np.float32(kept.scale) * np.float32(over_time.scale))
        inputs.append(scope.bias("bias", scope.data(BIAS), scale).id)
    scope.add(Svdf, [*inputs, kept.id], scope.y, more=op.outputs[1:], rank=op.rank, activation=op.activation)
