"""Losses of integer training, with gradients normalized so that the largest element has the largest int8 code. The
factor that this removes is in the size of the step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mote.base.errors import MoteError
from mote.compiler.passes.training.integer_gradients import symmetric
from mote.compiler.passes.training.label import label
from mote.compiler.passes.training.loss import Loss, known_loss
from mote.compiler.passes.training.tape import Tape
from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.elementwise.quantize import Dequantize, dequantized
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.onnxruntime_rounding import EvenSoftmax
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.training.integer.losses import (
    LARGEST,
    CrossEntropyGradient,
    CrossEntropyStep,
    MeanSquaredErrorGradient,
    MeanSquaredErrorStep,
)


@dataclass(frozen=True)
class IntegerSupervision:
    """A loss on a tape: its tensors, and the states with targets, if any."""

    label: int
    gradient: int
    size: int
    """The tensor with the size of the step, including the learning rate."""
    states: tuple[State, ...]


@dataclass(frozen=True)
class IntegerLoss:
    """A loss of an int8 model's first output."""

    tensor: Tensor
    """The int8 tensor that the loss is computed from."""
    output: int
    """The tensor that the loss is computed from in float32."""
    kind: ClassVar[Loss]
    operators: ClassVar[tuple[type[Op], type[Op]]]
    """The operator that computes the normalized gradient, and the one that computes the size of the step and the
    loss."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of both operators of the loss."""
        return {}

    @property
    def scale(self) -> float:
        """The scale of the normalized gradient."""
        raise NotImplementedError

    def size(self, values: Mapping[int, Array], right: Array) -> float:
        """The factor by which the gradient of a sample is normalized, from the model's activations and the expected
        value `right`."""
        raise NotImplementedError

    def target(self, t: Tape) -> State | None:
        """The state with the expected values, if these are not labels."""
        return None

    def supervision(self, t: Tape, rate: int) -> IntegerSupervision:
        """Adds the loss to a tape."""
        given, state, (gradient, size) = label(t), self.target(t), self.operators
        read, value = [self.tensor.id, given if state is None else state.before], t.tensor("loss", (1,))
        normalized = t.one(gradient, read, self.kind, quant=symmetric(self.scale), **self.attributes)
        of_step, after = t.add(size, [*read, rate, value], "step", dtype=DType.INT32, **self.attributes)
        t.state(value, after, np.zeros(1, np.float32), StateRole.LOSS)
        return IntegerSupervision(given, normalized, of_step, () if state is None else (state,))


@dataclass(frozen=True)
class IntegerCrossEntropy(IntegerLoss):
    """Cross entropy of the softmax of logits, normalized by the probability of all wrong classes together."""

    beta: float
    kind = Loss.SOFTMAX_CROSS_ENTROPY
    operators = CrossEntropyGradient, CrossEntropyStep

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {"beta": self.beta}

    @property
    def scale(self) -> float:
        return self.beta / LARGEST

    def size(self, values: Mapping[int, Array], right: Array) -> float:
        z = self.beta * dequantized(values[self.tensor.id], self.tensor).reshape(-1).astype(np.float64)
        e = np.exp(z - z.max())
        return 1 - float(e[int(right.reshape(-1)[0])] / e.sum())


@dataclass(frozen=True)
class IntegerSquaredError(IntegerLoss):
    """Mean squared error, normalized by the largest error in codes. Targets are quantized as the output."""

    kind = Loss.MEAN_SQUARED_ERROR
    operators = MeanSquaredErrorGradient, MeanSquaredErrorStep

    @property
    def scale(self) -> float:
        return 2 * self.tensor.scale / (LARGEST * self.tensor.size)

    def size(self, values: Mapping[int, Array], right: Array) -> float:
        return float(np.abs(values[self.tensor.id].astype(np.int64) - right).max())

    def target(self, t: Tape) -> State:
        shape = self.tensor.shape
        target = t.tensor("target", shape, DType.INT8, quant=self.tensor.quant)
        return State(target, target, np.zeros(shape, np.int8), StateRole.TARGET)


def integer_loss(graph: Graph, kind: str) -> IntegerLoss:
    """The loss of an int8 model: the squared error of its first output, or the cross entropy of the logits that it is
    computed from."""
    output = quantized_output(graph)
    if known_loss(kind) is Loss.MEAN_SQUARED_ERROR:
        return IntegerSquaredError(_int8(graph, output), output.id)
    op = graph.producers.get(output.id)
    tensor = before_floats(graph, op.inputs[0]) if isinstance(op, Softmax | EvenSoftmax) else output
    if tensor.size < 2 or tensor.size != tensor.channels:
        reason = f"output '{tensor.name}' of {tensor.dtype} {tensor.shape} has no logits of one sample, 2 or more"
        remedy = "train a classifier, with loss=mean_squared_error, the float32 model, or a learner without gradients"
        raise MoteError(reason, where=f"graph '{graph.name}'", remedy=remedy)
    return IntegerCrossEntropy(_int8(graph, tensor), output.id, op.beta if isinstance(op, Softmax) else 1.0)


def quantized_output(graph: Graph) -> Tensor:
    """A model's first output before dequantization."""
    return before_floats(graph, graph.outputs[0])


def before_floats(graph: Graph, tensor: int) -> Tensor:
    """A float tensor before dequantization and reshapes after it."""
    while isinstance(op := graph.producers.get(tensor), Dequantize | Reshape) and graph.tensors[tensor].dtype.real:
        tensor = op.inputs[0]
    return graph.tensors[tensor]


def _int8(graph: Graph, t: Tensor) -> Tensor:
    if t.dtype != DType.INT8:
        reason = f"'{t.name}', which the loss judges, is {t.dtype}, and int8 layers learn"
        remedy = "quantize the model's first output, train the float32 model, or a learner without gradients"
        raise MoteError(reason, where=f"graph '{graph.name}'", remedy=remedy)
    return t
