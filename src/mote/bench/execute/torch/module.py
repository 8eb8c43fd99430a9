"""A float graph as a PyTorch module, with its constants as trainable parameters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import ClassVar, cast

import numpy as np
import torch
from torch import nn

from mote.base.errors import MoteError, working_on
from mote.bench.execute.torch.float32 import twin
from mote.bench.execute.torch.float32.common import Value
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import hybrid, real_constant
from mote.ir.ops.elementwise.activations import Logistic
from mote.ir.ops.onnxruntime_rounding import EvenSoftmax
from mote.ir.ops.reductions.normalize import LogSoftmax
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

CONFIDENCES = (Softmax, EvenSoftmax, LogSoftmax, Logistic)
"""Final layers that turn logits into probabilities; losses use the logits."""


class LearnerModule(nn.Module):
    """Base class of modules that the training loop can train, on stacked samples."""

    static: ClassVar[bool] = False
    """Whether a batch of given size always runs the same accelerator kernels without host synchronization, so that
    training steps can be captured as a CUDA graph."""

    def outcome(self, *inputs: Value) -> Value:
        """The first output."""
        raise NotImplementedError

    def scores(self, *inputs: Value) -> Value:
        """The logits: the first output, before a final softmax or sigmoid."""
        raise NotImplementedError

    def confident(self) -> bool:
        """Whether it is a classifier: it has a final softmax or sigmoid."""
        raise NotImplementedError


class Trainable(LearnerModule):
    """Trainable graph for batches. Samples are stacked on the first axis of tensors with size 1 there, else on a new
    leading axis."""

    source: Graph
    """The float graph of the module."""

    def forward(self, *inputs: Value) -> Value | tuple[Value, ...]:
        """Outputs: one tensor, or a tuple of several."""
        values = self.values(*inputs, wanted=self.source.outputs)
        outputs = tuple(values[i] for i in self.source.outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def values(self, *inputs: Value, wanted: Collection[int]) -> dict[int, Value]:
        """Values of the `wanted` tensors, for all samples."""
        raise NotImplementedError

    def outcome(self, *inputs: Value) -> Value:
        return self._value(inputs, self.source.outputs[0])

    def scores(self, *inputs: Value) -> Value:
        return self._value(inputs, score_tensor(self.source))

    def confident(self) -> bool:
        return score_tensor(self.source) != self.source.outputs[0]

    def _value(self, inputs: tuple[Value, ...], tensor: int) -> Value:
        return self.values(*inputs, wanted=(tensor,))[tensor]

    def graph(self) -> Graph:
        """The float graph with the current parameters."""
        raise NotImplementedError


class GraphModule(Trainable):
    """A module of a float graph.

    Weights, and other constants with more than one element, are parameters; scalars (an epsilon, a factor) are fixed.
    Every sample starts from the initial states."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.source = real(graph)
        self.constants = nn.ParameterDict()
        for op in self.source.ops:
            twin(self.source, op)
        for i, t in self.source.tensors.items():
            if t.data is None:
                continue
            value = torch.from_numpy(np.array(t.data))
            if trainable(self.source, t):
                self.constants[str(i)] = nn.Parameter(value)
            else:
                self.register_buffer(_fixed(i), value, persistent=False)
        for state in self.source.states:
            self.register_buffer(_fixed(state.before), torch.from_numpy(np.array(state.initial)), persistent=False)

    def values(self, *inputs: Value, wanted: Collection[int]) -> dict[int, Value]:
        graph = self.source
        known = entered(graph, inputs)
        samples = next(iter(known.values())).shape[0] if known else 1
        for op in graph.ops:
            operands = [None if i == ABSENT else known[i] if i in known else self.constant(i) for i in op.inputs]
            with working_on(op):
                results = twin(graph, op)(graph, op, operands)
            for out, value in zip(op.outputs, results if isinstance(results, tuple) else (results,), strict=True):
                known[out] = value
        return {i: left(graph.tensors[i], known[i] if i in known else self.constant(i), samples) for i in wanted}

    def constant(self, i: int) -> Value:
        """Value of a constant or initial state for one sample."""
        key = str(i)
        if key not in self.constants:
            return cast(Value, getattr(self, _fixed(i))).unsqueeze(0)
        value: Value = self.constants[key]
        mask = getattr(self, _masked(i), None)
        return (value if mask is None else value * mask).unsqueeze(0)

    def mask(self, tensor: int, mask: Array) -> None:
        """Keeps elements of a constant at zero where the mask is zero."""
        value = self.constants[str(tensor)]
        if mask.shape != tuple(value.shape):
            raise ValueError(f"a mask of shape {mask.shape} for tensor {tensor} of shape {tuple(value.shape)}")
        ones = torch.from_numpy(np.asarray(mask != 0, np.float32)).to(value.device)
        self.register_buffer(_masked(tensor), ones, persistent=False)

    def graph(self) -> Graph:
        tensors = dict(self.source.tensors)
        for key in self.constants:
            i = int(key)
            tensors[i] = replace(tensors[i], data=self.constant(i)[0].detach().cpu().numpy().astype(np.float32))
        return replace(self.source, tensors=tensors)


