"""The graph of a step of training: a model, its loss, gradients back to the earliest layer that learns, and updates."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

import numpy as np

from mote.errors import MoteError
from mote.graph import Graph, Op, State
from mote.graph.graph import ABSENT
from mote.graph.types import DType, StateRole
from mote.ops.reductions.softmax import Softmax
from mote.ops.training.losses import MeanSquaredError, SoftmaxCrossEntropy
from mote.passes.training.gradients import RULES, before_activation
from mote.passes.training.label import label, labelled
from mote.passes.training.optimizers import Optimizer, counted
from mote.passes.training.tape import Tape

REMEDY = "let only layers behind it learn, or replace it by one with a gradient"


class Loss(StrEnum):
    """The losses that a model can be trained with."""

    SOFTMAX_CROSS_ENTROPY = "softmax_cross_entropy"
    """The model's first output has a logit for each class, or the softmax of these; `label` has the classes, int32."""
    MEAN_SQUARED_ERROR = "mean_squared_error"
    """`target` has what the model's first output should be."""


def training_graph(graph: Graph, learned: Collection[int], loss: str, optimizer: Optimizer) -> Graph:
    """A float32 model with a step of training behind it, in which the constants `learned` (ids of tensors) are states.

    The step is run where the state of role LABEL is not negative, then that is -1 again: inferences without a label
    learn nothing, and pay nothing for training. The loss, of the weights before the step, is a state, and so is the
    learning rate. Gradients are computed where a learned tensor needs them, and each of these is updated as soon as
    nothing reads it any more, so that its gradient need not be kept. `graph` is as the front end made it: there is no
    gradient of operators that passes have fused.
    """
    _check(graph, learned)
    t = Tape(graph)
    task = Supervision(t, graph, _known(loss))
    rate = t.tensor("learning_rate", (1,))
    step = t.tensor("step", (1,), DType.INT32) if optimizer.counts else ABSENT
    Backward(graph, t, frozenset(learned), optimizer, (rate, step)).run(task.judged, task.gradient)
    if step != ABSENT:
        t.at = None
        counted(t, step)
    rates = State(rate, rate, np.array([optimizer.learning_rate], np.float32), StateRole.RATE)
    told = labelled(t, task.label)
    return t.finish(told.condition, told.back, [rates, *task.states, told.state])


class Supervision:
    """The loss of a model's first output, and the states that say what is right. A label is int32: -1 where there is
    none. Of a regression, it is 0 where the target is to be learned."""

    def __init__(self, t: Tape, graph: Graph, loss: Loss) -> None:
        self.tape = t
        self.states: list[State] = []
        t.at = None
        output, value = graph.outputs[0], t.tensor("loss", (1,))
        if loss is Loss.MEAN_SQUARED_ERROR:
            shape = t.shape(output)
            target = t.tensor("target", shape)
            self.judged, self.label = output, label(t)
            self.states.append(State(target, target, np.zeros(shape, np.float32), StateRole.TARGET))
            self.gradient, after = t.add(MeanSquaredError, [output, target, value], "mean_squared_error")
        else:
            last = graph.producers.get(output)
            self.judged, beta = (last.inputs[0], last.beta) if isinstance(last, Softmax) else (output, 1.0)
            self.label = label(t, t.shape(self.judged)[:-1])
            inputs = [self.judged, self.label, value]
            self.gradient, after = t.add(SoftmaxCrossEntropy, inputs, "cross_entropy", beta=beta)
        t.state(value, after, np.zeros(1, np.float32), StateRole.OPTIMIZER)


class Backward:
    """The walk from the loss back through a model's operators."""

    def __init__(
        self, graph: Graph, tape: Tape, learned: frozenset[int], optimizer: Optimizer, given: tuple[int, int]
    ) -> None:
        self.graph = graph
        self.tape = tape
        self.learned = learned
        self.optimizer = optimizer
        self.rate, self.step = given
        self.gradients: dict[int, int] = {}
        """The gradients of tensors, by these, as far as they are known."""
        self.needed = _needed(graph, learned)

    def run(self, judged: int, gradient: int) -> None:
        """Add everything, from the gradient of the tensor that the loss judges on."""
        self.gradients[judged] = gradient
        first = {i: min(self.graph.places[id(op)] for op in self.graph.consumers[i]) for i in self.learned}
        for place, op in reversed(list(enumerate(self.graph.ops))):
            self.tape.at = op
            self._back(op)
            for weights in sorted(i for i in self.learned if first[i] == place):
                self._update(op, weights)

    def _back(self, op: Op) -> None:
        """Add the gradients of an operator's inputs that lead to something that learns."""
        gradients = [self.gradients.pop(out, None) for out in op.outputs]
        wanted = [p for p, i in enumerate(op.inputs) if i in self.needed]
        if not wanted or all(gradient is None for gradient in gradients):
            return
        rule = RULES.get(type(op))
        if rule is None or gradients[0] is None:
            raise MoteError(f"there is no gradient of {op.kind}", where=op.where, remedy=REMEDY)
        tensors = [self.graph.tensors[i] for i in (*op.inputs, *op.outputs) if i != ABSENT]
        other = next((t for t in tensors if t.dtype != DType.FLOAT32), None)
        if other is not None:
            reason = f"there is no gradient through tensor '{other.name}' of {other.dtype}: training takes float32"
            raise MoteError(reason, where=op.where, remedy="give the float32 model, before it is quantized")
        made = rule(self.tape, op, before_activation(self.tape, op, gradients[0]), frozenset(wanted))
        for position in wanted:
            tensor = op.inputs[position]
            before = self.gradients.get(tensor)
            new = made[position]
            self.gradients[tensor] = new if before is None else self.tape.sum(before, new)

    def _update(self, op: Op, weights: int) -> None:
        gradient = self.gradients.pop(weights, None)
        if gradient is None:
            reason = f"the loss does not depend on tensor '{self.graph.tensors[weights].name}', which should learn"
            remedy = "let layers learn that the model's first output is computed with"
            raise MoteError(reason, where=op.where, remedy=remedy)
        self.optimizer.update(self.tape, weights, gradient, self.rate, self.step)


def _needed(graph: Graph, learned: frozenset[int]) -> frozenset[int]:
    """The tensors that depend on what learns, and so need gradients."""
    needed = set(learned)
    for op in graph.ops:
        if not needed.isdisjoint(op.inputs):
            needed.update(op.outputs)
    return frozenset(needed)


def _check(graph: Graph, learned: Collection[int]) -> None:
    """Only constants that operators read can learn, and only float32 ones."""
    remedy = "choose float32 weights or biases of layers"
    if not learned:
        raise MoteError("nothing learns", where=f"graph '{graph.name}'", remedy=remedy)
    for i in sorted(learned):
        t = graph.tensors.get(i)
        if t is None or t.data is None or i not in graph.consumers:
            name = i if t is None else f"'{t.name}'"
            reason = f"tensor {name} cannot learn: it is no constant that a layer reads"
            raise MoteError(reason, where=f"graph '{graph.name}'", remedy=remedy)
        if t.dtype != DType.FLOAT32:
            op = graph.consumers[i][0]
            raise MoteError(f"tensor '{t.name}' of {t.dtype} cannot learn", where=op.where, remedy=remedy)


def _known(loss: str) -> Loss:
    try:
        return Loss(loss)
    except ValueError:
        raise MoteError(f"there is no loss '{loss}'", where="loss", remedy=f"one of {', '.join(Loss)}") from None
