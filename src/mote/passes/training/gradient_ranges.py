"""The scales of int8 gradients, measured on training data: gradients in float32, from activations as the int8 model
computes them, with the gradient of the loss normalized as integer training does it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mote.errors import MoteError
from mote.graph import Graph, Tensor
from mote.graph.tensor import Array, Quantization
from mote.graph.types import DType, StateRole
from mote.ops.common import BIAS, WEIGHTS
from mote.ops.control.control_flow import If
from mote.ops.elementwise.quantize import dequantized
from mote.ops.training.integer.losses import LARGEST
from mote.passes.training.backward import Loss, with_gradients
from mote.passes.training.logits import Logits
from mote.passes.training.optimizers import Sgd
from mote.passes.training.samples import Samples

LEAST = 1e-12
"""The least share of other classes that is learned from, and the least gradient that a scale is made for."""


def gradient_scales(graph: Graph, learned: Collection[int], logits: Logits, samples: Samples) -> dict[int, float]:
    """The scale of the gradient of each tensor that leads to something that learns: the largest gradient of a sample
    over 127, on average over the samples. The largest of a few samples are cut off, so that those of most are not lost
    in rounding."""
    training, gradients = with_gradients(
        _in_floats(graph, logits), learned, Loss.SOFTMAX_CROSS_ENTROPY, Sgd(learning_rate=1.0)
    )
    step = next(op.branches[0] for op in training.ops if isinstance(op, If))
    told = next(s.before for s in training.states if s.role is StateRole.LABEL)
    initial = {s.before: s.initial for s in training.states}
    peaks: dict[int, list[float]] = {tensor: [] for tensor in gradients}
    for inputs, label in zip(samples.inputs, samples.labels, strict=True):
        exact = graph.evaluate(inputs)
        share = 1 - logits.probability(exact, _class(label, logits))
        if share > LEAST:
            given = initial | {told: label} | _reals(graph, step.inputs, exact)
            values = step.evaluate({i: given[i] for i in step.inputs})
            for tensor, gradient in gradients.items():
                peaks[tensor].append(float(np.abs(values[gradient]).max()) / share)
    return {tensor: max(float(np.mean(own or [0.0])), LEAST) / LARGEST for tensor, own in peaks.items()}


def bias_quantization(graph: Graph, bias: int) -> Quantization:
    """The scale of a layer's bias: that of its sums."""
    op = graph.consumers[bias][0]
    x, weights = op.input(graph), op.input(graph, WEIGHTS)
    assert weights.quant is not None
    scale = np.broadcast_to(weights.quant.scale * np.float32(x.scale), graph.tensors[bias].shape)
    return Quantization(scale.astype(np.float32), np.zeros(scale.size, np.int64))


def _class(label: Array, logits: Logits) -> int:
    number, classes = int(label.reshape(-1)[0]), logits.tensor.size
    if not 0 <= number < classes:
        reason = f"label {number} is none of the model's {classes} classes"
        raise MoteError(reason, where="option train_data", remedy=f"give labels from 0 to {classes - 1}")
    return number


def _reals(graph: Graph, tensors: Sequence[int], exact: Mapping[int, Array]) -> dict[int, Array]:
    """The activations among some tensors, in float32."""
    return {i: dequantized(exact[i], graph.tensors[i]) for i in tensors if i in exact}


def _in_floats(graph: Graph, logits: Logits) -> Graph:
    """The graph with the same operators over float32 tensors, ending where the loss judges."""
    tensors = {i: _in_float(graph, t) for i, t in graph.tensors.items()}
    return replace(graph, outputs=(logits.classified,)).with_ops(graph.ops, tensors.values())


def _in_float(graph: Graph, t: Tensor) -> Tensor:
    quant = t.quant
    if t.dtype == DType.INT32 and any(op.weights and op.inputs[BIAS:] == (t.id,) for op in graph.consumers[t.id]):
        quant = bias_quantization(graph, t.id)
    if t.dtype != DType.INT8 and quant is None:
        return t
    data = None if t.data is None else dequantized(t.data, replace(t, quant=quant)).astype(np.float32)
    return replace(t, dtype=DType.FLOAT32, quant=None, data=data)
