"""The scales of int8 gradients, measured on training data: gradients in float32, from activations as the int8 model
computes them, with the gradient of the loss normalized as integer training does it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mote.base.errors import MoteError
from mote.compiler.passes.training.backward import with_gradients
from mote.compiler.passes.training.integer_gradients import activation_of
from mote.compiler.passes.training.integer_losses import IntegerLoss
from mote.compiler.passes.training.labelled import told
from mote.compiler.passes.training.optimizers import Sgd
from mote.compiler.passes.training.samples import Samples
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array, Quantization
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import BIAS, WEIGHTS
from mote.ir.ops.control.control_flow import If
from mote.ir.ops.elementwise.quantize import dequantized
from mote.ir.ops.onnxruntime_rounding import TWINS
from mote.ir.ops.training.integer.losses import LARGEST

MEASURED = 64
"""The samples that scales are measured on."""
LEAST = 1e-12
"""The least size of a loss that is learned from, and the least gradient that a scale is made for."""


def gradient_scales(graph: Graph, learned: Collection[int], loss: IntegerLoss, samples: Samples) -> dict[int, float]:
    """The scale of the gradient of each tensor that leads to something that learns: the largest gradient of a sample
    over 127, on average over some of the samples. The largest of a few samples are cut off, so that those of most are
    not lost in rounding."""
    samples, peaks = samples.few(MEASURED), defaultdict[int, list[float]](list)
    gradients = float_gradients(graph, learned, loss.kind, samples, loss)
    for (exact, own), right in zip(gradients, samples.labels, strict=True):
        size = loss.size(exact, right)
        if size > LEAST:
            for tensor, gradient in own.items():
                peaks[tensor].append(float(np.abs(gradient).max()) / size)
    return {
        t: max(float(np.mean(peaks[t] or [0.0])), LEAST) / LARGEST
        for t, tensor in graph.tensors.items()
        if tensor.data is None
    }


def float_gradients(
    graph: Graph, learned: Collection[int], loss: str, samples: Samples, integer: IntegerLoss | None = None
) -> Iterator[tuple[Mapping[int, Array], Mapping[int, Array]]]:
    """For each sample the activations of a model, and the float32 gradients of its tensors, also of the constants
    `learned`. An int8 model has an `integer` loss: gradients are computed from its own activations."""
    real = graph if integer is None else in_floats(graph, integer)
    training, gradients = with_gradients(real, learned, loss, Sgd(learning_rate=1.0))
    step = next(op.branches[0] for op in training.ops if isinstance(op, If))
    initial = {s.before: s.initial for s in training.states}
    for inputs, right in zip(samples.inputs, samples.labels, strict=True):
        _check_label(right, graph, integer)
        exact = graph.evaluate(inputs)
        given = initial | dict(told(training, _real(right, integer))) | _reals(graph, step.inputs, exact)
        values = step.evaluate({i: given[i] for i in step.inputs})
        yield exact, {tensor: values[gradient] for tensor, gradient in gradients.items()}


def bias_quantization(graph: Graph, bias: int) -> Quantization:
    """The scale of a layer's bias: that of its sums."""
    op = graph.consumers[bias][0]
    x, weights = op.input(graph), op.input(graph, WEIGHTS)
    assert weights.quant is not None
    scale = np.broadcast_to(weights.quant.scale * np.float32(x.scale), graph.tensors[bias].shape)
    return Quantization(scale.astype(np.float32), np.zeros(scale.size, np.int64))


def _check_label(label: Array, graph: Graph, integer: IntegerLoss | None) -> None:
    """Refuse classes that the model does not have."""
    classes = graph.tensors[graph.outputs[0]].channels if integer is None else integer.tensor.size
    low, high = label.min(), label.max()
    if label.dtype == np.int32 and not (low >= -1 and 0 <= high < classes):
        reason = f"label {low if low < -1 else high} is none of the model's {classes} classes"
        raise MoteError(reason, where="option train_data", remedy=f"give labels from 0 to {classes - 1}")


def _real(right: Array, integer: IntegerLoss | None) -> Array:
    """A label, or a target in float32."""
    return right if integer is None or right.dtype != np.int8 else dequantized(right, integer.tensor)


def _reals(graph: Graph, tensors: Sequence[int], exact: Mapping[int, Array]) -> dict[int, Array]:
    """The activations among some tensors, in float32."""
    known = {i: graph.tensors[i] for i in tensors if i in exact}
    return {i: exact[i] if t.dtype.real else dequantized(exact[i], t) for i, t in known.items()}


def in_floats(graph: Graph, loss: IntegerLoss) -> Graph:
    """The graph with the same operators over float32 tensors, ending where the loss judges."""
    tensors = {i: _in_float(graph, t) for i, t in graph.tensors.items()}
    ops = (_op_in_float(op, op.output(graph)) for op in graph.ops)
    return replace(graph, outputs=(loss.output,)).with_ops(ops, tensors.values())


def _op_in_float(op: Op, output: Tensor) -> Op:
    """The operator without ONNX Runtime's rounding, with the ReLU that saturation stands for."""
    real, activation = TWINS[type(op)].like(op) if type(op) in TWINS else op, activation_of(op, output)
    return real if activation == Activation.NONE else real.with_(activation=activation)


def _in_float(graph: Graph, t: Tensor) -> Tensor:
    quant = t.quant
    if t.dtype == DType.INT32 and any(op.weights and op.inputs[BIAS:] == (t.id,) for op in graph.consumers[t.id]):
        quant = bias_quantization(graph, t.id)
    if t.dtype != DType.INT8 and quant is None:
        return t
    data = None if t.data is None else dequantized(t.data, replace(t, quant=quant)).astype(np.float32)
    return replace(t, dtype=DType.FLOAT32, quant=None, data=data)
