"""Normalization of int16 [1, rows, unit, channels] by the signal's own statistics, running ones or those of a window.

Statistics are per channel; with `features` per value of a row (the bands of a spectrogram, say).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint16 import inverse_sqrt
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.features.filters import LEAST, MEAN_BITS, MOST, lanes, samples_problem, saturated, state_problem
from mote.ir.ops.features.sequential import Sequential

DEVIATION_BITS = 3
"""Fraction bits of deviations from the mean before they are squared."""
VARIANCE_BITS = 22
"""Fraction bits of running variances."""
MOST_VARIANCE = 1 << 54
LONGEST = 1 << 20
"""Maximum number of samples that a mean is computed of."""
WORD = 1 << 31


def _squared(deviation: int) -> int:
    """Square of a deviation: input with MEAN_BITS fraction bits, result with 2 * DEVIATION_BITS."""
    return (deviation + (1 << MEAN_BITS - DEVIATION_BITS - 1) >> MEAN_BITS - DEVIATION_BITS) ** 2


def _scale(variance: int, bits: int, fraction: int) -> tuple[int, int]:
    """Multiplier and right shift that divide a deviation with MEAN_BITS fraction bits by the standard deviation, result
    with `fraction` fraction bits; `variance` has `bits` fraction bits."""
    pairs = 0
    while variance >= WORD:
        variance, pairs = variance >> 2, pairs + 1
    mult, left = inverse_sqrt(variance)
    return mult, 31 - left + pairs + MEAN_BITS - bits // 2 - fraction


def _fields_problem(fraction: int, floor: int) -> str | None:
    if not 0 <= fraction <= MEAN_BITS:
        return f"{fraction} fraction bits are not supported (0 to {MEAN_BITS})"
    return None if 1 <= floor <= MOST else f"a least deviation of {floor} is not supported (1 to {MOST})"


class RunningNormalize(Sequential):
    """RUNNING_NORMALIZE: (x - mean) / max(standard deviation, `floor`) with exponential averages of a time constant of
    2^shift samples, updated before each sample is normalized: mean += (x - mean) / 2^shift, variance += ((x - mean)^2 -
    variance) / 2^shift. Without `center` the mean is 0 and the deviation is the root mean square. Inputs: the signal,
    and the states: int32 means with MEAN_BITS fraction bits, int64 variances with VARIANCE_BITS. The output has `bits`
    fraction bits."""

    shift: int
    bits: int
    floor: int = 1
    center: bool = True
    features: bool = False
    kind = "RUNNING_NORMALIZE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g, k).shape for k in range(3)]

    def unsupported(self, g: Graph) -> str | None:
        if not 1 <= self.shift <= MEAN_BITS:
            return f"a shift of {self.shift} is not supported (1 to {MEAN_BITS})"
        if problem := _fields_problem(self.bits, self.floor) or samples_problem(g, self):
            return problem
        kept = (lanes(self.input(g).shape, self.features),)
        return state_problem(g, self, 1, DType.INT32, kept) or state_problem(g, self, 2, DType.INT64, kept)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, means, variances = values
        assert x is not None and means is not None and variances is not None
        lines = x.reshape(-1, len(means))
        means = np.clip(means, LEAST << MEAN_BITS, MOST << MEAN_BITS)
        variances = np.clip(variances, 0, MOST_VARIANCE)
        y = np.empty_like(lines)
        for c, (mean, variance) in enumerate(zip(means.tolist(), variances.tolist(), strict=True)):
            line, half, least = list[int](), 1 << self.shift - 1, self.floor**2 << VARIANCE_BITS
            for sample in lines[:, c].tolist():
                if self.center:
                    mean += ((sample << MEAN_BITS) - mean + half) >> self.shift
                deviation = (sample << MEAN_BITS) - (mean if self.center else 0)
                square = _squared(deviation) << VARIANCE_BITS - 2 * DEVIATION_BITS
                variance += (square - variance + half) >> self.shift
                mult, right = _scale(max(variance, least), VARIANCE_BITS, self.bits)
                line.append(deviation * mult + (1 << right - 1) >> right)
            y[:, c], means[c], variances[c] = saturated(np.array(line)), mean, variance
        return [y.reshape(x.shape), means, variances]


class NormalizeWindow(Op):
    """NORMALIZE_WINDOW: with `deviation` z-scores (x - mean) / max(standard deviation, `floor`), else x - mean;
    statistics over all rows. The output has `bits` fraction bits."""

    bits: int
    floor: int = 1
    deviation: bool = True
    features: bool = False
    kind = "NORMALIZE_WINDOW"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def count(self, g: Graph) -> int:
        """Number of samples that each mean is computed of."""
        return self.input(g).size // lanes(self.input(g).shape, self.features)

    def unsupported(self, g: Graph) -> str | None:
        if problem := _fields_problem(self.bits, self.floor) or samples_problem(g, self):
            return problem
        return None if self.count(g) <= LONGEST else f"more than {LONGEST} samples are not supported"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        lines = x.reshape(-1, lanes(x.shape, self.features)).astype(np.int64)
        y = np.empty(lines.shape, np.int16)
        for c, count in enumerate([len(lines)] * lines.shape[1]):
            mean = ((int(lines[:, c].sum()) << MEAN_BITS + 1) + count) // (2 * count)
            deviations = [(sample << MEAN_BITS) - mean for sample in lines[:, c].tolist()]
            mult, right = 1, MEAN_BITS - self.bits
            if self.deviation:
                mult, right = self._scale(sum(map(_squared, deviations)), count)
            y[:, c] = saturated(np.array([d * mult + (1 << right >> 1) >> right for d in deviations], np.int64))
        return [y.reshape(x.shape)]

    def _scale(self, squares: int, count: int) -> tuple[int, int]:
        """Multiplier and right shift that normalize deviations, given the sum of their squares."""
        squares, bits = max(squares, (self.floor**2 << 2 * DEVIATION_BITS) * count), 2 * DEVIATION_BITS
        while squares < 1 << 58:
            squares, bits = squares << 2, bits + 2
        return _scale(squares // count, bits, self.bits)
