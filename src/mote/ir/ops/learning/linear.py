"""Linear models over float32 features that learn sample by sample: their scores, and logistic regression.

Weights are float32 [outputs, features + 1]; the last weight of each output is its bias. C code computes the operations
of the references in the same order, each rounded to float32, unless a compiler fuses multiply-adds; its exponential
function is within 1 ulp. An invalid sample changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.learning.samples import added, inputs_problem, learnable, output_problem

MOST_OUTPUTS = 4096


def extended(features: Array) -> Array:
    """The feature vector with a 1 appended, for the bias."""
    return np.append(features.reshape(-1), np.float32(1))


def predicted(features: Array, weights: Array) -> Array:
    """The outputs of a linear model: products are added to the bias in order, each sum rounded to float32."""
    x = features.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array([added(row[-1], row[:-1] * x) for row in weights], np.float32)


def weights_problem(g: Graph, op: Op, position: int, label: bool) -> str | None:
    """Why an operator's features, label (input 1, if `label`) or weights are not supported, or None."""
    outputs, size = op.input(g, position).shape[0], op.input(g).size
    if not 1 <= outputs <= MOST_OUTPUTS:
        return f"{outputs} outputs are not supported (1 to {MOST_OUTPUTS})"
    labelled = [(1, DType.INT32, (1,))] if label else []
    return inputs_problem(g, op, DType.FLOAT32, [(position, DType.FLOAT32, (outputs, size + 1)), *labelled])


class LinearScores(Op):
    """LINEAR_SCORES: outputs of a linear model whose weights are a state. Inputs: features, weights; output: float32
    [outputs]."""

    kind = "LINEAR_SCORES"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g, 1).shape[:1]]

    def unsupported(self, g: Graph) -> str | None:
        return weights_problem(g, self, 1, label=False) or output_problem(g, self, DType.FLOAT32)

    def macs(self, g: Graph) -> int:
        return self.input(g, 1).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, weights = values
        assert x is not None and weights is not None
        return [predicted(x, weights)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)


class LogisticUpdate(Op):
    """LOGISTIC_UPDATE: a step of SGD on the softmax cross entropy of one sample with learning rate `rate` and weight
    decay `decay` (not of biases). Inputs: features, label int32 [1], and the state: weights. Outputs: 1 if the sample
    was learned, else 0; and the new weights."""

    rate: float
    decay: float = 0.0
    kind = "LOGISTIC_UPDATE"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 2}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1,), self.input(g, 2).shape]

    def unsupported(self, g: Graph) -> str | None:
        if not 0 < self.rate <= 1 or not 0 <= self.decay <= 1:
            return f"a rate of {self.rate} and a decay of {self.decay} are not supported (above 0 to 1, 0 to 1)"
        return weights_problem(g, self, 2, label=True) or output_problem(g, self, DType.INT32)

    @property
    def kept(self) -> float:
        """Factor of the weights in a step: 1 - learning rate * weight decay."""
        return 1 - self.rate * self.decay

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, label, weights = values
        assert x is not None and label is not None and weights is not None
        own, scores = int(label[0]), predicted(x, weights)
        with np.errstate(over="ignore", invalid="ignore"):
            shares = np.exp(scores - scores.max())
            total = added(np.float32(0), shares)
        if not 0 <= own < len(weights) or not learnable(x) or not 1 <= total <= len(weights):
            return [np.zeros(1, np.int32), weights]
        gradients = shares / total - (np.arange(len(weights), dtype=np.int64) == own).astype(np.float32)
        steps = (np.float32(self.rate) * gradients)[:, None] * extended(x)
        decayed = weights * np.float32(self.kept)
        decayed[:, -1] = weights[:, -1]
        return [np.ones(1, np.int32), decayed - steps]
