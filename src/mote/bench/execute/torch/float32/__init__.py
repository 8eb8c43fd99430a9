"""Differentiable float implementations of operators in PyTorch, for many samples at once."""

from __future__ import annotations

import numpy as np
import torch

from mote.base.errors import MoteError
from mote.bench.execute.torch.float32 import elementwise, matrix, moves, recurrent, windows
from mote.bench.execute.torch.float32.common import Operands, Twin, Value
from mote.ir.graph import Graph, Op

TWINS: dict[type, Twin] = {
    **elementwise.TWINS,
    **matrix.TWINS,
    **moves.TWINS,
    **recurrent.TWINS,
    **windows.TWINS,
}
"""PyTorch implementations by operator class, which cover subclasses."""


def twin(graph: Graph, op: Op) -> Twin:
    """The PyTorch implementation of an operator; raises an error with the layer if there is none. Operators without
    float outputs use the reference, as nothing is differentiated."""
    function = next((TWINS[kind] for kind in type(op).__mro__ if kind in TWINS), None)
    if function is not None:
        return function
    if not op.bodies and not any(op.output(graph, position).dtype.real for position in range(len(op.outputs))):
        return reference
    raise MoteError(
        f"{op.kind} cannot be trained: no operator of PyTorch is known to compute the same",
        where=op.where,
        remedy="train the model where it comes from, or without this layer, and quantize the result",
    )


def reference(g: Graph, op: Op, values: Operands) -> tuple[Value, ...]:
    """Falls back to the NumPy reference, sample by sample."""
    there = [x for x in values if x is not None]
    samples, device = max((x.shape[0] for x in there), default=1), there[0].device if there else None
    arrays = [None if x is None else x.detach().expand(samples, *x.shape[1:]).cpu().numpy() for x in values]
    by_sample = []
    for k in range(samples):
        results = op.evaluate(g, [None if x is None else x[k] for x in arrays])
        tensors = (op.output(g, position) for position in range(len(results)))
        by_sample.append([np.asarray(r, t.dtype.numpy).reshape(t.shape) for r, t in zip(results, tensors, strict=True)])
    return tuple(torch.from_numpy(np.stack(each)).to(device) for each in zip(*by_sample, strict=True))
