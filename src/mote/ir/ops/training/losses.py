"""Float losses with their gradients: SOFTMAX_CROSS_ENTROPY and MEAN_SQUARED_ERROR. Sums are in double precision,
results rounded to float32 once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.training.types import real_problem

LOSS = 2
"""Input position of the previous loss."""


class LossWithGradient(Op):
    """Base of losses with gradients. Inputs: model output, target or label, previous loss; outputs: gradient of the
    model output, and the loss, a state that is overwritten in place, so that it can be read after an inference."""

    @property
    def updates(self) -> dict[int, int]:
        return {1: LOSS}

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape, self.input(g, LOSS).shape]

    def unsupported(self, g: Graph) -> str | None:
        loss = self.input(g, LOSS)
        if loss.dtype != DType.FLOAT32 or loss.size != 1:
            return f"a loss of {loss.dtype} {loss.shape} is not supported (one float32)"
        return None


class SoftmaxCrossEntropy(LossWithGradient):
    """SOFTMAX_CROSS_ENTROPY: mean cross entropy of softmax(beta * logits) and int32 labels; its gradient is beta *
    (softmax - one-hot label) / count. Invalid labels are ignored, like PyTorch's `ignore_index`; with none left, loss
    and gradient are 0."""

    beta: float = 1.0
    kind = "SOFTMAX_CROSS_ENTROPY"

    def work(self, g: Graph) -> int:
        return 4 * self.input(g).size

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return (0, self.input(g).channels - 1) if position == 1 else None

    def unsupported(self, g: Graph) -> str | None:
        logits, label = self.input(g), self.input(g, 1)
        if label.dtype != DType.INT32 or label.shape != logits.shape[:-1]:
            return f"labels of {label.dtype} {label.shape} are not those of logits of {logits.shape} (int32, one each)"
        return real_problem(g, self, 0) or super().unsupported(g)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        logits, label, _ = values
        assert logits is not None and label is not None
        z = logits.astype(np.float64).reshape(-1, logits.shape[-1]) * np.float32(self.beta)
        z -= z.max(axis=-1, keepdims=True)
        logs = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
        right = label.reshape(-1, 1) == np.arange(z.shape[1], dtype=np.int64)
        counted = right.any(axis=1, keepdims=True)
        count = max(int(counted.sum()), 1)
        gradient = np.where(counted, np.exp(logs) - right, 0.0) * np.float32(self.beta) / count
        loss = -logs[right].sum() / count
        return [gradient.astype(np.float32).reshape(logits.shape), np.array([loss], np.float32)]


class MeanSquaredError(LossWithGradient):
    """MEAN_SQUARED_ERROR: mean of (output - target)^2 over all elements; its gradient is 2 * (output - target) /
    count."""

    kind = "MEAN_SQUARED_ERROR"

    def work(self, g: Graph) -> int:
        return self.input(g).size

    def unsupported(self, g: Graph) -> str | None:
        output, target = self.input(g), self.input(g, 1)
        if output.shape != target.shape:
            return f"a target of {target.shape} is not that of an output of {output.shape}"
        return real_problem(g, self) or super().unsupported(g)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        output, target, _ = values
        assert output is not None and target is not None
        error = output.astype(np.float64) - target
        loss = np.array([np.square(error).mean()], np.float32)
        return [(2.0 * error / error.size).astype(np.float32), loss]
