"""Losses of int8 outputs (cross entropy, mean squared error): normalized gradients, and step sizes together with the
loss. Losses are float32, bit-exact on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.reductions.softmax import exponential_problem, exponential_scaling, exponentials
from mote.ir.ops.training.integer.types import type_problem

LARGEST = 127
"""Largest absolute value of a normalized gradient."""
SHARE_BITS = 30
"""Fraction bits of the other classes' probability."""
SUM_SPACE = 7
"""Minimum right shift of exponentials: 127 times one of them fits 31 bits."""
MOST_ERRORS = 1 << 16
"""Maximum number of squared errors whose sum fits 32 bits."""
LOG_BITS = 16
"""Fraction bits of base-2 logarithms in the loss."""
RATE, LOSS = 2, 3
"""Positions of learning rate and previous loss among the inputs of step size operators."""
STATED = (DType.FLOAT32, (1,))
"""Type and shape of learning rate and loss."""


class CrossEntropy(Op):
    """Base of operators on the cross entropy of softmax(beta * logits) and a label. Inputs: int8 logits of one sample,
    label int32 [1], ..."""

    beta: float = 1.0

    @property
    def wanted(self) -> tuple[tuple[DType, Shape], ...]:
        """Required types and shapes of the inputs from the label on."""
        return ((DType.INT32, (1,)),)

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return (0, self.input(g).channels - 1) if position == 1 else None

    def bits(self, g: Graph) -> int:
        """Right shift of exponentials so that their sum fits 31 bits."""
        return max(SUM_SPACE, (self.input(g).size - 1).bit_length())

    def unsupported(self, g: Graph) -> str | None:
        logits = self.input(g)
        if logits.dtype != DType.INT8 or logits.size != logits.channels or logits.size < 2:
            return f"logits of {logits.dtype} {logits.shape} are not supported (int8, of one sample, 2 or more)"
        for position, (dtype, shape) in enumerate(self.wanted, 1):
            t = self.input(g, position)
            if (t.dtype, t.shape) != (dtype, shape):
                return f"input {position} is {t.dtype} {t.shape}, not {dtype} {shape}"
        return exponential_problem(logits, self.beta)

    def exponentials(self, g: Graph, logits: Array, label: Array) -> tuple[Ints, int]:
        """The exponential of each logit, and their sum without the label's; 0 if the label is invalid."""
        e = exponentials(logits.reshape(-1), *exponential_scaling(self.input(g), self.beta)) >> self.bits(g)
        right = int(label[0])
        return e, int(e.sum() - e[right]) if 0 <= right < e.size else 0


