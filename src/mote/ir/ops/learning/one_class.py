"""One-class learning on the device: how far a score deviates from the scores of normal samples, in integers.

States: running mean and mean absolute deviation of the score, int64 [2] with FRACTION fraction bits, and the number of
samples, int32 [1]. These are plain averages of the first `window` samples, then exponential averages with weight 1 /
`window`: drift of normal scores is tracked, anomalies stand out. Restored states are clamped to the valid range.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.learning.samples import output_problem

FRACTION = 20
"""Fraction bits of means and deviations."""
SCORE_FRACTION = 8
"""Fraction bits of scores."""
MOST_MEAN = 1 << 31 + FRACTION
"""Bound of the absolute value of means of int32 scores; deviations are at most twice that."""
LONGEST_WINDOW = 1 << 16
MEASURES = (DType.INT8, DType.INT16, DType.INT32)
"""Element types of the input score."""


def _problem(g: Graph, op: Op, statistics: int) -> str | None:
    """Why an operator's score (input 0) or states (inputs from position `statistics` on) are not supported, or None."""
    x = op.input(g)
    if x.dtype not in MEASURES or x.size != 1:
        return f"{x.size} scores of {x.dtype} are not supported (one, {', '.join(MEASURES)})"
    for position, dtype, shape in ((statistics, DType.INT64, (2,)), (statistics + 1, DType.INT32, (1,))):
        t = op.input(g, position)
        if (t.dtype, t.shape) != (dtype, shape):
            return f"input {position} is {t.dtype} {t.shape}, not {dtype} {shape}"
    return output_problem(g, op, DType.INT32)


def _clamped_state(statistics: Array) -> tuple[int, int]:
    mean, deviation = statistics.tolist()
    return min(max(mean, -MOST_MEAN), MOST_MEAN), min(max(deviation, 0), 2 * MOST_MEAN)


def _share(whole: int, count: int) -> int:
    """whole / count, rounded halves up."""
    return (whole + count // 2) // count


class OneClassUpdate(Op):
    """ONE_CLASS_UPDATE: updates the averages if the label is 0 (normal). Inputs: score, label int32 [1], and the
    states: statistics, count. Outputs: number of samples, up to `window`, or 0 for other labels; and the states."""

    window: int
    kind = "ONE_CLASS_UPDATE"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 2, 2: 3}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1,), self.input(g, 2).shape, self.input(g, 3).shape]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return (0, self.window) if position == 3 else None

    def unsupported(self, g: Graph) -> str | None:
        if not 1 <= self.window <= LONGEST_WINDOW:
            return f"a window of {self.window} samples is not supported (1 to {LONGEST_WINDOW})"
        label = self.input(g, 1)
        if (label.dtype, label.shape) != (DType.INT32, (1,)):
            return f"a label of {label.dtype} {label.shape} is not supported (int32 (1,))"
        return _problem(g, self, 2)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, label, statistics, counted = values
        assert x is not None and label is not None and statistics is not None and counted is not None
        if label[0] != 0:
            return [np.zeros(1, np.int32), statistics, counted]
        count = min(max(int(counted[0]), 0) + 1, self.window)
        mean, deviation = _clamped_state(statistics)
        difference = (int(x.reshape(-1)[0]) << FRACTION) - mean
        deviation = 0 if int(counted[0]) <= 0 else deviation + _share(abs(difference) - deviation, count)
        after = np.array([mean + _share(difference, count), deviation], np.int64)
        seen = np.array([count], np.int32)
        return [seen, after, seen]


class OneClassScore(Op):
    """ONE_CLASS_SCORE: (score - mean) / max(mean absolute deviation, `floor`), int32 [1] with SCORE_FRACTION fraction
    bits, rounded halves up, saturating; 0 before any sample was learned. Inputs: score, statistics, count."""

    floor: int = 1
    kind = "ONE_CLASS_SCORE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1,)]

    def unsupported(self, g: Graph) -> str | None:
        if not 1 <= self.floor <= 1 << 30:
            return f"a least deviation of {self.floor} is not supported (1 to {1 << 30})"
        return _problem(g, self, 1)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, statistics, counted = values
        assert x is not None and statistics is not None and counted is not None
        mean, deviation = _clamped_state(statistics)
        difference = (int(x.reshape(-1)[0]) << FRACTION) - mean
        score = _share(difference << SCORE_FRACTION, max(deviation, self.floor << FRACTION)) if counted[0] > 0 else 0
        return [np.clip([score], -(1 << 31), (1 << 31) - 1).astype(np.int32)]
