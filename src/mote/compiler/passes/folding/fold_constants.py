"""Evaluate operators whose inputs are all constants.

Operators that compute model outputs stay, as callers read outputs from the arena.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.graph import ABSENT


def run(graph: Graph) -> Graph:
    tensors = dict(graph.tensors)
    kept = []
    for op in graph.ops:
        args = [None if i == ABSENT else tensors[i].data for i in op.inputs]
        known = all(i == ABSENT or value is not None for i, value in zip(op.inputs, args, strict=True))
        if not known or set(op.outputs) & set(graph.outputs):
            kept.append(op)
            continue
        for out, value in zip(op.outputs, op.evaluate(graph, args), strict=True):
            t = tensors[out]
            data = np.asarray(value).astype(t.dtype.numpy, copy=False).reshape(t.shape)
            tensors[out] = replace(t, data=data)
    return graph.with_ops(kept, tensors.values())
