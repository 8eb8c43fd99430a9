"""Adds on-device training to a model, as specified by the user."""

from __future__ import annotations

from collections.abc import Collection

from mote.base.errors import MoteError
from mote.compiler.passes.training.backward import training_graph
from mote.compiler.passes.training.choice import chosen, in_integers
from mote.compiler.passes.training.integer_backward import IntegerSgd, integer_training_graph
from mote.compiler.passes.training.learners import with_learner
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.normalizations import apart
from mote.compiler.passes.training.optimizers import Adam, Optimizer, Sgd
from mote.compiler.passes.training.samples import Samples
from mote.compiler.passes.training.spec import WHERE, Auto, Learner, Spec, StepSettings
from mote.ir.graph import Graph
from mote.ir.ops.elementwise.quantize import Dequantize
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.training.integer.momentum import KEPT_BITS, kept_share

SHOWN = (Dequantize, Reshape)
"""Operators after a softmax that only convert or reshape its results."""


def trained(graph: Graph, spec: Spec, samples: Samples | None = None) -> Graph:
    """The graph of a model that runs an inference, then learns if there is a label. `graph` must come from a front end,
    before passes; `samples`: for the ranges of int8 gradients."""
    if isinstance(spec, Learner):
        return with_learner(graph, spec)
    if isinstance(spec, Auto):
        raise MoteError("budgets are for a target", where=WHERE, remedy="name what learns here: --train last")
    choice = chosen(graph, spec.items)
    return by_gradients(choice.graph, choice.constants, spec, samples)


def by_gradients(graph: Graph, learned: Collection[int], settings: StepSettings, samples: Samples | None) -> Graph:
    """A model whose constants `learned` are trained by gradients."""
    loss = settings.loss or default_loss(graph)
    if in_integers(graph, learned):
        return integer_training_graph(graph, learned, loss, _integer_sgd(settings), samples)
    kinds = {graph.tensors[i].dtype for i in learned}
    if len(kinds) > 1:
        shown = ", ".join(sorted(kinds))
        remedy = "choose layers of one type: those of float32, or quantized ones"
        raise MoteError(f"weights of {shown} cannot learn together", where=WHERE, remedy=remedy)
    return training_graph(apart(graph, learned), learned, loss, optimizer(settings))


def _integer_sgd(settings: StepSettings) -> IntegerSgd:
    """The settings for int8 layers; refuses settings that only float32 layers support."""
    usual = StepSettings()
    for name in ("optimizer", "decay"):
        value = getattr(settings, name)
        if value != getattr(usual, name):
            reason = f"int8 layers do not learn with {name}={value}: they take steps of SGD without weight decay"
            raise MoteError(reason, where=WHERE, remedy="omit it, or train the float32 model")
    steps = 1 << KEPT_BITS
    if settings.momentum and not 0 < kept_share(settings.momentum) < steps:
        reason = f"momentum={settings.momentum:g} is none of int8 layers, which have it in steps of 1/{steps}"
        remedy = f"give a momentum from {1 / steps:.5f} to {1 - 1 / steps:.5f}, or none"
        raise MoteError(reason, where=WHERE, remedy=remedy)
    return IntegerSgd(settings.learning_rate, settings.seed, settings.momentum, settings.accumulate)


def default_loss(graph: Graph) -> Loss:
    """The default loss: cross entropy if the first output has two or more classes, else mean squared error."""
    output = graph.tensors[graph.outputs[0]]
    op = graph.producers.get(output.id)
    while isinstance(op, SHOWN):
        op = graph.producers.get(op.inputs[0])
    several = len(output.labels) > 1 or output.size == output.channels > 1
    return Loss.SOFTMAX_CROSS_ENTROPY if isinstance(op, Softmax) or several else Loss.MEAN_SQUARED_ERROR


def optimizer(settings: StepSettings) -> Optimizer:
    """The optimizer for float32 weights, by settings."""
    rate, decay, accumulate = settings.learning_rate, settings.decay, settings.accumulate
    if settings.optimizer == "sgd":
        momentum = settings.momentum
        return Sgd(learning_rate=rate, momentum=momentum, weight_decay=decay, accumulate=accumulate)
    if settings.momentum:
        raise MoteError("Adam has moments of its own", where=WHERE, remedy="omit momentum, or optimizer=adam")
    return Adam(learning_rate=rate, weight_decay=decay, accumulate=accumulate)
