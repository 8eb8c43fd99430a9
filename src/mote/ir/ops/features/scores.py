"""Post-processing of a model's scores over time: averages, events, the best class, thresholds.

Scores are the elements of a model's output. Quantized ones stay integers; divisions are absorbed by the scales of sums
and fixed-point averages, so that averages of integers are exact. Before the first inference all scores are 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from mote.base.errors import MoteError
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

SCORES = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.FLOAT32)
"""Element types of scores: of model outputs, and of sums and averages."""
MODEL_SCORES = (DType.INT8, DType.UINT8, DType.INT16, DType.FLOAT32)
"""Element types of scores that models output."""
MOST_AVERAGED = 4096
"""Maximum number of inferences of a moving average: sums of int16 scores fit 32 bits."""
WEIGHT_BITS = 15
"""Fraction bits of the weight of an exponential average."""
LONGEST_HISTORY = 31
"""Maximum number of inferences that a debounced detection can look back."""

EVENT, CLASS, SCORE, ACTIVE = range(4)
"""Indices of the outputs of `Detect`."""


@dataclass(frozen=True)
class ScoreUnit:
    """The exact quantization of scores: real = scale * (code - zero)."""

    scale: Fraction
    zero: int

    @staticmethod
    def of(tensor: Tensor) -> ScoreUnit | None:
        """The quantization of a tensor; None for floats."""
        return None if tensor.dtype.real else ScoreUnit(Fraction(tensor.scale), tensor.zero_point)

    def highest_below(self, real: float) -> int:
        """The largest code whose real value is at most `real`: exactly the codes above it have real values greater than
        `real`."""
        return math.floor(Fraction(real) / self.scale) + self.zero


def threshold_code(real: float, unit: ScoreUnit | None, dtype: DType) -> float:
    """The threshold in the scores' own type: a score exceeds it if and only if its real value exceeds `real`. Raises
    MoteError for thresholds that all codes exceed, or none."""
    if unit is None:
        nearest = np.float32(real)
        return float(nearest if float(nearest) <= real else np.nextafter(nearest, np.float32(-np.inf)))
    code, (low, high) = unit.highest_below(real), dtype.limits
    if low <= code < high:
        return code
    ends = sorted(float(unit.scale * (end - unit.zero)) for end in (low, high))
    raise MoteError(
        f"{'no' if code >= high else 'every'} score exceeds {real:g}: they are from {ends[0]:.6g} to {ends[1]:.6g}",
        where="option postprocess",
        remedy="choose one between them: mote fit-threshold learns it from data",
    )


def typed(g: Graph, op: Op, types: Sequence[DType], output: DType | None = None) -> str | None:
    """Why the types of an operator's scores or results are not supported, or None."""
    x, y = op.input(g), op.output(g)
    wanted = x.dtype if x.dtype.real else output or x.dtype
    if x.dtype in types and y.dtype == wanted:
        return None
    return f"{x.dtype} scores with {y.dtype} results are not supported (scores: {', '.join(types)})"


def bounded(counter: int | np.integer[Any], most: int) -> int:
    """Clamp a counter of a state to 0..most: a caller may have restored any value."""
    return min(max(int(counter), 0), most)


class ScoreOp(Op):
    """Base of operators on a model's scores over successive inferences."""


class MovingAverage(ScoreOp):
    """MovingAverage: for integers the sums of scores over the last `count` inferences (`count` times the average), for
    floats the average. Inputs: scores; states: the ring buffer of scores [count, scores], and a vector of its write
    index and, for integers, the running sums. Outputs: sums (averages), and both states."""

    count: int
    kind = "MovingAverage"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1, 2: 2}

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g)
        return [x.shape, (self.count, x.size), (1 if x.dtype.real else x.size + 1,)]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, MODEL_SCORES, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, ring, sums = values
        assert x is not None and ring is not None and sums is not None
        at = int(sums[0]) if 0 <= sums[0] < self.count else 0
        kept, after = ring.copy(), sums.copy()
        kept[at] = x.reshape(-1)
        after[0] = (at + 1) % self.count
        if x.dtype == np.float32:
            total = np.zeros(x.size, np.float32)
            for line in kept:
                total = total + line
            return [total * np.float32(1 / self.count), kept, after]
        change = x.reshape(-1).astype(np.int64) - ring[at]
        after[1:] = (sums[1:].astype(np.int64) + change).astype(np.int32)
        return [after[1:], kept, after]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)


