"""The integers of a step of training judged by PyTorch: autograd of the network that the int8 one stands for, with its
weights in real numbers and its own activations (rounding has a slope of 1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from mote.compiler.passes.training.gradient_ranges import in_floats
from mote.compiler.passes.training.integer_backward import IntegerBackward, IntegerSgd, integer_training_graph
from mote.compiler.passes.training.integer_losses import integer_loss
from mote.compiler.passes.training.labelled import label_values
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.samples import Samples
from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.ops.elementwise.quantize import dequantized
from mote.ir.ops.training.integer.steps import IntegerStep
from tests.compiler.passes.training.in_torch import F, computed, step_of, torch

CODES = 24
"""Steps of a state that the largest element of its step takes: rounding is small beside it, and little is cut off."""
ROUNDINGS = 32
"""Seeds of stochastic rounding that steps are averaged over."""


@dataclass(frozen=True)
class Likeness:
    """How much integers are like real numbers: the cosine of the angle between them, and by how much they are longer
    along them."""

    cosine: float
    scale: float

    @classmethod
    def of(cls, integers: Array, reals: Array) -> Likeness:
        a, b = (x.reshape(-1).astype(np.float64) for x in (integers, reals))
        lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
        return cls(float(a @ b) / max(lengths, 1e-300), float(a @ b) / max(float(b @ b), 1e-300))


class _Rounded(torch.autograd.Function):  # type: ignore[misc]
    """Other values in the place of some, with a slope of 1."""

    @staticmethod
    def forward(_: Any, value: Any, other: Any) -> Any:
        return other.clone()

    @staticmethod
    def backward(_: Any, gradient: Any) -> Any:
        return gradient, None


class JudgedStep:
    """A model, a step of its training in integers, and its gradients in PyTorch."""

    def __init__(self, graph: Graph, learned: Collection[int], loss: Loss, samples: Samples) -> None:
        walks: list[IntegerBackward] = []
        run = IntegerBackward.run
        with patch.object(IntegerBackward, "run", lambda self, *of: (walks.append(self), run(self, *of))[1]):
            self.training = integer_training_graph(graph, learned, loss, IntegerSgd(1.0), samples)
        (self.walk,) = walks
        self.graph = self.walk.graph
        self.loss = integer_loss(self.graph, loss)
        self.step = step_of(self.training)

    def operators(self) -> list[Op]:
        """The operators of the step."""
        return list(self.step.ops)

    def judged(self, inputs: Mapping[int, Array], label: Array) -> dict[str, Likeness]:
        """The gradients of activations, and the steps of what learns, by the names of tensors."""
        exact = self.training.evaluate({**inputs, **label_values(self.training, label)})
        values = self._values({**exact, **label_values(self.training, label)})
        reals, size = self._reals(exact, label), self.loss.size(exact, label)
        made = {}
        for tensor, at in self.walk.complete.items():
            if tensor not in self.walk.learned:
                made[tensor] = dequantized(values[at], self.step.tensors[at]) * size
        for op in self.step.ops:
            if isinstance(op, IntegerStep):
                made[op.inputs[0]] = self._expected(op, values, reals[op.inputs[0]])
        return {f"{t} {self.graph.tensors[t].name}": Likeness.of(x, reals[t]) for t, x in made.items()}

    def _values(self, known: Mapping[int, Array]) -> dict[int, Array]:
        given = {s.before: s.initial for s in self.training.states} | dict(known)
        return self.step.evaluate({i: given[i] for i in self.step.inputs})

    def _expected(self, op: IntegerStep, values: Mapping[int, Array], real: Array) -> Array:
        """What a state's step says of its gradient, on average over roundings, at a rate that makes the largest step
        CODES: a state in the middle, where nothing is cut off."""
        t = self.step.tensors[op.inputs[0]]
        assert t.quant is not None
        scales = t.quant.scale.reshape([-1 if axis == op.channel_axis else 1 for axis in range(len(t.shape))])
        rate = CODES / max(float(np.abs(real / scales).max()), 1e-30)
        size = self._size(values, np.array([rate], np.float32))
        middle = np.zeros(t.shape, t.dtype.numpy)
        given = [None if i == ABSENT else values[i] for i in op.inputs]
        given[0], given[op.size_at] = middle, size
        total = np.zeros(t.shape)
        for number in range(ROUNDINGS):
            given[op.size_at + 1] = np.array([number], np.int32)
            (after,) = op.evaluate(self.step, given)
            total += after
        return -total / ROUNDINGS * scales / rate

    def _size(self, values: Mapping[int, Array], rate: Array) -> Array:
        """The size of the step at a rate."""
        (op,) = (op for op in self.step.ops if isinstance(op, self.loss.operators[1]))
        return op.evaluate(self.step, [*(values[i] for i in op.inputs[:2]), rate, values[op.inputs[3]]])[0]

    def _reals(self, exact: Mapping[int, Array], label: Array) -> dict[int, Any]:
        """PyTorch's gradients of all tensors that have one."""
        twin = in_floats(self.graph, self.loss)
        known = {i: torch.tensor(np.asarray(t.data)) for i, t in twin.tensors.items() if t.data is not None}
        for i in (*self.walk.learned, *self.graph.inputs):
            known[i] = torch.tensor(_real(self.graph, i, exact) if i in self.graph.inputs else twin.tensors[i].data)
        leaves: dict[int, Any] = {}

        def own(tensor: int, value: Any) -> Any:
            """The model's own activation in the place of PyTorch's."""
            kept = _Rounded.apply(value, torch.tensor(_real(self.graph, tensor, exact)))
            if kept.requires_grad:
                kept.retain_grad()
                leaves[tensor] = kept
            return kept

        for i in self.walk.learned:
            leaves[i] = known[i].requires_grad_()
        made = computed(twin, known, own)
        self._torch_loss(made[self.loss.tensor.id], label).backward()
        return {i: leaf.grad.numpy() for i, leaf in leaves.items() if leaf.grad is not None}

    def _torch_loss(self, judged: Any, label: Array) -> Any:
        if self.loss.kind is Loss.MEAN_SQUARED_ERROR:
            return F.mse_loss(judged, torch.tensor(dequantized(label, self.loss.tensor)).reshape(judged.shape))
        beta = self.loss.attributes["beta"]
        return F.cross_entropy(judged.reshape(1, -1) * beta, torch.tensor(label.reshape(1), dtype=torch.int64))


def _real(graph: Graph, tensor: int, exact: Mapping[int, Array]) -> Array:
    t = graph.tensors[tensor]
    return exact[tensor] if t.dtype.real else dequantized(exact[tensor], t).astype(np.float32)