def _fixed(i: int) -> str:
    return f"fixed_{i}"


def _masked(i: int) -> str:
    return f"mask_{i}"


def trainable(graph: Graph, t: Tensor) -> bool:
    """Whether a constant can be trained."""
    if t.data is None or t.dtype != DType.FLOAT32:
        return False
    weighted = any(op.macs(graph) > 0 for op in graph.consumers.get(t.id, []))
    return t.size > 1 or weighted


def real(graph: Graph) -> Graph:
    """The graph with weights dequantized to float; raises an error for quantized activations."""
    for t in graph.tensors.values():
        if t.data is None and t.quant is not None:
            raise MoteError(
                f"tensor '{t.name}' is quantized, so that there is nothing to train",
                where=graph.name,
                remedy="give the model as it was before it was quantized",
            )
    tensors = dict(graph.tensors)
    for op in graph.ops:
        if hybrid(graph, op):
            tensors |= {t.id: t for t in map(_real_tensor, _integers(graph, op), [op] * len(op.inputs))}
    return replace(graph, tensors=tensors)


def _integers(graph: Graph, op: Op) -> list[Tensor]:
    given = (op.tensor(graph, position) for position in range(len(op.inputs)))
    return [t for t in given if t is not None and t.data is not None and t.quant is not None]


def _real_tensor(t: Tensor, op: Op) -> Tensor:
    assert t.data is not None
    axis = 3 if isinstance(op, DepthwiseConv2D) else 0
    return replace(t, dtype=DType.FLOAT32, quant=None, data=real_constant(t, t.data, axis).astype(np.float32))


def score_tensor(graph: Graph) -> int:
    """The logits: the first output, or the input of a final softmax or sigmoid."""
    output = graph.outputs[0]
    maker = graph.producers.get(output)
    while maker is not None and (isinstance(maker, CONFIDENCES) or _passes_on(graph, maker)):
        if isinstance(maker, CONFIDENCES):
            return maker.inputs[0]
        maker = graph.producers.get(maker.inputs[0])
    return output


def _passes_on(graph: Graph, op: Op) -> bool:
    """Whether an operator only reshapes or transposes its input, with classes still on the last axis."""
    before, after = (graph.tensors[i].shape for i in (op.inputs[0], op.outputs[0]))
    return op.kind in ("QUANTIZE", "DEQUANTIZE") or (op.kind == "RESHAPE" and before[-1:] == after[-1:])


def entered(graph: Graph, inputs: tuple[Value, ...]) -> dict[int, Value]:
    """User inputs, with a leading sample axis added."""
    if len(inputs) != len(graph.inputs):
        raise MoteError(f"{len(inputs)} inputs were given, it has {len(graph.inputs)}", where=graph.name)
    return {i: _entered(graph.tensors[i], x) for i, x in zip(graph.inputs, inputs, strict=True)}


def _entered(t: Tensor, x: Value) -> Value:
    shape = tuple(x.shape[1:])
    if t.shape and t.shape[0] == 1 and shape == t.shape[1:]:
        return x.unsqueeze(1)
    if shape != t.shape:
        one = f"[samples, {', '.join(map(str, t.shape[1:] if t.shape and t.shape[0] == 1 else t.shape))}]"
        raise MoteError(f"input '{t.name}' has the shape {list(x.shape)}, it should be {one}")
    return x


def left(t: Tensor, value: Value, samples: int) -> Value:
    """Removes the sample axis if the tensor's own first axis of size 1 can take its place."""
    value = value.expand(samples, *value.shape[1:])
    return value.squeeze(1) if t.shape and t.shape[0] == 1 else value
