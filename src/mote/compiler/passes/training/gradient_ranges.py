"""Scales of int8 gradients, measured on training data: gradients are computed in float32, from the activations of the
int8 model, with the gradient of the loss normalized as in integer training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mote.base.errors import MoteError
from mote.compiler.passes.training.backward import with_gradients
from mote.compiler.passes.training.integer_gradients import activation_of
from mote.compiler.passes.training.integer_losses import IntegerLoss
from mote.compiler.passes.training.labelled import label_values
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
"""Maximum number of samples that scales are measured on."""
LEAST = 1e-12
"""Minimum size of a loss gradient that counts, and minimum gradient that a scale represents."""


def gradient_scales(graph: Graph, learned: Collection[int], loss: IntegerLoss, samples: Samples) -> dict[int, float]:
    """The scale of the gradient of each tensor that the learned constants depend on: the largest gradient in a sample
    divided by 127, averaged over samples. Outliers of a few samples saturate, so that most gradients are not lost in
    rounding."""
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
    """For each sample, the activations of a model, and the float32 gradients of its tensors, including the constants
    `learned`. For an int8 model, `integer` is its loss, and gradients are computed from the int8 activations."""
    real = graph if integer is None else in_floats(graph, integer)
    training, gradients = with_gradients(real, learned, loss, Sgd(learning_rate=1.0))
    step = next(op.branches[0] for op in training.ops if isinstance(op, If))
    initial = {s.before: s.initial for s in training.states}
    for inputs, right in zip(samples.inputs, samples.labels, strict=True):
        _check_label(right, graph, integer)
        exact = graph.evaluate(inputs)
        given = initial | dict(label_values(training, _real(right, integer))) | _reals(graph, step.inputs, exact)
        values = step.evaluate({i: given[i] for i in step.inputs})
        yield exact, {tensor: values[gradient] for tensor, gradient in gradients.items()}


def bias_quantization(graph: Graph, bias: int) -> Quantization:
    """The quantization of a layer's bias: the scale of its accumulators."""
    op = graph.consumers[bias][0]
    x, weights = op.input(graph), op.input(graph, WEIGHTS)
    assert weights.quant is not None
    scale = np.broadcast_to(weights.quant.scale * np.float32(x.scale), graph.tensors[bias].shape)
    return Quantization(scale.astype(np.float32), np.zeros(scale.size, np.int64))


def _check_label(label: Array, graph: Graph, integer: IntegerLoss | None) -> None:
    """Refuses labels that are not classes of the model."""
    classes = graph.tensors[graph.outputs[0]].channels if integer is None else integer.tensor.size
    low, high = label.min(), label.max()
    if label.dtype == np.int32 and not (low >= -1 and 0 <= high < classes):
        reason = f"label {low if low < -1 else high} is none of the model's {classes} classes"
        raise MoteError(reason, where="option train_data", remedy=f"give labels from 0 to {classes - 1}")


def _real(right: Array, integer: IntegerLoss | None) -> Array:
    """A label unchanged, or a target dequantized to float32."""
    return right if integer is None or right.dtype != np.int8 else dequantized(right, integer.tensor)


def _reals(graph: Graph, tensors: Sequence[int], exact: Mapping[int, Array]) -> dict[int, Array]:
    """The activations of some tensors, dequantized to float32."""
    known = {i: graph.tensors[i] for i in tensors if i in exact}
    return {i: exact[i] if t.dtype.real else dequantized(exact[i], t) for i, t in known.items()}


def in_floats(graph: Graph, loss: IntegerLoss) -> Graph:
    """The graph with its operators over float32 tensors, ending at the input of the loss."""
    tensors = {i: _in_float(graph, t) for i, t in graph.tensors.items()}
    ops = (_op_in_float(op, op.output(graph)) for op in graph.ops)
    return replace(graph, outputs=(loss.output,)).with_ops(ops, tensors.values())


def _op_in_float(op: Op, output: Tensor) -> Op:
    """The float operator for one with ONNX Runtime's rounding, with an explicit ReLU if saturation acts as one."""
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
