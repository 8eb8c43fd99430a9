"""How much the weights of layers, and the output channels of these, would gain from training."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from mote.errors import MoteError
from mote.graph import Graph, Op
from mote.graph.types import DType
from mote.ops.windows.depthwise import DepthwiseConv2D
from mote.passes.training.choice import LAYERS, constants, in_integers, on_the_way
from mote.passes.training.gradient_ranges import float_gradients
from mote.passes.training.gradients import RULES
from mote.passes.training.integer_gradients import RULES as INTEGER_RULES
from mote.passes.training.integer_gradients import is_repeated
from mote.passes.training.integer_losses import integer_loss
from mote.passes.training.samples import Samples

Gains = NDArray[np.float64]
"""The gain of each output channel."""
LEAST_SAMPLES, MEASURED = 8, 256
"""The fewest samples that show a gain, and the most that are looked at."""


def reached(graph: Graph, loss: str) -> list[Op]:
    """The operators that gradients of a loss come to, in the order of the graph: those behind the last one that has no
    gradient, in the types of the last layer."""
    layers = [op for op in on_the_way(graph) if isinstance(op, LAYERS)]
    if not layers:
        return []
    integers = in_integers(graph, constants(graph, layers[-1]))
    judged = integer_loss(graph, loss).tensor.id if integers else graph.outputs[0]
    rules, takes = (INTEGER_RULES, DType.INT8) if integers else (RULES, DType.FLOAT32)
    behind: list[Op] = []
    for op in reversed(graph.ops[: graph.places[id(graph.producers[judged])] + 1]):
        if type(op) not in rules or op.output(graph).dtype != takes or (integers and _repeats(graph, op)):
            break
        behind.append(op)
    return behind[::-1]


def _repeats(graph: Graph, op: Op) -> bool:
    """Whether an operator repeats an activation, which has no gradient in integers."""
    return any(graph.tensors[i].data is None and is_repeated(graph.tensors, op, p) for p, i in enumerate(op.inputs))


def gains(graph: Graph, learned: Collection[int], loss: str, samples: Samples) -> Mapping[int, Gains]:
    """The loss that a step of gradient descent over all samples would take away, to first order, for each output
    channel of constants that could learn: the square of their mean gradient. That is estimated as the product of the
    means of every other sample and of the rest, whose noise is not correlated, and is 0 where these disagree."""
    if len(samples) < LEAST_SAMPLES:
        reason = f"{len(samples)} samples do not show what would gain from training"
        raise MoteError(reason, where="option train_data", remedy=f"give {LEAST_SAMPLES} or more, a few of each class")
    samples = samples.few(MEASURED)
    sums: list[dict[int, NDArray[np.float64]]] = [{}, {}]
    judged = integer_loss(graph, loss) if in_integers(graph, learned) else None
    made = float_gradients(graph, learned, loss, samples, judged)
    for number, (_, gradients) in enumerate(made):
        own = sums[number % 2]
        for i in learned:
            own[i] = own.get(i, 0.0) + gradients[i].astype(np.float64)
    count = (len(samples) / 2) ** 2
    return {i: _by_channels(graph.consumers[i][0], sums[0][i] * sums[1][i]) / count for i in learned}


def _by_channels(op: Op, products: NDArray[np.float64]) -> Gains:
    channels = products.ndim - 1 if isinstance(op, DepthwiseConv2D) else 0
    others = tuple(axis for axis in range(products.ndim) if axis != channels)
    gained: Gains = np.maximum(products.sum(axis=others), 0.0)
    return gained
