"""Estimates how much a model would gain if some of its weights and biases learned, from their gradients for each
sample.

Steps along the mean gradient say little: if one weight has large gradients in every sample, a learning rate that suits
it is too small for all others. So the estimate uses a step of natural gradient descent, which takes the covariance of
per-sample gradients into account, and measures the decrease of the loss on samples that the step was not computed from.
This only needs the products of the gradients of every pair of samples, which add up over whatever learns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.compiler.passes.training.choice import LAYERS, constants, in_integers, on_the_way
from mote.compiler.passes.training.gradient_ranges import float_gradients
from mote.compiler.passes.training.gradients import RULES
from mote.compiler.passes.training.integer_gradients import RULES as INTEGER_RULES
from mote.compiler.passes.training.integer_gradients import is_repeated
from mote.compiler.passes.training.integer_losses import integer_loss
from mote.compiler.passes.training.samples import Samples
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

Products = NDArray[np.float64]
"""Dot products of the gradients of every pair of samples, [samples, samples]."""
LEAST_SAMPLES, MEASURED = 8, 256
"""Minimum number of samples that show a gain, and maximum number that is used."""
FOLDED = 16
"""Numbers that the gradient of a channel is reduced to, by random projection."""
FOLDS = 8
"""Number of folds of the cross-validation."""
RIDGE = 3.0
"""Multiple of the mean eigenvalue of the Fisher matrix that is added to its diagonal."""


def reached(graph: Graph, loss: str) -> list[Op]:
    """The operators that gradients of a loss reach, in the order of the graph: those after the last operator that has
    no gradient in the type of the last layer."""
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
    """Whether an operator broadcasts an activation, which has no gradient in integers."""
    return any(is_repeated(graph.tensors, op, p) for p, _ in op.computed(graph))


@dataclass(frozen=True, eq=False)
class SampleGradients:
    """Per-sample gradients of a constant that could learn."""

    folded: NDArray[np.float32]
    """[samples, output channels, numbers]: random projections of the gradients (sums of elements with random signs),
    which have the same dot products on average in a fraction of the memory."""

    @property
    def channels(self) -> int:
        return len(self.folded[0])

    def products(self, channels: range | None = None) -> Products:
        """Dot products of the gradients of all output channels, or of some, for every pair of samples."""
        part = slice(None) if channels is None else slice(channels.start, channels.stop)
        rows = self.folded[:, part].reshape(len(self.folded), -1).astype(np.float64)
        products: Products = rows @ rows.T
        return products


def sample_gradients(
    graph: Graph, learned: Collection[int], loss: str, samples: Samples
) -> Mapping[int, SampleGradients]:
    """Per-sample gradients of constants, for at most `MEASURED` samples."""
    if len(samples) < LEAST_SAMPLES:
        reason = f"{len(samples)} samples do not show what would gain from training"
        raise MoteError(reason, where="option train_data", remedy=f"give {LEAST_SAMPLES} or more, a few of each class")
    judged = integer_loss(graph, loss) if in_integers(graph, learned) else None
    rows: dict[int, list[NDArray[np.float32]]] = {i: [] for i in learned}
    for _, gradients in float_gradients(graph, learned, loss, samples.few(MEASURED), judged):
        for i, own in rows.items():
            own.append(_folded(_by_channels(graph.consumers[i][0], gradients[i])))
    return {i: SampleGradients(np.stack(own)) for i, own in rows.items()}


def _by_channels(op: Op, gradient: Array) -> Array:
    """A gradient as [output channels, all other axes]."""
    turned = np.moveaxis(gradient, -1, 0) if isinstance(op, DepthwiseConv2D) else gradient
    return turned.reshape(len(turned), -1)


def _folded(gradient: Array) -> NDArray[np.float32]:
    size = gradient.shape[1]
    if size <= FOLDED:
        return gradient.astype(np.float32)
    signs = np.random.default_rng(size).choice(np.array([-1, 1], np.float32), size)
    padded = np.pad(gradient * signs, ((0, 0), (0, -size % FOLDED)))
    folded: NDArray[np.float32] = padded.reshape(len(gradient), -1, FOLDED).sum(axis=1, dtype=np.float32)
    return folded


def gain(products: Products) -> float:
    """The decrease of the loss of a sample by a step computed from other samples, to second order, at the best learning
    rate: cross-validated. Below 0 the step increases the loss."""
    falls = np.zeros(len(products))
    for fold in range(FOLDS):
        tried = np.arange(len(products), dtype=np.int64) % FOLDS == fold
        falls[tried] = products[np.ix_(tried, ~tried)] @ _step(products[np.ix_(~tried, ~tried)])
    mean, square = float(falls.mean()), float(np.mean(falls**2))
    return mean * abs(mean) / (2 * square) if square > 0 else 0.0


def _step(products: Products) -> NDArray[np.floating]:
    """The step of natural gradient descent, as a weight for the gradient of each sample: the Fisher matrix is estimated
    from these samples, with a multiple of its mean eigenvalue added to the diagonal."""
    ridge = RIDGE * np.trace(products) / len(products)
    matrix = products + (ridge if ridge > 0 else 1.0) * np.eye(len(products))
    return np.linalg.solve(matrix, np.ones(len(products)))
