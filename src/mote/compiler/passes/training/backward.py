"""Float32 training graphs: a model, its loss, gradients back to the earliest layer that learns, and updates."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from mote.compiler.passes.training.gradients import RULES, before_activation
from mote.compiler.passes.training.label import label, labelled
from mote.compiler.passes.training.loss import Loss, known_loss
from mote.compiler.passes.training.optimizers import Optimizer, counted
from mote.compiler.passes.training.tape import Tape
from mote.compiler.passes.training.walk import BackwardWalk, check_learned
from mote.ir.graph import Graph, Op, State
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.training.losses import MeanSquaredError, SoftmaxCrossEntropy


def training_graph(graph: Graph, learned: Collection[int], loss: str, optimizer: Optimizer) -> Graph:
    """A float32 model followed by a training step, in which the constants `learned` (ids of tensors) are states.

    The step runs if the state of role LABEL is not negative, and resets it to -1: inferences without a label neither
    learn nor take time for training. The loss, computed with the weights before the step, is a state, and so is the
    learning rate. Gradients are computed only where a learned tensor needs them, and each weight is updated as soon as
    nothing reads it any more, so that its gradient need not be stored. `graph` must come from a front end: operators
    that passes have fused have no gradient.
    """
    return with_gradients(graph, learned, loss, optimizer)[0]


def with_gradients(
    graph: Graph, learned: Collection[int], loss: str, optimizer: Optimizer
) -> tuple[Graph, Mapping[int, int]]:
    """The training graph, and the ids of gradients in it, by the tensors of the model."""
    check_learned(graph, learned, DType.FLOAT32)
    t = Tape(graph)
    task = Supervision(t, graph, known_loss(loss))
    rate = t.tensor("learning_rate", (1,))
    step = t.tensor("step", (1,), DType.INT32) if optimizer.counts else ABSENT
    walk = Backward(graph, t, frozenset(learned), optimizer, (rate, step))
    walk.run(task.judged, task.gradient)
    if step != ABSENT:
        t.at = None
        counted(t, step)
    rates = State(rate, rate, np.array([optimizer.learning_rate], np.float32), StateRole.RATE)
    sample = labelled(t, task.label)
    return t.finish(sample.condition, sample.back, [rates, *task.states, sample.state]), walk.complete


class Supervision:
    """The loss of a model's first output, and the states with labels or targets. A label is int32, -1 for none; with a
    target it is 0 if the sample is to be learned."""

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
        t.state(value, after, np.zeros(1, np.float32), StateRole.LOSS)


class Backward(BackwardWalk):
    """The backward pass in float32, with the steps of an optimizer."""

    rules = RULES
    takes = DType.FLOAT32
    other_types = "give the float32 model, before it is quantized"

    def __init__(
        self, graph: Graph, tape: Tape, learned: frozenset[int], optimizer: Optimizer, given: tuple[int, int]
    ) -> None:
        super().__init__(graph, tape, learned)
        self.optimizer = optimizer
        self.rate, self.step = given

    def before_activation(self, op: Op, gradient: int) -> int:
        return before_activation(self.tape, op, gradient)

    def total(self, tensor: int, first: int, second: int) -> int:
        return self.tape.sum(first, second)

    def update(self, op: Op, weights: int, gradient: int) -> None:
        self.optimizer.update(self.tape, weights, gradient, self.rate, self.step)
