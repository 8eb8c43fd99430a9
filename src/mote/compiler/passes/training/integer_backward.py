"""Integer training graphs: an int8 model, its loss, int8 gradients back to the earliest layer that learns, and
stochastically rounded steps of int8 weights and int32 biases."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.compiler.passes.training.dead_channels import with_room
from mote.compiler.passes.training.gradient_ranges import bias_quantization, gradient_scales
from mote.compiler.passes.training.inert_channels import without_inert_channels
from mote.compiler.passes.training.integer_gradients import RULES, IntegerTape, before_activation
from mote.compiler.passes.training.integer_losses import IntegerLoss, integer_loss
from mote.compiler.passes.training.label import labelled
from mote.compiler.passes.training.missing_biases import with_biases
from mote.compiler.passes.training.optimizers import counted
from mote.compiler.passes.training.samples import Samples
from mote.compiler.passes.training.walk import BackwardWalk, check_learned
from mote.ir.graph import Graph, Op, State
from mote.ir.graph.types import DType, StateRole
from mote.ir.ops.common import BIAS
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.training.integer.steps import MOST_SEED, BiasStep, ConvStep, DepthwiseStep, IntegerStep
from mote.ir.ops.training.integer.sums import GradientSums
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

StepOf = tuple[type[IntegerStep], list[int], dict[str, Any]]
"""The class of the operator that makes a step, its inputs other than the state, and its attributes."""


@dataclass(frozen=True)
class IntegerSgd:
    """Stochastic gradient descent of int8 weights."""

    learning_rate: float
    seed: int = 0
    """The seed of stochastic rounding."""
    momentum: float = 0.0
    accumulate: int = 1
    """Number of samples per step, which uses their mean gradient."""

    @property
    def each_sample(self) -> bool:
        """Whether weights change after each sample, so that nothing is accumulated."""
        return not self.momentum and self.accumulate == 1


def integer_training_graph(
    graph: Graph, learned: Collection[int], loss: str, settings: IntegerSgd, samples: Samples | None = None
) -> Graph:
    """An int8 model followed by a training step, in which the constants `learned` (ids of int8 weights and int32
    biases) are states.

    Like `training_graph` for float32, except that targets are int8, as the model's int8 output. The scales of gradients
    are measured on `samples`, which are only needed if more than the last layer learns.
    """
    check_learned(graph, learned, DType.INT8, DType.INT32)
    _check_readers(graph, learned)
    graph, learned = without_inert_channels(graph, learned)
    graph = with_room(with_biases(graph, learned), learned)
    judge = integer_loss(graph, loss)
    t = IntegerTape(graph, frozenset(learned), _scales(graph, learned, judge, samples))
    rate, step = t.tensor("learning_rate", (1,)), t.tensor("step", (1,), DType.INT32)
    task = judge.supervision(t, rate)
    IntegerBackward(graph, t, settings, (task.size, step)).run(judge.tensor.id, task.gradient)
    t.at = None
    counted(t, step)
    rates = State(rate, rate, np.array([settings.learning_rate], np.float32), StateRole.RATE)
    sample = labelled(t, task.label)
    return t.finish(sample.condition, sample.back, [rates, *task.states, sample.state])


class IntegerBackward(BackwardWalk):
    """The backward pass with int8 gradients, and steps taken from them at once."""

    rules = RULES
    takes = DType.INT8
    other_types = "quantize all layers from the first one that learns on, or train the float32 model"

    def __init__(self, graph: Graph, tape: IntegerTape, settings: IntegerSgd, given: tuple[int, int]) -> None:
        super().__init__(graph, tape, frozenset(tape.learned))
        self.integers = tape
        self.settings = settings
        self.size, self.number = given

    def before_activation(self, op: Op, gradient: int) -> int:
        return before_activation(self.integers, op, gradient)

    def total(self, tensor: int, first: int, second: int) -> int:
        return self.integers.sum(first, second, self.integers.quant_of(tensor))

    def update(self, op: Op, weights: int, gradient: int) -> None:
        t = self.integers
        is_bias = op.inputs[BIAS:] == (weights,)
        initial = t.learns(weights, bias_quantization(self.graph, weights) if is_bias else None)
        kind, given, attributes = self._of_bias(gradient) if is_bias else _of_weights(op, gradient)
        of, settings = t.tensors[weights], self.settings
        updates = [] if settings.each_sample else [t.tensor("update", of.shape, of.dtype)]
        common = {"momentum": settings.momentum, "every": settings.accumulate, "seed": self._seed_of(weights)}
        inputs = [weights, *given, self.size, self.number, *updates]
        after, *moved = t.add(kind, inputs, "step", **common, **attributes)
        t.state(weights, after, initial, StateRole.LEARNED)
        for update, left in zip(updates, moved, strict=True):
            t.state(update, left, np.zeros(of.shape, of.dtype.numpy), StateRole.OPTIMIZER)

    def _of_bias(self, gradient: int) -> StepOf:
        summed = self.tape.tensors[gradient]
        sums = self.tape.one(GradientSums, [gradient], "gradient_sums", dtype=DType.INT32, quant=summed.quant)
        return BiasStep, [sums], {"over": summed.size // summed.channels}

    def _seed_of(self, weights: int) -> int:
        """The seed of a tensor's stochastic rounding: different for each, so that their roundings are independent."""
        return (self.settings.seed * 0x9E3779B1 + sorted(self.learned).index(weights) * 0xC2B2AE3D) & MOST_SEED


def _of_weights(op: Op, gradient: int) -> StepOf:
    read = [gradient, op.inputs[0]]
    if isinstance(op, FullyConnected):
        return ConvStep, read, {}
    assert isinstance(op, Conv2D | DepthwiseConv2D)
    windows = {"vertical": op.vertical, "horizontal": op.horizontal}
    if isinstance(op, DepthwiseConv2D):
        return DepthwiseStep, read, {**windows, "multiplier": op.multiplier}
    return ConvStep, read, windows


def _check_readers(graph: Graph, learned: Collection[int]) -> None:
    """Refuses constants other than weights or biases of a single layer, as a step takes the gradient of one layer's
    accumulators."""
    for i in sorted(learned):
        readers = graph.consumers[i]
        if len(readers) > 1 or not isinstance(readers[0], Conv2D | DepthwiseConv2D | FullyConnected):
            names = ", ".join(dict.fromkeys(op.kind for op in readers))
            raise MoteError(
                f"tensor '{graph.tensors[i].name}', read by {len(readers)} operators ({names}), cannot learn in int8",
                where=readers[0].where,
                remedy="choose weights or biases of one convolution or fully connected layer",
            )


def _scales(graph: Graph, learned: Collection[int], loss: IntegerLoss, samples: Samples | None) -> Mapping[int, float]:
    """The scales of gradients, measured on samples; none are needed if only the layer before the loss learns."""
    if all(graph.consumers[i][0].outputs == (loss.tensor.id,) for i in learned):
        return {}
    if samples is None or len(samples) == 0:
        raise MoteError(
            "the scales of int8 gradients are not known: layers before the last one learn",
            where=f"graph '{graph.name}'",
            remedy="give samples with labels: --train-data",
        )
    return gradient_scales(graph, learned, loss, samples)