class ExponentialAverage(ScoreOp):
    """ExponentialAverage: average += weight * (score - average). Inputs: scores, and the state: the averages. Output:
    the new averages, and again as state. Averages of quantized scores are fixed-point with `fraction` fraction bits,
    minus the zero point; those of floats are floats."""

    weight: int
    """Weight of a new score, with WEIGHT_BITS fraction bits."""
    fraction: int
    kind = "ExponentialAverage"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1}

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape, (self.input(g).size,)]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, MODEL_SCORES, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, before = values
        assert x is not None and before is not None
        if x.dtype == np.float32:
            share = np.float32(self.weight / (1 << WEIGHT_BITS))
            after = before + share * (x.reshape(-1) - before)
            return [after, after]
        new = (x.reshape(-1).astype(np.int64) - self.input(g).zero_point) << self.fraction
        step = ((new - before) * self.weight + (1 << (WEIGHT_BITS - 1))) >> WEIGHT_BITS
        now = (before + step).astype(np.int32)
        return [now, now]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, before = values
        assert x is not None and before is not None
        size = before + x.reshape(-1)
        return [size, size]


class Decision(ScoreOp):
    """Base of decisions on scores (input 0): the output is rows of named numbers. A score among them has the
    quantization of the input scores."""

    numbers: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Names and descriptions of the numbers in each output row of the decision."""
    noticed: ClassVar[tuple[str, str]] = ("", "")
    """Number of the first output row that tells whether something was detected, and the C comparison to append to
    it."""

    def scores(self, g: Graph) -> Tensor:
        """The tensor of scores that the decision is about."""
        return self.input(g)


class Detect(Decision):
    """Detect: events of one class. An event begins if the score at index `place` exceeds `above` now and in at least
    `least` of the last `window` inferences; it ends once the score has not exceeded `release` for more than `hold`
    inferences. No event begins in the `refractory` inferences after the beginning of one. Inputs: scores, and the
    state: a bit mask of recent inferences above the threshold; during an event 1 + the inferences below the release
    level, else 0; remaining refractory inferences. Outputs: 1 if an event begins now; the class during an event, else
    -1; the score; 1 during an event; and the state."""

    place: int
    above: float
    release: float
    hold: int = 0
    refractory: int = 0
    least: int = 1
    window: int = 1
    kind = "Detect"
    numbers = (
        ("EVENT", "1 in the inference in which an event begins"),
        ("CLASS", "the class while an event is active, else -1"),
        ("SCORE", "the score of the class"),
        ("ACTIVE", "1 while an event is active"),
    )
    noticed = "EVENT", ""

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(4,), (3,)]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, SCORES, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, state = values
        assert x is not None and state is not None
        score = x.reshape(-1)[self.place]
        over = bool(score > np.array(self.above, x.dtype))
        held = bool(score > np.array(self.release, x.dtype))
        history, low, wait = int(state[0]), bounded(state[1], self.hold + 1), bounded(state[2], self.refractory)
        if low:
            history, low = 0, 1 if held else low + 1 if low <= self.hold else 0
            event = False
        else:
            history = (history << 1 | over) & ((1 << self.window) - 1)
            event = over and not wait and history.bit_count() >= self.least
        low, history = (1, 0) if event else (low, history)
        wait = self.refractory if event else max(wait - 1, 0)
        kept = np.array([history, low, wait], np.int32)
        return [np.array([event, self.place if low else -1, score, low > 0], self.output(g).dtype.numpy), kept]


class BestClass(Decision):
    """BestClass: the class with the highest score, the first of equals; -1 if its score does not exceed `above`, if it
    is the `background` class, or in the `refractory` inferences after a detection. Inputs: scores, and the state:
    remaining refractory inferences. Outputs: class and score, and the state."""

    above: float
    refractory: int = 0
    background: int = -1
    kind = "BestClass"
    numbers = (("CLASS", "the class with the highest score, or -1"), ("SCORE", "its score"))
    noticed = "CLASS", " >= 0"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(2,), (1,)]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, SCORES, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, state = values
        assert x is not None and state is not None
        scores, wait = x.reshape(-1), bounded(state[0], self.refractory)
        best = 0
        for place in range(1, scores.size):
            best = place if scores[place] > scores[best] else best
        detected = wait == 0 and best != self.background and bool(scores[best] > np.array(self.above, x.dtype))
        after = self.refractory if detected else max(wait - 1, 0)
        result = np.array([best if detected else -1, scores[best]], self.output(g).dtype.numpy)
        return [result, np.array([after], np.int32)]


class Threshold(Decision):
    """Threshold: for each score, 1 if it exceeds `above` else 0, followed by the score."""

    above: float
    kind = "Threshold"
    numbers = (("ABOVE", "1 where the score is above the threshold"), ("SCORE", "the score"))
    noticed = "ABOVE", ""

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).size, 2)]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, SCORES, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        scores = x.reshape(-1)
        over = scores > np.array(self.above, x.dtype)
        return [np.stack([over.astype(self.output(g).dtype.numpy), scores], 1)]
