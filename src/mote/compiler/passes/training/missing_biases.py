"""Int8 layers that learn and have no bias get one of zeros, as kernels of learned weights need it; it does not
learn."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mote.compiler.passes.training.choice import LAYERS
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.common import BIAS, WEIGHTS


def with_biases(graph: Graph, learned: Collection[int]) -> Graph:
    """The graph in which each layer whose weights learn has a bias."""
    made: list[Tensor] = []

    def biased(op: Op) -> Op:
        if not isinstance(op, LAYERS) or op.inputs[WEIGHTS] not in learned or op.tensor(graph, BIAS) is not None:
            return op
        zeros = np.zeros(op.output(graph).channels, np.int32)
        made.append(Tensor(graph.fresh_id() + len(made), f"{op.name}/bias", zeros.shape, DType.INT32, data=zeros))
        return op.with_(inputs=(*op.inputs[:BIAS], made[-1].id))

    ops = [biased(op) for op in graph.ops]
    return graph.with_ops(ops, made) if made else graph