class CrossEntropyGradient(CrossEntropy):
    """CROSS_ENTROPY_GRADIENT: gradient of the logits, normalized by 1 - softmax of the label: -127 at the label,
    elsewhere 127 times the exponential over the sum of all but the label's; 0 if nothing is left to learn, or the label
    is invalid."""

    kind = "CROSS_ENTROPY_GRADIENT"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        logits, label = values
        assert logits is not None and label is not None
        e, others = self.exponentials(g, logits, label)
        if others == 0:
            return [np.zeros(logits.shape, np.int8)]
        gradient = (LARGEST * e + others // 2) // others
        gradient[label[0]] = -LARGEST
        return [gradient.astype(np.int8).reshape(logits.shape)]


class CrossEntropyStep(CrossEntropy):
    """CROSS_ENTROPY_STEP. Outputs: the step size, (1 - softmax of the label) * learning rate (input 2, float32 [1]), 0
    if the label is invalid or the rate not a positive number; and the loss, a state (input 3, float32 [1]), 0 if the
    label is invalid."""

    kind = "CROSS_ENTROPY_STEP"

    @property
    def wanted(self) -> tuple[tuple[DType, Shape], ...]:
        return *super().wanted, STATED, STATED

    @property
    def updates(self) -> dict[int, int]:
        return {1: LOSS}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(2,), (1,)]

    def unit(self, g: Graph) -> np.float32:
        """Real difference of logits whose codes differ by 1, times beta."""
        return np.float32(self.beta * self.input(g).scale)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        logits, label, rate, _ = values
        assert logits is not None and label is not None and rate is not None
        e, others = self.exponentials(g, logits, label)
        total = int(e.sum())
        size = step_size((others << SHARE_BITS) // total, SHARE_BITS, rate)
        return [size, np.array([self._loss(g, logits.reshape(-1), int(label[0]), total)], np.float32)]

    def _loss(self, g: Graph, logits: Array, right: int, total: int) -> np.float32:
        """Cross entropy loss: log of the sum of exponentials, plus the distance of the label's logit from the
        largest."""
        if not 0 <= right < logits.size:
            return np.float32(0)
        below = int(logits.max()) - int(logits[right])
        bits = max(log2(total) - (31 - self.bits(g) << LOG_BITS), 0)
        return np.float32(below) * self.unit(g) + np.float32(bits) * np.float32(log(2) / (1 << LOG_BITS))


class SquaredErrorLoss(Op):
    """Base of operators on the mean squared error. Inputs: int8 output, int8 target of equal quantization, ..."""

    def unsupported(self, g: Graph) -> str | None:
        output, target = self.input(g), self.input(g, 1)
        if problem := type_problem(g, self, DType.INT8, DType.INT8):
            return problem
        if output.shape != target.shape or output.quant is None or target.quant is None:
            return f"a target of {target.shape} is not that of an output of {output.shape}, both with a scale"
        if (output.scale, output.zero_point) != (target.scale, target.zero_point):
            return "output and target must have the same scale and zero point"
        return None

    def errors(self, values: Sequence[Array | None]) -> tuple[Ints, int]:
        """Errors (output - target) in codes, and the largest absolute error."""
        output, target = values[:2]
        assert output is not None and target is not None
        error = output.astype(np.int64) - target
        return error, int(np.abs(error).max())


class MeanSquaredErrorGradient(SquaredErrorLoss):
    """MEAN_SQUARED_ERROR_GRADIENT: errors, normalized so that the largest is 127 or -127; halves away from zero."""

    kind = "MEAN_SQUARED_ERROR_GRADIENT"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def work(self, g: Graph) -> int:
        return self.input(g).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        error, largest = self.errors(values)
        shares = (LARGEST * np.abs(error) + largest // 2) // max(largest, 1)
        return [(np.sign(error) * shares).astype(np.int8)]


class MeanSquaredErrorStep(SquaredErrorLoss):
    """MEAN_SQUARED_ERROR_STEP. Outputs: the step size, largest error in codes * learning rate (input 2, float32 [1]), 0
    if the rate is not a positive number; and the loss, a state (input 3, float32 [1])."""

    kind = "MEAN_SQUARED_ERROR_STEP"

    @property
    def updates(self) -> dict[int, int]:
        return {1: LOSS}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(2,), (1,)]

    def unit(self, g: Graph) -> np.float32:
        """The loss caused by an error of one code in one element."""
        output = self.input(g)
        return np.float32(output.scale**2 / output.size)

    def work(self, g: Graph) -> int:
        return self.input(g).size

    def unsupported(self, g: Graph) -> str | None:
        for position in (RATE, LOSS):
            t = self.input(g, position)
            if (t.dtype, t.shape) != STATED:
                return f"input {position} is {t.dtype} {t.shape}, not float32 (1,)"
        if self.input(g).size > MOST_ERRORS:
            return f"{self.input(g).size} errors are not supported (at most {MOST_ERRORS})"
        return super().unsupported(g)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        rate = values[RATE]
        assert rate is not None
        error, largest = self.errors(values)
        loss = np.float32(int(np.square(error).sum())) * self.unit(g)
        return [step_size(largest, 0, rate), np.array([loss], np.float32)]


def log2(x: int) -> int:
    """Base-2 logarithm of an integer in 1..2^32 - 1, rounded down to 2^-16, by repeated squaring."""
    logarithm = x.bit_length() - 1
    x <<= 31 - logarithm
    for _ in range(LOG_BITS):
        x = x * x >> 31
        bit = x >> 32
        logarithm, x = 2 * logarithm + bit, x >> bit
    return logarithm


def step_size(by: int, bits: int, rate: Array) -> Array:
    """Step size (mantissa, shift) of a number with `bits` fraction bits times the learning rate: mantissa / 2^31 *
    2^shift."""
    word = int(rate.astype(np.float32).view(np.uint32)[0])
    exponent = word >> 23
    product = by * (word & 0x7FFFFF | 0x800000) if 0 < exponent < 0xFF else 0
    size = product.bit_length()
    if product == 0:
        return np.zeros(2, np.int32)
    mantissa = product >> size - 31 if size > 31 else product << 31 - size
    return np.array([mantissa, size + exponent - 150 - bits], np.int32)
