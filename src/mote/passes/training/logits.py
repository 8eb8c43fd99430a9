"""The int8 logits of a classifier, on which the cross entropy of integer training judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mote.errors import MoteError
from mote.graph import Graph, Tensor
from mote.graph.tensor import Array
from mote.graph.types import DType
from mote.ops.elementwise.quantize import Dequantize, dequantized
from mote.ops.reductions.softmax import Softmax


@dataclass(frozen=True)
class Logits:
    """The logits of a model's first output."""

    tensor: Tensor
    beta: float
    classified: int
    """The softmax of the logits, or the logits where the model has none."""

    def probability(self, values: Mapping[int, Array], label: int) -> float:
        """The softmax of the label's class."""
        z = self.beta * dequantized(values[self.tensor.id], self.tensor).reshape(-1).astype(np.float64)
        e = np.exp(z - z.max())
        return float(e[label] / e.sum())


def logits_of(graph: Graph) -> Logits:
    """The logits behind a softmax, if there is one, and before the model's outputs are made floats."""
    output = graph.outputs[0]
    while isinstance(op := graph.producers.get(output), Dequantize):
        output = op.inputs[0]
    tensor, beta = (op.inputs[0], op.beta) if isinstance(op, Softmax) else (output, 1.0)
    while isinstance(before := graph.producers.get(tensor), Dequantize):
        tensor = before.inputs[0]
    t = graph.tensors[tensor]
    if t.dtype != DType.INT8 or t.size < 2 or t.size != t.channels:
        reason = f"output '{t.name}' of {t.dtype} {t.shape} has no int8 logits of one sample, of 2 classes or more"
        remedy = "train a classifier, the float32 model, or a learner without gradients"
        raise MoteError(reason, where=f"graph '{graph.name}'", remedy=remedy)
    return Logits(t, beta, output)
