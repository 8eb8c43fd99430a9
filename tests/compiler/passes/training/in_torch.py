"""Graphs computed by PyTorch, operator by operator, so that autograd knows their gradients."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import pytest

from mote.compiler.passes.training.labelled import label_values, loss_of
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.tape import Tape
from mote.ir.graph import Graph
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.ops.control.control_flow import If

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
F = torch.nn.functional


def empty() -> Tape:
    """A tape to write a model on."""
    return Tape(Graph("model", {}, (), (), ()))


def finished(t: Tape, outputs: Collection[int]) -> Graph:
    """The model of an empty tape."""
    return Graph("model", t.tensors, tuple(t.ops), (), tuple(outputs)).verify()


def _padded(op: Any, x: Any, value: float = 0.0) -> Any:
    v, h = op.vertical, op.horizontal
    return F.pad(x.permute(0, 3, 1, 2), (h.before, h.after, v.before, v.after), value=value)


def _sliding(op: Any) -> dict[str, Any]:
    v, h = op.vertical, op.horizontal
    return {"stride": (v.stride, h.stride), "dilation": (v.dilation, h.dilation)}


def _conv(op: Any, x: Any, w: Any, b: Any = None) -> Any:
    return F.conv2d(_padded(op, x), w.permute(0, 3, 1, 2), b, **_sliding(op)).permute(0, 2, 3, 1)


def _depthwise(op: Any, x: Any, w: Any, b: Any = None) -> Any:
    made = F.conv2d(_padded(op, x), w.permute(3, 0, 1, 2), b, groups=x.shape[3], **_sliding(op))
    return made.permute(0, 2, 3, 1)


def _average(op: Any, x: Any) -> Any:
    assert not any((axis.before, axis.after) != (0, 0) for axis in (op.vertical, op.horizontal))
    kernel = (op.vertical.kernel, op.horizontal.kernel)
    return F.avg_pool2d(x.permute(0, 3, 1, 2), kernel, _sliding(op)["stride"]).permute(0, 2, 3, 1)


def _largest(op: Any, x: Any) -> Any:
    kernel = (op.vertical.kernel, op.horizontal.kernel)
    return F.max_pool2d(_padded(op, x, -torch.inf), kernel, **_sliding(op)).permute(0, 2, 3, 1)


def _dense(op: Any, x: Any, w: Any, b: Any = None) -> Any:
    y = F.linear(x.reshape(-1, w.shape[1]), w, b)
    return y.reshape(*x.shape[:-1], w.shape[0]) if op.keep_dims else y


def _product(op: Any, a: Any, b: Any) -> Any:
    return (a.mT if op.left_turned else a) @ (b.mT if op.right_turned else b)


def _layer_norm(op: Any, x: Any, scale: Any = None, bias: Any = None) -> Any:
    return F.layer_norm(x, x.shape[-1:], scale, bias, op.epsilon)


def _rms_norm(op: Any, x: Any, scale: Any, bias: Any) -> Any:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + op.epsilon) * scale + bias


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "AVERAGE_POOL_2D": _average,
    "MAX_POOL_2D": _largest,
    "FULLY_CONNECTED": _dense,
    "BATCH_MATMUL": _product,
    "ADD": lambda op, a, b: a + b,
    "SUB": lambda op, a, b: a - b,
    "MUL": lambda op, a, b: a * b,
    "NEG": lambda op, x: -x,
    "MEAN": lambda op, x: x.mean(op.axes, keepdim=op.keep_dims),
    "SUM": lambda op, x: x.sum(op.axes, keepdim=op.keep_dims),
    "RELU": lambda op, x: F.relu(x),
    "RELU6": lambda op, x: F.relu6(x),
    "RELU_0_TO_1": lambda op, x: F.hardtanh(x, 0.0, 1.0),
    "RELU_N1_TO_1": lambda op, x: F.hardtanh(x),
    "LEAKY_RELU": lambda op, x: F.leaky_relu(x, op.alpha),
    "HARD_SWISH": lambda op, x: F.hardswish(x),
    "LOGISTIC": lambda op, x: torch.sigmoid(x),
    "TANH": lambda op, x: torch.tanh(x),
    "SOFTMAX": lambda op, x: F.softmax(x * op.beta, -1),
    "LAYER_NORMALIZATION": _layer_norm,
    "RMS_NORMALIZATION": _rms_norm,
    "RESHAPE": lambda op, x: x.reshape(op.shape),
    "TRANSPOSE": lambda op, x: x.permute(op.permutation),
    "PAD": lambda op, x: F.pad(x, [n for pair in reversed(op.paddings) for n in pair], value=op.value),
    "CONCATENATION": lambda op, *parts: torch.cat(parts, op.axis),
}
CLAMPS = {"NONE": lambda x: x, "RELU": F.relu, "RELU6": F.relu6}


def computed(
    graph: Graph, values: Mapping[int, Any], rounded: Callable[[int, Any], Any] = lambda _, x: x
) -> dict[int, Any]:
    """All tensors, from inputs and from constants that are given as PyTorch's; other constants are the graph's.
    `rounded` is what becomes of the values of a tensor."""
    known = {i: torch.tensor(t.data) for i, t in graph.tensors.items() if t.data is not None} | dict(values)
    for op in graph.ops:
        result = FUNCTIONS[op.kind](op, *(None if i == ABSENT else known[i] for i in op.inputs))
        known[op.outputs[0]] = rounded(op.outputs[0], CLAMPS[getattr(op, "activation", "NONE")](result))
    return known


class Trained:
    """A model that PyTorch trains."""

    def __init__(self, graph: Graph, learned: Collection[int], loss: str, optimizer: Callable[[Any], Any]) -> None:
        self.graph = graph
        self.weights = {i: torch.tensor(graph.tensors[i].data, requires_grad=True) for i in sorted(learned)}
        self.optimizer = optimizer(list(self.weights.values()))
        self.loss = Loss(loss)

    def step(self, inputs: Mapping[int, Array], right: Array) -> float:
        """The loss before the step."""
        known = computed(self.graph, {**{i: torch.tensor(x) for i, x in inputs.items()}, **self.weights})
        output = self.graph.outputs[0]
        if self.loss is Loss.MEAN_SQUARED_ERROR:
            loss = F.mse_loss(known[output], torch.tensor(right))
        else:
            last: Any = self.graph.producers[output]
            logits = known[last.inputs[0]] * last.beta if last.kind == "SOFTMAX" else known[output]
            loss = F.cross_entropy(logits, torch.tensor(right, dtype=torch.int64))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


def random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(size=shape).astype(np.float32)


def steps_of(
    graph: Graph, cases: Collection[tuple[Mapping[int, Array], Array]]
) -> tuple[list[float], dict[int, Array]]:
    """The losses of a graph of training, step by step, and its states at the end."""
    states: dict[int, Array] = {}
    losses = []
    loss = loss_of(graph)
    assert loss is not None
    for inputs, right in cases:
        values = graph.evaluate({**inputs, **states, **label_values(graph, right)})
        states = graph.carried(values)
        losses.append(float(states[loss.before][0]))
    return losses, states


def step_of(graph: Graph) -> Graph:
    """The step of training: what is run where there is a label."""
    return next(op.branches[0] for op in graph.ops if isinstance(op, If))
